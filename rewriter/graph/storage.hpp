// Where the values of a graph lie: which objects, attributes and entries of containers a value may
// be, or be a view of. Two values share no storage where none of their places overlap. Entry
// points: places_of, written_by, overlap.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// A place as a dotted path from what the function was given or made: `self.cache`, `12["k"]`.
// Values that are storage of their own are places by their numbers. `unknown`: any place at all.
struct Places {
  std::vector<std::string> paths;
  bool unknown = false;
};

// What a call of unknown code gives may be any of what it is given, or counts as storage of its
// own. What a layer gives is its own.
enum class CallResults { may_be_operands, are_fresh };

Places places_of(const Graph& g, ValueId id, CallResults calls);

// Whether a write to one place may change what lies at the other: they are the same, or one is a
// part of the other.
bool overlap(const Places& written, const Places& read);

// The value that an operation writes in place: its first operand, or because its arguments say so,
// `inplace=True`, `out=y`; of a call of a method `y.name_()` that the catalogue does not know, y.
// kNone where it writes nothing.
ValueId written_by(const Graph& g, ValueId id);

}  // namespace refit
