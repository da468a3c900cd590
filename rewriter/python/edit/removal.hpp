// Internal: statements that go. Which ones go with those that a change no longer needs, and the
// edits that take them out as a person would, with their comments kept.
#pragma once

#include <map>
#include <set>

#include "rewriter/python/lower/unit.hpp"
#include "rewriter/text/edit.hpp"

namespace refit::python {

// The statements of one function that go, and those that a change writes anew.
struct Doomed {
  std::set<StatementId> dead;
  std::set<StatementId> rewritten;
  // Of `a, b = x, y` the places of the names that go with what they are given.
  std::map<StatementId, std::set<size_t>> parts;
};

// Adds what goes with them: an `if` or `with` that nothing is left in, a name whose last reader is
// gone with `edits`.
void add_orphans(const PythonUnit& unit, uint32_t function, const EditSet& edits, Doomed& doomed);
// The edits that take the statements out; `others` are the edits made besides.
Expected<EditSet> remove_statements(const PythonUnit& unit, uint32_t function, const Doomed& doomed,
                                    const EditSet& others);
// Removes a statement (or a run of them) with its line, and blank lines where two groups of them
// would meet; where one of `insertions` takes the line's place nothing meets.
Edit remove_line(const PythonUnit& unit, ByteRange statement, const EditSet& insertions);

}  // namespace refit::python
