// Calls of functions that no file of the project defines, which only their names tell of.
#pragma once

#include <cstdint>

#include "rewriter/graph/graph.hpp"

namespace refit {

// ProjectCall::local of such a call.
inline constexpr uint32_t kOutside = kNone - 1;

}  // namespace refit
