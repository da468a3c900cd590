// Internal to the parser: the trees that the grammar's rules make, and the nodes of them that can
// be seen. Entry point: visible_nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "rewriter/frontend/python/lr_parser.hpp"

namespace refit::python {

// A node as the grammar's rules make it, hidden ones too.
struct RuleTree {
  uint32_t begin, end;
  uint32_t first, count;  // its children
  int32_t precedence;     // dynamic
  uint16_t symbol, production;
  bool extra;
};

// The visible nodes in source order; a hidden one's children are its parent's. `children` are
// numbers of `trees`.
std::vector<NodeData> visible_nodes(const RuleTree& root, const std::vector<RuleTree>& trees,
                                    const std::vector<uint32_t>& children);

}  // namespace refit::python
