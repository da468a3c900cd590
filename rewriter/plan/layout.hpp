// Layout propagation around a call: which transposes on the way to its operands and from its result
// only serve the call, so that it can take and give the other layout.
#pragma once

#include <string>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

struct Absorption {
  bool absorbed = false;
  std::string why_not;                    // when not absorbed
  std::vector<graph::ValueId> forwarded;  // transposes (and copies for them) that go
  uint32_t transposes = 0;
};

// Tries to bring `call` from the layout that its operands have to `layout.target`.
Absorption absorb(const graph::Graph& graph, graph::ValueId call, const Layout& layout);

}  // namespace refit
