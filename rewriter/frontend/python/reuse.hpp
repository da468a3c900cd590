// Statements that an edit left as they were, with the trees that they had before it: where a
// rewritten file is read again they need not be parsed. Entry point: unchanged_statements.
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/frontend/focus.hpp"
#include "rewriter/frontend/python/unit.hpp"

namespace refit::python {

// In the order of the text, apart from each other; what is unseen lies in one of them or in none.
// Empty where the focus names no text before this one, or that one's tree is not whole.
std::vector<Tree::Known> unchanged_statements(std::string_view text, const Focus& focus,
                                              const std::vector<Unseen>& unseen);

}  // namespace refit::python
