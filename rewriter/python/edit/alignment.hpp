// Internal: arguments that stand below one another, at the column of the first.
#pragma once

#include <string_view>
#include <vector>

#include "rewriter/python/lower/unit.hpp"
#include "rewriter/text/edit.hpp"

namespace refit::python {

// Whether the lines below an argument list's first are indented to its first argument.
bool aligned(std::string_view text, TSNode list);

// The edits that keep them so when what stands before the list gets `wider` columns wider
// (narrower, if negative). Lines that begin inside a string, and lines that are indented less,
// stay.
std::vector<Edit> realigned(std::string_view text, TSNode list, int wider);

// By how many columns what stands before a call's arguments grows with another callee.
int wider(std::string_view text, TSNode call, std::string_view callee);

}  // namespace refit::python
