// See axis_pattern.hpp.
#include "rewriter/graph/axis_pattern.hpp"

#include <cctype>
#include <set>

namespace refit {

namespace {

using Span = std::pair<size_t, size_t>;  // begin, end in the text

constexpr std::string_view kEllipsis = "...";

// The axes of one side of the arrow; nullopt where the parentheses do not close.
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
    out.emplace_back(at, stop);
    at = stop;
  }
  return out;
}

using Sides = std::pair<std::vector<Span>, std::vector<Span>>;

std::optional<Sides> sides_with_ellipsis(std::string_view text) {
  size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  auto from = axes_between(text, 0, arrow);
  auto to = axes_between(text, arrow + 2, text.size());
  if (!from || !to) return std::nullopt;
  return std::pair{*from, *to};
}

// nullopt also where an axis is `...`.
std::optional<Sides> sides(std::string_view text) {
  return text.find(kEllipsis) == std::string_view::npos ? sides_with_ellipsis(text) : std::nullopt;
}

// The two axes of `(a b)`.
std::optional<std::pair<std::string, std::string>> two_axes(std::string_view group) {
  if (group.size() < 2 || group.front() != '(') return std::nullopt;
  auto inner = axes_between(group, 1, group.size() - 1);
  if (!inner || inner->size() != 2) return std::nullopt;
  auto part = [&](size_t i) {
    auto [begin, end] = (*inner)[i];
    return std::string(group.substr(begin, end - begin));
  };
  return std::pair{part(0), part(1)};
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

std::string last_axis_pattern(std::string_view text, const AxisLengths& lengths) {
  auto both = sides_with_ellipsis(text);
  if (!both || both->first.empty() || both->second.empty()) return "";
  bool splits = both->first.size() + 1 == both->second.size();
  if (!splits && both->second.size() + 1 != both->first.size()) return "";
  const auto& joined = splits ? both->first : both->second;
  const auto& apart = splits ? both->second : both->first;
  auto written = [&](Span span) { return text.substr(span.first, span.second - span.first); };
  size_t before = joined.size() - 1;
  for (size_t i = 0; i < before; ++i) {
    if (written(joined[i]) != written(apart[i])) return "";
  }
  auto pair = two_axes(written(joined[before]));
  if (!pair || pair->first != written(apart[before]) ||
      pair->second != written(apart[before + 1])) {
    return "";
  }
  bool ellipsis = text.find(kEllipsis) != std::string_view::npos;
  std::string a = "a", b = "b";
  for (auto [name, known] : {std::pair{&pair->first, &a}, std::pair{&pair->second, &b}}) {
    auto length = lengths.find(*name);
    if (length != lengths.end()) *known = std::to_string(length->second);
    if (isdigit(static_cast<unsigned char>(name->front()))) *known = *name;
  }
  // A size of two tells pairs and halves; other axes named one by one show a rank.
  if (splits ? a != "2" && b != "2" : !ellipsis) return "";
  if (!splits) return "... a b -> ... (a b)";
  return "... (" + a + " " + b + ") -> ... " + a + " " + b;
}

namespace {

bool in_word(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::set<std::string_view> words_of(std::string_view text) {
  std::set<std::string_view> out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t begin = at;
    while (at < text.size() && in_word(text[at])) ++at;
    if (at > begin) out.insert(text.substr(begin, at - begin));
  }
  return out;
}

// Whether a text regroups the axes of one tensor, by words that stand on both of its sides. In an
// equation of several, and in `ii->i`, each letter is an axis.
bool regroups(std::string_view text) {
  const size_t arrow = text.find("->");
  return text.find(',') == std::string_view::npos && arrow != std::string_view::npos &&
         words_of(text.substr(0, arrow)) == words_of(text.substr(arrow + 2));
}

}  // namespace

bool same_equation(std::string_view a, std::string_view b) {
  std::map<std::string_view, std::string_view> forth, back;
  const bool letters = !regroups(a) || !regroups(b);
  auto letter = [](char c) { return isalpha(static_cast<unsigned char>(c)) != 0; };
  auto next = [&](std::string_view text, size_t& at) {
    while (at < text.size() && text[at] == ' ') ++at;
    const size_t begin = at;
    while (!letters && at < text.size() && in_word(text[at])) ++at;
    if (at == begin && at < text.size()) ++at;
    return text.substr(begin, at - begin);
  };
  if (a.find("->") == std::string_view::npos) return false;
  for (size_t i = 0, j = 0;;) {
    const std::string_view x = next(a, i), y = next(b, j);
    if (x.empty() || y.empty()) return x.empty() && y.empty();
    if (letter(x[0]) != letter(y[0]) || (!letter(x[0]) && x != y)) return false;
    if (!letter(x[0])) continue;
    if (forth.emplace(x, y).first->second != y || back.emplace(y, x).first->second != x)
      return false;
  }
}

std::string swap_axes(std::string_view text, bool of_result, int first, int second) {
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
