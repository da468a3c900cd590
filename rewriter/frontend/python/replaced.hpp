// Names of modules to which a project's files give another meaning from outside: `module.F = mine`,
// `setattr(module, "F", mine)`, `patch("module.F")`, `sys.modules["module"] = mine`, read from the
// text without a parser. What a test replaces for a while is not counted. Entry points:
// ReplacedNames::begin and the notes of one file after it, of_module, of_library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/frontend/python/renamed.hpp"

namespace refit::python {

// Whether a file is a test by its name or its folder, as pytest finds them.
bool test_file(std::string_view relative);

class ReplacedNames {
 public:
  struct Place {
    uint32_t file, offset;
  };

  // The file that the notes are about until the next call; its text outlives them.
  void begin(uint32_t file, std::string_view text, bool test);
  // `OBJECT.NAME = …`; both are parts of the text, or in quotes there.
  void store(std::string_view object, std::string_view name);
  // Patches, `sys.modules[…] = …` and stores into `__dict__` of the text.
  void note_text();

  // Where the module's `name` may get another meaning: in an object of the module's last name, in
  // one that may be any module, and for an imported name in whatever no import of that file
  // explains.
  const Place* of_module(std::string_view module, std::string_view name, bool imported) const;
  // Where a name of a library may, or the module that it is in.
  const Place* of_library(std::string_view qualified) const;

 private:
  void add(std::string key, std::string_view name);
  template <typename Found>
  void each(size_t word, Found found) const;

  std::string_view text_;
  uint32_t file_ = 0;
  bool test_ = false;
  std::optional<Renamed> renamed_;
  std::vector<std::vector<size_t>> places_;       // in the file at hand, by word
  std::unordered_map<std::string, Place> names_;  // OBJECT.NAME; NAME of an object not known
  std::unordered_map<std::string, Place> modules_;
};

}  // namespace refit::python
