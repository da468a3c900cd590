// The axes that a pattern in einops' notation names: "b s (n d) -> b n s d".
#pragma once

#include <cstdint>
#include <map>
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

using AxisLengths = std::map<std::string, int64_t, std::less<>>;

// One spelling for patterns that do nothing but split the last axis into two, one of them of length
// two ("... (a 2) -> ... a 2"), or join the last two ("... a b -> ... (a b)"); "" for others, also
// where the axes are joined and the other ones are named, since their number shows a rank.
std::string last_axis_pattern(std::string_view text, const AxisLengths& lengths);

// Whether two equations of axes ("bhid,bhjd->bhij"), or two patterns, say the same: letters, or
// names of axes, and blanks do not matter.
bool same_equation(std::string_view a, std::string_view b);

// The pattern with axes `first` and `second` of one side swapped, blanks kept as they are;
// "" where the text is no pattern or has no such axes.
std::string swap_axes(std::string_view text, bool of_result, int first, int second);

}  // namespace refit
