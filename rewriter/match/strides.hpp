// In which order the strides of a result lie, and whether anything that reads it can tell. torch's
// element-wise operations order the axes of their result as their first operand's lie in memory;
// what joins, reduces or multiplies matrices gives a contiguous result. Entry points: leader,
// next_leader, strides_matter, made_dense.
#pragma once

#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// What decides the strides of a value: another one, as which it lies; `root`: a tensor with one
// value a row, contiguous; `dense`: nothing, it is contiguous.
struct Leader {
  enum class Kind : uint8_t { unknown, dense, root, value } kind = Kind::unknown;
  ValueId value = kNone;

  friend bool operator==(const Leader&, const Leader&) = default;
};

// The leader of a value among those that a computation reads. `vectors` have the last axis alone,
// so that they lead nothing.
Leader leader(const Graph& graph, ValueId id, const std::vector<ValueId>& reads,
              const std::vector<ValueId>& vectors);

// The leader of the second operand of the element-wise operation that gives a value, which decides
// where the first does not, being broadcast.
Leader next_leader(const Graph& graph, ValueId id, const std::vector<ValueId>& reads,
                   const std::vector<ValueId>& vectors);

// Whether a reader of the value can tell its strides: one out of sight, `.view`, `.stride()`.
// `lowered`: a regrouping that leaves fewer axes than `rank` gives a contiguous tensor, whatever
// the strides.
bool strides_matter(const Graph& graph, ValueId id, int lowered = 0);

// Shown to be contiguous, whatever the strides of what it is made from.
bool made_dense(const Graph& graph, ValueId id);

}  // namespace refit
