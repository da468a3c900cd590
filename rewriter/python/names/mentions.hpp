// How the words of a file stand in it, told from its bytes in one pass and without a parser. This
// is the coarse half of the index of names: a question about a name is put to the trees of those
// files alone that mention the name in the way that is asked about. A mention may be wrong, and
// then a file is read for nothing; none that a tree shows is missing. Entry point: read_mentions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rewriter/text/words.hpp"

namespace refit::python {

// What a mention says of its word, and of the second word that some have.
enum class Use : char {
  imported,   // an import statement names it: a module, a part of one's name, what comes from one
  from,       // `from ….SECOND import WORD`, of which WORD may be `*`
  stored,     // `owner.WORD = …` in an object that is not `self`, or a hook on what is there
  patched,    // the same, where SECOND is the last word of the owner; "": it may be any module
  loose,      // the same, where no import of the file explains the owner
  quoted,     // in quotes, in a statement that finds attributes or modules by their names
  exchanged,  // of a known class, in a file that finds attributes by their names
  asked,      // of a known class: whether objects are of that class may be asked
  base,       // in the brackets of a class's header
  read,       // `SECOND.WORD`, where an import gives the first word of the chain
  scripted,   // called, or handed to TorchScript's compiler, in a file that names it
  compiler,   // defined, or assigned beside the compiler, in a file that names it
};

// A number that stands for a use of a word. Two of one number are taken for one.
using Mention = uint32_t;
constexpr Mention mention(Use use, std::string_view word, std::string_view second = {}) {
  uint64_t hash = with_byte(kNoWord, static_cast<char>(use));
  for (char c : word) hash = with_byte(hash, c);
  if (!second.empty()) hash = with_byte(hash, '.');
  for (char c : second) hash = with_byte(hash, c);
  return static_cast<Mention>(hash ^ hash >> 32);
}

// What is known of a project before its files are read.
struct KnownNames {
  std::unordered_set<uint64_t> modules;     // the last parts of modules' names, by hash_of
  std::unordered_set<uint64_t> operations;  // the last parts of what the catalogue knows
  std::unordered_set<uint64_t> classes;     // those of them that are classes
};

// A name and another one that a file gives it: `import NAME as OTHER`, `OTHER = module.NAME`.
using OtherName = std::pair<std::string, std::string>;

struct Mentions {
  std::vector<Mention> all;            // ascending, each once
  std::vector<OtherName> other_names;  // of modules, of what they hold, and of operations
};

// `module`, `package`: the file's own name.
Mentions read_mentions(std::string_view text, std::string_view module, bool package,
                       const KnownNames& known);

// The last part of a dotted name.
inline std::string_view last_name(std::string_view dotted) {
  return dotted.substr(dotted.rfind('.') + 1);
}

}  // namespace refit::python
