// Parameter lists in Python's syntax without annotations, as the catalogue writes them:
// "(input, dim=None, *, dtype=None)".
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/rule/catalogue.hpp"

namespace refit {

// Fails, with what was expected and found, on anything that Python would not accept as a parameter
// list or whose default is not a literal.
Expected<std::vector<Parameter>> parse_signature(std::string_view text);

}  // namespace refit
