// Whether a text can add one to something and multiply by the sum, `x * (1 + scale)`, itself or
// through names and functions. Entry point: adds_one.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/source.hpp"

namespace refit::python {

// By what the sum and the product can be written.
struct Addition {
  std::vector<std::string> functions;  // last components of functions and methods that take a sum
  std::vector<std::string> adders;     // of those that take the number
  // Whether a name may be that of a function of this file, or of a method of the object, that adds
  // what it is given to something (false) or multiplies by it (true).
  std::function<bool(std::string_view name, bool method, bool sum)> own;
};

// In these logical lines of a text. What cannot be made out counts.
bool adds_one(std::string_view text, std::span<const ByteRange> lines, const Addition& asked);

}  // namespace refit::python
