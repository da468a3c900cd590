// The parts of a file that words are seen in where functions are chosen: its functions, and what it
// gives to names. Entry point: parts_of.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rewriter/python/syntax/syntax.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

struct Part {
  enum class Kind : uint8_t {
    module,     // its own statements and its classes', without functions and imports
    function,   // of the module
    method,     // of a class
    value,      // what a name of the module, a parameter or an import stands for
    attribute,  // what an attribute is given, or a name of a class
    superclasses
  };
  Kind kind = Kind::value;
  std::string_view name;
  ByteRange range;        // its text; of a function with its decorators
  ByteRange definition;   // of a function, without its decorators; of the module kOwnStatements
  ByteRange scope;        // where its name means it; empty: in the whole file
  size_t statements = 0;  // of a function's own block
  // Of a function: whether it gives one value on every way out, as far as its text shows.
  bool gives_one = false;

  bool is_function() const { return kind == Kind::function || kind == Kind::method; }
  // Whether it becomes a graph where it is wanted.
  bool is_lowered() const { return is_function() || kind == Kind::module; }
};

struct Parts {
  std::vector<Part> parts;         // in the order in which they begin, the module first
  std::vector<ByteRange> own;      // the texts of the module's own statements, ascending
  std::vector<ByteRange> remarks;  // strings that are statements, ascending: text about the code
};
Parts parts_of(TSNode module, std::string_view text);

}  // namespace refit::python
