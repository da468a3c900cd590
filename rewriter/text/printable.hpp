// Text from outside as it may be shown to a person. Entry point: printable.
#pragma once

#include <string>
#include <string_view>

namespace refit {

// What becomes of line ends and tabs in text from outside.
enum class Breaks {
  spaces,   // they become spaces: in quotations of code
  escaped,  // in names of files
  kept,     // line ends only: in messages of several lines
};

// Text from outside as it may be shown on a terminal. What could move the cursor, or hide or
// reorder what follows, becomes \xNN or \u{NNNN}: control and formatting characters, and bytes that
// are no UTF-8.
std::string printable(std::string_view text, Breaks breaks = Breaks::spaces);

}  // namespace refit
