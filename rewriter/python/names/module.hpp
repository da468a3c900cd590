// What the tree of one module binds: imports with aliases and conditions, definitions, assignments,
// star imports. Entry points: index_module, imported_names, definitions_of.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

struct Binding {
  enum class Kind { import, function, class_, assignment, none, other };
  Kind kind = Kind::other;
  std::string qualified;  // import: what is imported; function, class: its own name
  ByteRange statement;    // the binding statement
  bool guarded = false;   // inside try or if
};

// The names of one scope (a module, or one function) and what binds them.
struct Names {
  std::map<std::string, std::vector<Binding>, std::less<>> bindings;
  std::vector<std::string> stars;  // modules imported by `from m import *`
};

struct Module {
  std::string name;
  bool package = false;
  Names names;
  std::vector<std::string> all;         // __all__, where literal
  std::set<std::string> inner_imports;  // qualified names imported anywhere in the file
};

// What stands between the quotes of one string that has no fields.
std::optional<std::string_view> literal_text(TSNode node, std::string_view source);

// What an `import` or `from … import` statement binds, with relative modules made absolute.
struct Imported {
  std::string local;
  std::string qualified;
  TSNode node;  // the name or aliased_import inside the statement
};
// The module meant by `from WRITTEN import` in a module: leading dots resolved against it.
std::string absolute_module(std::string_view written, std::string_view module, bool package);
std::vector<Imported> imported_names(TSNode statement, std::string_view source,
                                     std::string_view module, bool package);
// Module of `from … import *`, else empty.
std::string star_module(TSNode statement, std::string_view source, std::string_view module,
                        bool package);
// The bindings of a module's top level, conditional ones too, and what functions bind there by
// `global NAME` and by `globals()["NAME"] = …`. A name that is computed says nothing.
Module index_module(TSNode root, std::string_view source, std::string name, bool package);

// A function or class of a module's top level, conditional ones too.
struct DefinitionNode {
  TSNode node;   // function_definition or class_definition
  TSNode whole;  // with its decorators; else the same
};
std::vector<DefinitionNode> definitions_of(TSNode root, std::string_view source,
                                           std::string_view name);

}  // namespace refit::python
