// What the code shows about a value: rank, element type, whether it is zero at inference. Each
// answer is evidence from the value graph, never a guess.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// Number of dimensions, where shape operations, unpacked shapes or a contract show it.
std::optional<int> rank_of(const Graph& graph, ValueId id);

// The literal that a value is, tuples included; nullopt where it is none.
std::optional<Literal> literal_of(const Graph& graph, ValueId id);

// Zero, or zero whenever the module is not training (`p if self.training else 0.0`).
bool zero_at_inference(const Graph& graph, ValueId id);
// Whether it is a literal other than zero at inference.
bool nonzero_at_inference(const Graph& graph, ValueId id);

// Shown to hold booleans.
bool is_boolean(const Graph& graph, ValueId id);

// Shown to be a number. `attribute` says whether an attribute's class shows it to be one.
bool is_scalar(const Graph& graph, ValueId id, const std::function<bool(ValueId)>& attribute);

// A sequence of exactly one size: `(width,)`, `x.shape[-1:]`.
bool has_one_size(const Graph& graph, ValueId id);

// None, or what an operation on tensors gives, on every branch.
bool is_tensor_or_none(const Graph& graph, ValueId id);

// The element type that a value is cast to (`torch.float32` for `x.float()`), where it is a cast.
std::optional<std::string> cast_type(const Graph& graph, ValueId id);

// Made by a change to a fixed element type (`x.float()`), whatever views lie between.
bool is_cast(const Graph& graph, ValueId id);

// Whether an operation that `wanted` accepts is among those that a value is computed by.
bool uses_operation(const Graph& graph, ValueId id,
                    const std::function<bool(const Operation&)>& wanted);

// Evidence after the fact: the readers of a value take it for a tensor of that many dimensions.
bool read_as_rank(const Graph& graph, ValueId id, int rank);

// The axes that a transposition swaps, both non-negative, for a tensor of `rank` dimensions.
std::optional<std::pair<int, int>> swapped_axes(const Graph& graph, ValueId id, int rank);

}  // namespace refit
