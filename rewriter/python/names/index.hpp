// The index of a project's names. Every file's mentions are noted in passing; a question is put to
// the facts of the files that mention its name, and these are read from a file's tree once, when
// they are first asked for. Entry point: NamesIndex.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/python/names/facts.hpp"
#include "rewriter/python/names/mentions.hpp"
#include "rewriter/python/names/remembered.hpp"

namespace refit::python {

class NamesIndex {
 public:
  // The facts of a file; by any number of threads at once.
  using Read = std::function<FileFacts(uint32_t file)>;
  NamesIndex(size_t files, Read read) : noted_(files), read_(std::move(read)) {}

  // Takes notice of a file; different files by any number of threads at once, and all before the
  // first question.
  void note(uint32_t file, Mentions mentions) { noted_[file] = std::move(mentions); }

  // The files that mention one of these, ascending, each once.
  std::vector<uint32_t> files(std::initializer_list<Mention> mentions);
  bool mentions(uint32_t file, Mention mention);
  const FileFacts& facts(uint32_t file);
  // The other names that files give a name, and those that are given to these, and so on.
  std::set<std::string> other_names(std::string_view name);

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

  // Where some file stores an attribute of that name in an object other than its own `self`, or
  // hooks what is there.
  std::optional<Place> stored(std::string_view attribute);
  // Whether some file that gives attributes under computed names speaks of a known class.
  bool exchanged(std::string_view class_name);
  // Whether a file that does not define a known class asks `isinstance` or `issubclass` about it,
  // or names it in a table: "package.module.Name" in quotes, or as a key of a dictionary.
  bool asked(std::string_view class_name);
  // Whether some file hands a function or an object of a class of that name to TorchScript.
  bool scripted(std::string_view name);
  // Whether a decorator of that name may be TorchScript's compiler: `fuser = torch.jit.script`, or
  // a function that calls it.
  bool compiler(std::string_view name);

  struct Subclass {
    uint32_t file = 0;
    const ClassFact* fact = nullptr;
  };
  // The classes that inherit from the class `name` of a file, directly or through others. Classes
  // are told by the last part of their names; one that a file defines itself is meant there.
  std::vector<Subclass> subclasses(std::string_view name, uint32_t file);

 private:
  // The first write that is wanted of those of some files.
  template <typename Wanted>
  std::optional<Place> first(const std::vector<uint32_t>& files, Wanted wanted);
  template <typename Is>
  bool any(Remembered<bool>& known, std::string_view name, std::initializer_list<Mention> mentions,
           Is is);
  void invert();

  std::vector<Mentions> noted_;  // by file, until they are inverted
  Read read_;
  std::once_flag inverted_;
  std::vector<uint64_t> holders_;  // mentions, each with a file in its lower half; ascending
  std::map<std::string, std::set<std::string>, std::less<>> others_;
  std::shared_mutex mutex_;  // guards facts_
  std::unordered_map<uint32_t, std::unique_ptr<FileFacts>> facts_;
  Remembered<std::optional<Place>> stored_;
  Remembered<bool> exchanged_, asked_, scripted_, compilers_;
};

}  // namespace refit::python
