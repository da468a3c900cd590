// The reason that a language's front end gives, and the plan reports under a code of its own, where
// a file of the project gives a name another meaning under a literal name.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace refit {

inline constexpr std::string_view kReplacedEnd = " leaves that file out";

inline std::string replaced_reason(std::string_view file, size_t line, std::string_view what) {
  return fmt::format("{}:{} gives {} another meaning; --exclude {}{}", file, line, what, file,
                     kReplacedEnd);
}

// Whether a reason is such a one.
inline bool is_replaced_reason(std::string_view why) { return why.ends_with(kReplacedEnd); }

}  // namespace refit
