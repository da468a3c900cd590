// Chooses the functions of a file that a Focus wants lowered. Entry point: choose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/frontend/focus.hpp"
#include "rewriter/frontend/python/made.hpp"
#include "rewriter/frontend/python/outline.hpp"
#include "rewriter/frontend/python/unit.hpp"

namespace refit::python {

struct Choice {
  bool nothing = false;             // no function is wanted, nor are the file's own statements
  std::vector<ByteRange> left_out;  // functions of the module and of its classes, in textual order
};
Choice choose(std::string_view text, const Outline& outline, const Focus& focus,
              const Resolving& resolving);

}  // namespace refit::python
