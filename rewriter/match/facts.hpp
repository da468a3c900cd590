// What the code shows about a value: rank, element type, whether it is zero at inference. Each
// answer is evidence from the value graph, never a guess.
#pragma once

#include <optional>
#include <string>

#include "rewriter/graph/graph.hpp"

namespace refit {

// Number of dimensions, where shape operations, unpacked shapes or a contract show it.
std::optional<int> rank_of(const graph::Graph& graph, graph::ValueId id);

// The literal that a value is, tuples included; nullopt where it is none.
std::optional<Literal> literal_of(const graph::Graph& graph, graph::ValueId id);

// Zero, or zero whenever the module is not training (`p if self.training else 0.0`).
bool zero_at_inference(const graph::Graph& graph, graph::ValueId id);

// Shown to hold booleans.
bool is_boolean(const graph::Graph& graph, graph::ValueId id);

// The axes that a transposition swaps, both non-negative, for a tensor of `rank` dimensions.
std::optional<std::pair<int, int>> swapped_axes(const graph::Graph& graph, graph::ValueId id,
                                                int rank);

}  // namespace refit
