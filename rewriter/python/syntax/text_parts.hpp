// Lines, indentation, comments and words of a Python text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"

namespace refit::python {

// Nothing but white space and line continuations.
bool blank(std::string_view text);
// Offsets of the line that holds `at`: its first byte, and one past its line ending.
ByteRange line_of(std::string_view text, uint32_t at);
// The white space that begins the line of `at`.
std::string_view indentation(std::string_view text, uint32_t at);
// Whether no line ends between two places, the second not before the first.
inline bool one_line(std::string_view text, uint32_t from, uint32_t to) {
  return text.substr(from, to - from).find('\n') == std::string_view::npos;
}
// Whether only white space stands before `at` in its line.
bool begins_line(std::string_view text, uint32_t at);
// Comments inside a range, in order, each without its line ending.
std::vector<std::string> comments_in(const Tree& tree, std::string_view text, ByteRange range);
// The width that the file itself keeps to, within reason.
size_t line_limit(std::string_view text);
// A comment for a tool about the statement it stands beside; it goes with the statement.
bool pragma(std::string_view comment);
// The words of a text: all, or those that may read a name, which one behind a dot (another object's
// name) and a keyword's whole string (`mode="torch"`) do not.
using Words = std::unordered_set<std::string_view>;
enum class WordsOf { all, names_read };
void add_words(std::string_view text, WordsOf which, Words& out);
// The identifiers below a node that are read by name: no attribute names, no keywords, no targets
// of assignments.
struct NameRead {
  std::string_view name;
  ByteRange range;
};
// Only in nodes that hold one of some places, where `places` are given.
std::vector<NameRead> names_read(TSNode root, std::string_view source,
                                 const std::vector<uint32_t>* places = nullptr);
// Whether one of some places, ascending, lies in a range.
bool holds_place(ByteRange range, const std::vector<uint32_t>& places);

}  // namespace refit::python
