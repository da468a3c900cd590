// Where the values of a graph lie: which objects, attributes and entries of containers a value may
// be, or be a view of. Two values share no storage where none of their places overlap. Entry
// points: places_of, overlap, may_reach, written_by.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// A place as a dotted path from what the function was given or made: `self.cache`, `12["k"]`.
// Values that are storage of their own are places by their numbers. `unknown`: any place at all.
// Of what this function did not make and keep to itself, other paths may lead to the same storage:
// `own`: an attribute holds a tensor that its class made and gave to no other attribute; `given`:
// an argument; `other`: anything else.
struct Places {
  std::vector<std::string> paths;
  bool unknown = false;
  bool own = false, given = false, other = false;

  bool shared() const { return own || given || other; }
};

Places places_of(const Graph& g, ValueId id);

// Whether what lies at two places is shown to be the same, or the one a part of the other.
bool overlap(const Places& written, const Places& read);

// Whether a write to one place may change what lies at the other: they overlap, or other paths may
// lead to both. Two attributes with tensors of their own are apart, and each from arguments.
bool may_reach(const Places& written, const Places& read);

// Whether a store, `base[index] = value`, may put the object itself there, as into a list or a
// dictionary: slices and several indices are those of a tensor, which takes a copy.
bool keeps_object(const Graph& g, const Value& store);

// The value that an operation writes in place: its first operand, or because its arguments say so,
// `inplace=True`, `out=y`; of a call that the catalogue does not know, y in `y.name_()` and
// `f_(y)`. kNone where it writes nothing.
ValueId written_by(const Graph& g, ValueId id);

}  // namespace refit
