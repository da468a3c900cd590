// What the tree of one file says of names that other files may ask about: what it gives other names
// and other objects' attributes, its classes, what it asks of objects, what it hands to TorchScript
// and which modules' names it reads. Names that are only compared are kept as their hash_of. Entry
// point: file_facts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/python/names/file_nodes.hpp"
#include "rewriter/python/names/module.hpp"
#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

// A value that is given to an attribute of an object other than `self` under a literal name:
// `owner.name = …`, also as one of several targets, by `+=`, `for` or `with`;
// `setattr(owner, "name", …)`; `mock.patch("owner.name")`; `mock.patch.object(owner, "name")`;
// `owner.__dict__["name"] = …`; `vars(owner)["name"] = …`. Or a module that is replaced as a whole:
// `sys.modules["owner"] = …`, but not by what loads the same names later, being handed `__name__`.
struct Write {
  std::string owner;  // dotted, through the file's imports; kAnyModule; empty: an expression
  std::string name;   // empty: the owner itself is a module that is replaced
  uint32_t line = 1;
  bool certain = false;  // an import, or the name of a module in quotes, shows the owner
  bool module = true;    // the owner may be a module: it is no part of `self`, and no layer
  bool lasting = true;   // no test's `mock.patch`, which holds for a while
};

struct ClassFact {
  struct Base {
    uint64_t name;  // the last part of what the imports of the file say that it is
    bool local;     // the file defines a class of that name, which is meant
  };
  std::string name;
  std::vector<Base> bases;
  std::vector<uint64_t> stores;  // attributes and methods that it gives its objects, ascending
};

struct FileFacts {
  Module module;
  std::vector<Write> writes;        // in textual order
  std::vector<ClassFact> classes;   // in textual order, nested ones too
  bool computes = false;            // attributes of other objects are given under computed names
  std::vector<uint64_t> asked;      // classes of other files that objects may be asked for
  std::vector<uint64_t> exchanged;  // where it computes: classes that it searches objects for
  std::vector<uint64_t> scripted;   // what TorchScript compiles though no decorator says so
  std::vector<uint64_t> compilers;  // decorators that may be TorchScript's compiler
  std::vector<uint32_t> reads;      // see read_of
};

// A read of `owner.name` among FileFacts::reads, where the imports of the file or a module's name
// in quotes give the owner, by its last part. An owner of "" may be anything.
// There are many, so that each is half a hash; one that is taken for another keeps an import that
// could go.
uint32_t read_of(std::string_view owner, std::string_view name);

// `test`: what a test replaces or compiles holds for a while only.
FileFacts file_facts(TSNode root, std::string_view source, std::string module, bool package,
                     bool test);

// Whether a name is among the names of a fact.
template <typename Hash>
bool holds(const std::vector<Hash>& names, Hash name) {
  return std::ranges::binary_search(names, name);
}

// Whether a file is a test by its name or its folder, as pytest finds them.
bool test_file(std::string_view relative);

}  // namespace refit::python
