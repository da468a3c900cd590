// Chooses the functions of a file that a Focus wants lowered. Entry point: choose.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/frontend/focus.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

struct Choice {
  bool nothing = false;             // no function is wanted, nor are the file's own statements
  std::vector<ByteRange> left_out;  // functions of the module and of its classes, in textual order
  // Bodies of the module's functions and classes that hold nothing wanted and that nothing wanted
  // names.
  std::vector<ByteRange> unseen;
};
Choice choose(std::string_view text, const Outline& outline, const Focus& focus);

// The text with `0` at the start of each body: with the rest of the body passed over, that is a
// statement in its place.
std::string with_bodies_marked(std::string_view text, const std::vector<ByteRange>& bodies);

}  // namespace refit::python
