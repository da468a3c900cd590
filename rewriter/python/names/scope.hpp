// Python's scopes: which names a function binds (and so owns), by the language's rules.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>

#include "rewriter/python/names/project.hpp"

namespace refit::python {

// For tables that are asked by parts of a text.
struct NameHash {
  using is_transparent = void;
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
};

struct Scope {
  std::shared_ptr<Scope> parent;  // enclosing function's scope; classes are not seen from within
  uint32_t function = 0;          // its number in the unit
  std::unordered_set<std::string, NameHash, std::equal_to<>> locals;
  std::set<std::string, std::less<>> globals;    // `global x`
  std::set<std::string, std::less<>> nonlocals;  // `nonlocal x`
  std::set<std::string, std::less<>> captured;   // locals that an inner function reads
  std::set<std::string, std::less<>> rebound;    // locals that an inner function binds
  bool reads_all = false;                        // calls locals(), eval, …: any local may be read
  TSNode body{};
  // What binds the locals, where it is an import or definition: read off the body when asked for.
  std::optional<Names> names{};
};

// NAME of `type NAME[…] = …`.
std::string_view alias_name(TSNode statement, std::string_view source);
// Fills locals, globals and nonlocals from a function's body (parameters are the caller's to add).
void collect_locals(TSNode body, std::string_view source, Scope& scope);
// Names bound anywhere inside a statement (what a loop may change).
std::set<std::string, std::less<>> bound_names(TSNode node, std::string_view source);

}  // namespace refit::python
