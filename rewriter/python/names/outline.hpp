// The outline of a Python file, found by a scan of its text without a parser: what its top level
// binds, what it imports anywhere, and where its functions and classes stand. It is what the module
// graph is made of, at a small part of a parse's cost. Entry point: outline.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/python/names/project.hpp"

namespace refit::python {

// A function or class of the module or of a class in it; what a function defines inside belongs to
// the function.
struct OutlinedDefinition {
  std::string_view name;  // into the text
  bool is_class = false;
  size_t owner = SIZE_MAX;  // the class it stands in, as an index into Outline::definitions
  uint32_t begin = 0;       // of its first decorator, or of its header
  uint32_t header = 0;      // of `def`, `async def` or `class`
  uint32_t body = 0;        // of its first statement; == end where the body is on the header's line
  uint32_t end = 0;         // of its last statement
};

struct Outline {
  Module module;
  std::vector<OutlinedDefinition> definitions;  // in the order of the text
  std::vector<ByteRange> remarks;  // strings that are statements, ascending: text about the code
  std::vector<ByteRange> lines;    // logical lines, ascending, short of a comment behind the code

  // The lines that begin in [begin, end).
  std::span<const ByteRange> lines_in(size_t begin, size_t end) const;
  // Where the line that a place stands in ends; 0 where it stands in none.
  size_t line_end(size_t at) const;
};

// Calls visit(part) for each part of a range outside remarks, in order.
template <typename Visit>
void each_but_remarks(const Outline& outline, ByteRange where, Visit visit) {
  auto remark = std::lower_bound(outline.remarks.begin(), outline.remarks.end(), where.begin,
                                 [](ByteRange r, uint32_t at) { return r.begin < at; });
  for (uint32_t at = where.begin; at < where.end; ++remark) {
    const bool last = remark == outline.remarks.end() || remark->begin >= where.end;
    const uint32_t stop = last ? where.end : remark->begin;
    if (stop > at) visit(ByteRange{at, stop});
    if (last) break;
    at = remark->end;
  }
}

// nullopt where the text does not hold together (an unclosed bracket or string, an indentation that
// fits no block): such a file needs the parser, which bears with errors.
std::optional<Outline> outline(std::string_view text, std::string name, bool package);

}  // namespace refit::python
