// Where two value graphs differ. Entry points: equal_values, find_difference.
#pragma once

#include "rewriter/graph/graph.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// Whether two values of different graphs are computed alike from the same names.
bool equal_values(const Graph& one, ValueId a, const Graph& other, ValueId b);

struct Difference {
  ValueId before = kNone, after = kNone;
};

// The innermost pair of values to which every difference between what two functions return comes
// down; kNone where they return the same. Fails where there are several.
Expected<Difference> find_difference(const Graph& before, const Graph& after);

}  // namespace refit
