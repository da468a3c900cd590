// Walks over trees that keep what is left to visit in a list of their own.
#pragma once

#include <vector>

#include "rewriter/frontend/python/syntax.hpp"

namespace refit::python {

// Puts what children_of gives at the end of a list.
inline void push_children(TSNode node, std::vector<TSNode>& work) {
  if (!present(node)) return;
  const NodeData* const end = node.get() + node->extent;
  for (const NodeData* at = node.get() + 1; at < end; at += at->extent) {
    const TSNode child(at);
    if (at->named && !is(child, "comment") && !is(child, "line_continuation")) {
      work.push_back(child);
    }
  }
}

}  // namespace refit::python
