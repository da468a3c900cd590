// The modules of a project and what their names mean: imports with aliases and conditions,
// definitions, re-exports through packages. `Project::resolve` follows a qualified name to the
// definition it stands for.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rewriter/frontend/python/syntax.hpp"

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

// What an `import` or `from … import` statement binds, with relative modules made absolute.
struct Imported {
  std::string local;
  std::string qualified;
  TSNode node;  // the name or aliased_import inside the statement
};
std::vector<Imported> imported_names(TSNode statement, std::string_view source,
                                     std::string_view module, bool package);
// Module of `from … import *`, else empty.
std::string star_module(TSNode statement, std::string_view source, std::string_view module,
                        bool package);
// The bindings of a module's top level (conditional ones too, function bodies not).
Module index_module(TSNode root, std::string_view source, std::string name, bool package);

class Project {
 public:
  struct File {
    std::string path, relative;
  };
  // `module_roots`: folders below the root ("" is the root) from which module names resolve too.
  Project(const std::string& root, const std::vector<File>& files,
          const std::vector<std::string>& module_roots);

  // "a.b.c" for a/b/c.py, as an importer of the project would write it.
  std::string module_of(std::string_view relative, bool* package) const;
  bool has_module(std::string_view name) const { return files_.contains(std::string(name)); }
  // The file of a module, empty if it is not one of the project's.
  std::string file_of(std::string_view module) const;
  // Names of a module of the project; nullptr when it is not one, or cannot be read.
  const Module* module(const std::string& name);
  // What a qualified name finally stands for. Names outside the project stand for themselves;
  // nullopt where it is ambiguous.
  std::optional<std::string> resolve(const std::string& qualified);
  // Another file of the project that imports `name` from `module` (by name or by star), or "".
  std::string importer_of(const std::string& module, const std::string& name,
                          const std::string& except);
  // Whether a class of another file that imports this one names it among its bases.
  bool subclassed(const std::string& module, const std::string& name);
  // What a list of bindings of one name means, when it means one thing.
  std::optional<std::string> meaning(const std::vector<Binding>& bindings, std::string* why);

 private:
  std::optional<std::string> resolve(const std::string& qualified, int depth);
  void index_importers();
  std::map<std::string, File> files_;  // by module name
  std::once_flag importers_once_;
  struct Importer {
    std::string module;
    bool star;
  };
  // Modules by the last component of a module that they import from.
  std::unordered_map<std::string, std::vector<Importer>> importers_;
  std::unordered_map<std::string, std::string> module_names_;  // relative path -> module
  std::unordered_map<std::string, bool> packages_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Module>> modules_;
};

}  // namespace refit::python
