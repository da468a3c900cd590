// See axis_pattern.hpp.
#include "rewriter/graph/axis_pattern.hpp"

#include <cctype>

namespace refit {

namespace {

using Span = std::pair<size_t, size_t>;  // begin, end in the text

// The axes of one side of the arrow; nullopt where the parentheses do not close or an axis is
// `...`.
std::optional<std::vector<Span>> axes_between(std::string_view text, size_t begin, size_t end) {
  std::vector<Span> out;
  for (size_t at = begin; at < end;) {
    if (isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t stop = at;
    if (text[at] == '(') {
      stop = text.find(')', at);
      if (stop == std::string_view::npos || stop >= end) return std::nullopt;
      ++stop;
    } else {
      while (stop < end && !isspace(static_cast<unsigned char>(text[stop])) && text[stop] != '(') {
        ++stop;
      }
    }
    if (text.substr(at, stop - at).find("...") != std::string_view::npos) return std::nullopt;
    out.emplace_back(at, stop);
    at = stop;
  }
  return out;
}

std::optional<std::pair<std::vector<Span>, std::vector<Span>>> sides(std::string_view text) {
  size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  auto from = axes_between(text, 0, arrow);
  auto to = axes_between(text, arrow + 2, text.size());
  if (!from || !to) return std::nullopt;
  return std::pair{*from, *to};
}

}  // namespace

std::optional<AxisPattern> parse_axis_pattern(std::string_view text) {
  auto both = sides(text);
  if (!both) return std::nullopt;
  AxisPattern out;
  for (auto [begin, end] : both->first) out.from.emplace_back(text.substr(begin, end - begin));
  for (auto [begin, end] : both->second) out.to.emplace_back(text.substr(begin, end - begin));
  return out;
}

std::string exchange_axes(std::string_view text, bool of_result, int first, int second) {
  auto both = sides(text);
  if (!both) return "";
  const auto& axes = of_result ? both->second : both->first;
  if (first > second) std::swap(first, second);
  if (first < 0 || static_cast<size_t>(second) >= axes.size() || first == second) return "";
  auto [a_begin, a_end] = axes[static_cast<size_t>(first)];
  auto [b_begin, b_end] = axes[static_cast<size_t>(second)];
  std::string out(text.substr(0, a_begin));
  out += text.substr(b_begin, b_end - b_begin);
  out += text.substr(a_end, b_begin - a_end);
  out += text.substr(a_begin, a_end - a_begin);
  out += text.substr(b_end);
  return out;
}

}  // namespace refit
