// What Python refuses and the grammar takes: a line that is further in than its block, a block
// without a statement, an argument
// by position behind one by name; and, before 3.12, the quote of a string in one of its fields.
// Entry points: unexpected_indentation, misplaced_argument, quote_in_field.
#pragma once

#include <cstddef>
#include <string_view>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

// Where the first line begins whose indentation no block has, or that opens a block and is followed
// by none; npos where there is none, or where brackets or strings are not closed.
size_t unexpected_indentation(std::string_view text);
// The same for the part of a text that lies between two lines at the margin: the one that begins at
// `from`, and the first that begins behind `until`.
size_t unexpected_indentation(std::string_view text, size_t from, size_t until);

// Where the first argument stands that Python takes for no argument: one by position behind one by
// name or behind `**`, `*` behind `**`, a name given twice. npos where there is none.
size_t misplaced_argument(TSNode root, std::string_view text);

// Where the first quote stands that ends, before Python 3.12, a string around the field it is in,
// `f"{a["b"]}"`. npos where there is none.
size_t quote_in_field(TSNode root, std::string_view text);

}  // namespace refit::python
