// What the names of a file may mean where functions are chosen, by its text: a word tells of an
// operation only where it may name it, `np.sum(x)` is no tensor's. Whatever cannot be made out may
// be anything. Entry points: Meant::may_name, Meant::here.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "rewriter/catalogue/catalogue.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

// How the names of one file resolve.
struct Resolving {
  // What a qualified name finally stands for; nullopt where that is not one thing.
  std::function<std::optional<std::string>(const std::string& qualified)> name;
  // Whether something gives a name of the file's module another meaning.
  std::function<bool(std::string_view name, bool imported)> replaced;
  // What the catalogue knows by a name, a class that computes as one of them included.
  std::function<const Operation*(const std::string& name)> operation;
  // Whether it stands for a function or class of the tree itself by a name that the catalogue
  // knows.
  std::function<bool(const std::string& qualified)> own;
};

class Meant {
 public:
  Meant(std::string_view text, const Outline& outline, const Resolving& resolving)
      : text_(text), outline_(outline), resolving_(resolving) {}

  // Whether the word at [at, at + size) of the file's text may name the operation, as a function of
  // a module or as a method.
  bool may_name(size_t at, size_t size, const Operation& operation) const;

  // What a dotted name of the module's top level stands for. `known`: it is one thing.
  struct Meaning {
    bool known = false;
    const Operation* operation = nullptr;  // of that name, if there is one
    bool own = false;                      // not known, but the tree's own by a known name
  };
  Meaning of(std::string_view dotted) const;
  Meaning qualified(const std::string& name) const;
  bool bound(std::string_view name) const {
    return outline_.module.names.bindings.find(name) != outline_.module.names.bindings.end();
  }
  // Whether an import inside a function or a class mentions the name.
  bool imported_inside(std::string_view name) const;

  // While it lives, `here` gives this file's names to whoever asks about a part of its text on this
  // thread; else null.
  class Scope {
   public:
    explicit Scope(const Meant& meant);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const Meant* before_;
  };
  // `at` becomes the place in the file's text.
  static const Meant* here(std::string_view part, size_t* at);

 private:
  const OutlinedDefinition* around(size_t at) const;
  bool bound_in(const OutlinedDefinition& definition, std::string_view name) const;
  bool in_remark(size_t at) const;
  bool may_be_module(std::string_view name, const Operation& operation) const;
  bool hands_on(std::string_view word) const;

  std::string_view text_;
  const Outline& outline_;
  const Resolving& resolving_;
  mutable std::unordered_map<std::string_view, Meaning> told_;
  mutable std::map<std::pair<const OutlinedDefinition*, std::string_view>, bool> bound_in_;
  mutable std::unordered_map<std::string_view, bool> handed_on_;
  mutable std::optional<std::unordered_set<std::string_view>> inside_;
};

}  // namespace refit::python
