// The index of a project's names: which files can be about a word, told from their bytes in
// passing, and the facts of those files, read from their trees when they are first asked for.
// Entry point: NamesIndex.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/python/names/facts.hpp"

namespace refit::python {

class NamesIndex {
 public:
  // The facts of a file; by any number of threads at once.
  using Read = std::function<FileFacts(uint32_t file)>;
  NamesIndex(size_t files, Read read) : words_(files), read_(std::move(read)) {}

  // Takes notice of a file in passing; different files by any number of threads at once, and all
  // before the first question.
  void note(uint32_t file, std::string_view bytes, std::string_view module) {
    words_[file] = patched_words(bytes, module);
  }

  struct Place {
    uint32_t file, line;
  };
  // Where the module's `name` is given another meaning: in an object of the module's last name, in
  // some module that the patching file does not show, and, for a name that the module imports, in
  // an object that no import of the patching file explains.
  std::optional<Place> patched(std::string_view module, std::string_view name, bool imported);
  // Where a module as a whole is replaced in the table of modules.
  std::optional<Place> replaced(std::string_view module);
  // Where a name of a library is patched, or the module or class that it is in.
  std::optional<Place> patched_outside(std::string_view qualified);

 private:
  // The first wanted patch of the files whose words of that name may tell of one.
  template <typename May, typename Wanted>
  std::optional<Place> first(std::string_view name, May may, Wanted wanted);
  const FileFacts& facts(uint32_t file);
  void invert();

  struct Holder {
    PatchedWord word;
    uint32_t file;
  };
  std::vector<std::vector<PatchedWord>> words_;  // by file, until they are inverted
  Read read_;
  std::once_flag inverted_;
  std::vector<Holder> holders_;  // ascending
  std::shared_mutex mutex_;
  std::unordered_map<uint32_t, std::unique_ptr<FileFacts>> facts_;
};

}  // namespace refit::python
