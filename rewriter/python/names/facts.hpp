// What the tree of one file says of names of other files: the names of modules and classes that it
// gives another meaning under a literal name. Entry points: file_facts, and patched_words, which
// tells from the bytes alone which names a file's facts can be about.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

// A monkey patch: `owner.name = …`, `setattr(owner, "name", …)`, `mock.patch("owner.name")`,
// `mock.patch.object(owner, "name")`, `owner.__dict__["name"] = …`, `vars(owner)["name"] = …`, or
// of a whole module, `sys.modules["owner"] = …`, or its own under `__name__`, but by what
// is handed `__name__` to load the same names later. So is each of several targets, what `+=`
// changes and what a `for` or `with` stores into.
struct Patch {
  std::string owner;     // dotted, through the file's imports; kAnyModule; empty: an expression
  std::string name;      // empty: the owner itself is a module that is replaced
  bool certain = false;  // an import, or the name of a module in quotes, shows the owner
  uint32_t line = 1;
};

// The owner of `sys.modules[name].F = …` and `import_module(name).F = …`.
inline constexpr std::string_view kAnyModule = "*";

struct FileFacts {
  std::vector<Patch> patches;  // in textual order
};

// `module`, `package`: the file's own name, against which its relative imports are resolved.
// `test`: what a test replaces by `mock.patch` or in the table of modules holds for a while only
// and is no fact.
FileFacts file_facts(TSNode root, std::string_view source, std::string_view module, bool package,
                     bool test);

// A name that a patch of a file can have, and the last name of its owner, as hashes.
struct PatchedWord {
  uint32_t name, owner;  // an owner of 0: any
  bool certain;          // the owner is what an import statement gives that name to
  bool quoted;           // in quotes, or the file's own: it may be a module of the table of modules
  auto operator<=>(const PatchedWord&) const = default;
};
// The names that the patches of a file can have, ascending: its words that stand behind a dot and
// before `=`, and names in quotes in the brackets of `setattr`, `patch` and their kin. Of a patched
// module it is the last component. No name of a patch is missing.
std::vector<PatchedWord> patched_words(std::string_view bytes, std::string_view module);
uint32_t patch_hash(std::string_view word);

std::string_view last_name(std::string_view dotted);

// Whether a file is a test by its name or its folder, as pytest finds them.
bool test_file(std::string_view relative);

}  // namespace refit::python
