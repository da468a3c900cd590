// Where Python and the grammar differ. What Python refuses and the grammar takes: a line that is
// further in than its block, a block without a statement, an argument by position behind one by
// name; and, before 3.12, the quote of a string in one of its fields. What Python takes and the
// grammar does not: `*` in a list without brackets before anything but a name.
// Entry points: unexpected_indentation, misplaced_argument, quote_in_field, read_past_stars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

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

// The tree of a text in which nothing but such stars keeps the grammar from reading it, `return a,
// *(b)` and `a[*(b)]`: each is read as if it were `~`.
struct ReadPast {
  Tree tree;
  std::vector<uint32_t> stars;  // where they stand, ascending
};
std::optional<ReadPast> read_past_stars(std::string_view text);

}  // namespace refit::python
