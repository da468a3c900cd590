// How near a value comes to a pattern that it does not match: the parts that agree, and the first
// that does not.
#pragma once

#include "rewriter/graph/graph.hpp"

namespace refit {

struct Comparison {
  int agreeing = 0;         // parts of the pattern that the value has
  int parts = 0;            // of the pattern
  ValueId wanted = kNone;   // the first part of the pattern that does not agree,
  ValueId instead = kNone;  // and what stands in its place; kNone: nothing
};

Comparison compare(const Graph& pattern, ValueId root, const Graph& subject, ValueId at);

// A value as a person would write it: `(x * x).mean(-1, keepdim=True)`; holes with their `$`.
std::string spelt_out(const Graph& graph, ValueId id);

}  // namespace refit
