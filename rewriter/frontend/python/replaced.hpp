// Names of modules to which a project's files give another meaning from outside: `module.F = mine`,
// `setattr(module, "F", mine)`, `patch("module.F")`, `sys.modules["module"] = mine`, read from the
// text without a parser. What a test replaces for a while is not counted. Entry points:
// ReplacedReader, of one file, and ReplacedNames.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/frontend/python/renamed.hpp"
#include "rewriter/frontend/python/text_notes.hpp"

namespace refit::python {

// Whether a file is a test by its name or its folder, as pytest finds them.
bool test_file(std::string_view relative);

// Among the modules that a text replaces: its own; its own by what is handed `__name__` first, as
// packages do that load their modules when they are asked for, with the same names.
inline constexpr std::string_view kItself = "__name__", kLoadsItself = "(__name__";

// Notes what one text replaces; the text outlives it.
class ReplacedReader {
 public:
  ReplacedReader(std::string_view text, const NotedPlaces& places, const Renamed& renamed,
                 bool test, TextNotes& out)
      : text_(text), places_(places), renamed_(renamed), test_(test), out_(out) {}

  // `OBJECT.NAME = …`; both are parts of the text, or in quotes there.
  void store(std::string_view object, std::string_view name);
  // A store under a name that the text computes: `setattr(OBJECT, name, …)`, `vars(OBJECT)[name]`.
  void store_any(std::string_view object);
  // Patches, stores into the table of modules and into `__dict__` of the text.
  void note_text();

 private:
  void add(uint64_t key, std::string_view name);
  void note_modules();
  void note_table(size_t begin, size_t end);
  bool imports(std::string_view name);
  template <typename Found>
  void each(NotedPlaces::Word word, Found found) const;

  std::string_view text_;
  const NotedPlaces& places_;
  const Renamed& renamed_;
  bool test_;
  TextNotes& out_;
  std::optional<std::unordered_set<std::string_view>> imported_;  // words of lines that import
};

class ReplacedNames {
 public:
  struct Place {
    uint32_t file, offset;
  };

  // Takes up the notes of a file. Of two places the first is kept.
  void add(uint32_t file, const TextNotes& notes);

  // Where the module's `name` may get another meaning: in an object of the module's last name, in
  // one that may be any module, and for an imported name in whatever no import of that file
  // explains.
  const Place* of_module(std::string_view module, std::string_view name, bool imported) const;
  // Where a module as a whole is replaced.
  const Place* of_whole(std::string_view module) const;
  // Where the module of that file replaces itself.
  const Place* by_itself(uint32_t file, bool package) const;
  // Where a name of a library may, or the module that it is in.
  const Place* of_library(std::string_view qualified) const;

 private:
  std::unordered_map<uint64_t, Place> names_, modules_;  // see TextNotes
  struct Own {
    Place place;
    bool loads;  // kLoadsItself
  };
  std::unordered_map<uint32_t, Own> own_;  // by file
};

}  // namespace refit::python
