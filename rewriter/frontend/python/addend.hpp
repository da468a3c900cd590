// Whether a text can add one to something and multiply by the sum, `x * (1 + scale)`, itself or
// through names and functions. Entry point: adds_one.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace refit::python {

// `text` begins with a logical line. `functions`: the last components of the functions and methods
// by which the sum and the product can be written; `own`: whether a name without a dot may be that
// of a function of this file. What cannot be made out counts.
bool adds_one(std::string_view text, const std::vector<std::string>& functions,
              const std::function<bool(std::string_view name)>& own);

}  // namespace refit::python
