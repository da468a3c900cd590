// Parts of layout propagation that keep no state: which axis of one value is which of another,
// which values share a text or a storage.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/language/frontend.hpp"
#include "rewriter/match/rank_parts.hpp"

namespace refit {

// The axes of a value that change places, and how many it has.
struct Flip {
  int first = 0, second = 0, rank = 0;
  friend bool operator==(const Flip&, const Flip&) = default;
  bool has(int axis) const { return axis == first || axis == second; }
};

// The two places where layouts differ ("BNSD", "BSND": 1 and 2); nullopt where it is not two.
std::optional<std::pair<int, int>> swap_of(const std::string& from, const std::string& to);

std::optional<int> integer_of(const Graph& g, ValueId id);

// The axis that an operation works along, counted from the front.
std::optional<int> axis_of(const Graph& g, ValueId id, int rank);

// For every axis of `x[subscripts]` the axis of x that it is; -1 for a new one. nullopt where a
// subscript is neither a slice nor a number.
std::optional<std::vector<int>> indexed_axes(const Graph& g, ValueId subscripts, int rank);

// Whether the subscript for an axis of a value with `rank` axes keeps it whole.
bool whole_axis(const Graph& g, ValueId subscripts, int axis, int rank);

// The axes of a part when those of the whole are mapped by `axes`; nullopt where one of them is not
// in the part.
std::optional<Flip> through(const std::vector<int>& axes, const Flip& whole);

// Of a text that makes several values in turn (Graph::repeats) all must change alike. One whose
// other values do not; kNone for none.
ValueId uneven_turn(const Graph& g, const std::set<ValueId>& gone,
                    const std::vector<AxisSwap>& swapped);

// A value that only the graph knows, and nothing that is written out reads: what is written runs,
// whether its result is read or not.
bool unwritten(const Graph& g, ValueId id);

// Of a reader that takes no notice of the order of the axes, but perhaps of their sizes: what names
// one of the two that change places, `x.size(1)`, `x.shape[1]`, an unpacked `x.shape`. nullopt
// where it takes notice.
std::optional<std::vector<ValueId>> named_sizes(const Graph& g, ValueId user, ValueId of,
                                                const Flip& flip);

// Whether a call after `copy` and before `end` takes what the copy was made of, or an attribute of
// it.
bool written_between(const Graph& g, ValueId source, ValueId copy, ValueId end);

}  // namespace refit
