// Writing the arguments of a new call out. Entry points: fitted_list, composed_list.
#pragma once

#include <string>
#include <vector>

#include "rewriter/cpp/unit.hpp"

namespace refit::cpp {

struct ListPlace {
  const CppUnit& unit;
  const Operation& callee;  // whose parameters order the arguments; those with defaults are options
  ByteRange root;           // what the call takes the place of
  std::string behind;       // the text that follows the list in its expression
  size_t column;            // of the opening parenthesis
};

// `(a, b, {.c = d})` on one line; else with the options on the next; else all on the next, or one a
// line. An error where the arguments do not fit the signature.
Expected<std::string> fitted_list(const ListPlace& place,
                                  const std::vector<NewArgument>& arguments);

// The same with what stands in front of each argument given (blanks, line ends and comments) and
// what stands behind it (blanks and a `//`, or nothing).
Expected<std::string> composed_list(const ListPlace& place,
                                    const std::vector<NewArgument>& arguments,
                                    const std::vector<std::string>& leads,
                                    const std::vector<std::string>& tails);

}  // namespace refit::cpp
