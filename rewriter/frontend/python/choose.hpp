// Chooses the functions of a file that a Focus wants lowered. Entry point: leave_out.
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/frontend/focus.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

// The functions (of the module and of its classes) that need no lowering, in the order of the text.
std::vector<ByteRange> leave_out(std::string_view text, const Outline& outline, const Focus& focus);

}  // namespace refit::python
