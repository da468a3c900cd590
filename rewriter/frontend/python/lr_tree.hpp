// Internal to the parser: the trees that the grammar's rules make, and the nodes of them that can
// be seen. Entry point: visible_nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "rewriter/frontend/python/lr_parser.hpp"
#include "rewriter/frontend/python/lr_pile.hpp"

namespace refit::python {

// A node as the grammar's rules make it, hidden ones too.
struct RuleTree {
  static constexpr uint32_t kMostChildren = 0x7fffffff;  // more than a text has bytes
  uint32_t begin, end;
  uint32_t first;  // its children
  uint32_t count : 31;
  bool extra : 1;
  int32_t precedence;  // dynamic
  uint16_t symbol, production;
};

// The visible nodes in source order; a hidden one's children are its parent's. `children` are
// numbers of `trees`.
std::vector<NodeData> visible_nodes(const RuleTree& root, const Pile<RuleTree>& trees,
                                    const Pile<uint32_t>& children);

}  // namespace refit::python
