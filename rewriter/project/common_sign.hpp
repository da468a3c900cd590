// Signs of arithmetic, which nearly every text holds: a pass over a whole file (Literals::scan)
// does not look for them, what asks of its parts (Literals::add_seen) does.
#pragma once

#include <string_view>

namespace refit {

inline bool common_sign(std::string_view literal) {
  return literal.size() == 1 && std::string_view("+-*/").find(literal[0]) != std::string_view::npos;
}

}  // namespace refit
