// What shapes and subscripts say of a number of axes, for whoever works out ranks: forwards from
// what a value is made of (facts.cpp), backwards from who reads it (ranks_read.cpp).
#pragma once

#include <optional>

#include "rewriter/graph/graph.hpp"

namespace refit {

// `x.shape`, `x.size()`.
bool is_shape(const Graph& graph, ValueId id);

// By how many axes `x[subscripts]` has fewer than x; nullopt where a subscript may be a tensor.
std::optional<int> axes_dropped(const Graph& graph, ValueId subscripts);

// Whether a split takes the axis away (unbind) or leaves a shorter one (chunk).
bool drops_axis(const Operation& op);

// How many sizes are written one by one; nullopt where one of them may stand for several.
std::optional<int> written_sizes(const Graph& graph, ValueId id);

// The rank that the readers of a value show: `b, n, s, d = x.shape`, a permutation of all its axes,
// a pattern that takes it apart, a callee that takes tensors of one rank alone, and what is shown
// so of anything that has its axes: a cast, a layer's result, a slice, the value after a branch.
// nullopt where they disagree, and where a condition asks for the rank.
std::optional<int> rank_read(const Graph& graph, ValueId id);

}  // namespace refit
