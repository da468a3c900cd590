// Whether the lines of a text are indented as Python asks, which the grammar does not: it takes a
// line that is further in than its block for one of the block. Entry point: unexpected_indentation.
#pragma once

#include <cstddef>
#include <string_view>

namespace refit::python {

// Where the first line begins whose indentation no block has; npos where there is none, or where
// brackets or strings are not closed.
size_t unexpected_indentation(std::string_view text);

}  // namespace refit::python
