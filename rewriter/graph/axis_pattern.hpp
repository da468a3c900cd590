// The axes that a pattern in einops' notation names: "b s (n d) -> b n s d".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

struct AxisPattern {
  std::vector<std::string> from, to;  // one item an axis: "b", "(n d)", "1"
};

// nullopt where it is none, or where an ellipsis hides how many axes there are.
std::optional<AxisPattern> parse_axis_pattern(std::string_view text);

// The pattern with axes `first` and `second` of one side exchanged, blanks kept as they are;
// "" where the text is no pattern or has no such axes.
std::string exchange_axes(std::string_view text, bool of_result, int first, int second);

}  // namespace refit
