// Quotes of strings around an expression, which the text that replaces it must not end.
#pragma once

#include <string>

#include "rewriter/python/lower/unit.hpp"

namespace refit::python {

// The strings that an expression stands in, `f"{f'{…}'}"`.
struct Quoted {
  std::string quotes;  // which end one of them: a triple string's may stand in it
  ByteRange range;     // of the innermost; empty where there is none
  bool shown = false;  // `f"{…=}"`: the text of the expression is part of the string
};
Quoted quoted_around(const PythonUnit& unit, TSNode expression);
// Gives an argument the quotes that the strings around it leave: before Python 3.12 theirs end them
// wherever they stand, as a line's end does. What is copied from the innermost one is right as it
// is. False where there are none to take.
bool take_quotes(const Quoted& quoted, NewArgument& argument);

}  // namespace refit::python
