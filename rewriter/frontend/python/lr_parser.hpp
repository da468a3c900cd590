// A parser over the tables of tree-sitter's Python grammar. It makes the tree that tree-sitter's
// own makes of a text without mistakes, several times as fast: it keeps no text's history for later
// edits, and follows more than one reading only where the grammar asks for it. Entry point:
// parse_clean.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace refit::python {

// A node of a syntax tree, as it lies in an array of all of them in source order.
struct NodeData {
  uint32_t begin = 0, end = 0;  // bytes of the source
  uint32_t above = 0;           // how many places before it its parent lies; 0: it is the root
  uint32_t extent = 1;          // how many places it takes with all that is inside
  uint16_t kind = 0;            // the grammar's public number
  uint8_t field = 0;            // of its parent, which it is
  bool named : 1 = false;
  bool missing : 1 = false;
  bool has_error : 1 = false;  // in it or inside it
};

// A text may be folded: in place of some ranges its reader sees a `0`. There stand the byte kFold
// and, in four bytes, how many bytes the range has.
inline constexpr char kFold = '\x01';
enum class Folded : bool { no, yes };

// Nothing where the text does not parse, or where this parser cannot tell which of several readings
// tree-sitter would take.
std::optional<std::vector<NodeData>> parse_clean(std::string_view text, Folded folded);

// The first code point of UTF-8 text, or of a fold; returns how many bytes it takes.
uint32_t decode(const char* text, size_t length, Folded folded, int32_t* code);

}  // namespace refit::python
