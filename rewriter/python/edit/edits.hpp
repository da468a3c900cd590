// How values, names and changes are written as Python: the texts of a rewrite and the edits that
// put them into a file.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriter/python/lower/unit.hpp"

namespace refit::python {

// A literal as Python writes it: `None`, `0.5`.
std::string python_literal(const Literal& literal);
// How a value can be written just before a statement runs; see Frontend::spell and spell_under.
std::optional<std::string> spell_value(const PythonUnit& unit, uint32_t function, ValueId value,
                                       ValueId root, const std::set<StatementId>& dead,
                                       const Branch& branch);
// The text of a template's argument; see Frontend::fill.
std::optional<std::string> fill_holes(const std::string& text, const Frontend::SpellHole& spell);
// How a qualified name is written inside a function: its text, and what must be imported for it:
// "" when it is in scope already, `a.b`, or `a.b as _a_b` where `a` means something else there, and
// always with `renamed`. Fails when both names are taken.
struct Spelling {
  std::string text;
  std::string import;

  bool renames() const { return import.find(" as ") != std::string::npos; }
};
Expected<Spelling> spell_symbol(const PythonUnit& unit, uint32_t function,
                                const std::string& qualified, bool renamed);

// Edits that add `import MODULE` lines where a person would; `changes` are those that need them.
void add_imports(const PythonUnit& unit, const Catalogue& catalogue,
                 const std::set<std::string>& modules, const EditSet& changes, EditSet& edits);
// Edits that remove imports of which `edits` delete the last use; `added` are those of
// add_imports; notes say which had to stay.
void remove_imports(const PythonUnit& unit, Project& project, const EditSet& edits,
                    const EditSet& added, EditSet& removals, std::vector<std::string>& notes);
// One change's edits; `inner` are those of the changes inside it, which go into what it writes.
struct ChangeEdits {
  EditSet edits;
  std::set<StatementId> dead;       // statements that go with it
  std::set<StatementId> rewritten;  // statements that it writes anew
  ByteRange replaced;               // a text that was written anew, and of it
  std::vector<ByteRange> copied;    // what was carried over
  std::string after;
};
Expected<ChangeEdits> change_edits(const PythonUnit& unit, const Change& change,
                                   const Catalogue& catalogue, const std::string& callee_text,
                                   const EditSet& inner);
// The edits of all changes of a unit, imports included; see Frontend::realise.
Expected<Frontend::Realised> realise_changes(const PythonUnit& unit, Project& project,
                                             const Catalogue& catalogue,
                                             const std::vector<Change>& changes);
// The edit that makes an operation treat two axes as each other.
Expected<Edit> swap_edit(const PythonUnit& unit, uint32_t function, const AxisSwap& swap);

}  // namespace refit::python
