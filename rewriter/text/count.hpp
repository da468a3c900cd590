// A number with the name of what is counted. Entry point: count_of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace refit {

// "1 file", "3 files".
inline std::string count_of(uint64_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

}  // namespace refit
