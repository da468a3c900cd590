#include "rewriter/plan/remarks.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

namespace refit {
namespace {

constexpr std::string_view kWord = "refit: ignore", kFile = "-file", kBlank = " \t\f\r";

// The rules in brackets at the beginning of a text; nullopt where something else than a list or
// the end of a word is there, so that it is no remark.
std::optional<std::vector<std::string>> rules_at(std::string_view text) {
  std::vector<std::string> rules;
  if (text.empty() || kBlank.find(text.front()) != std::string_view::npos || text.front() == '\n' ||
      text.front() == '*') {
    return rules;
  }
  const std::size_t close = text.find(']');
  if (text.front() != '[' || close == std::string_view::npos) return std::nullopt;
  std::string_view list = text.substr(1, close - 1);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view rule = list.substr(0, comma);
    rule.remove_prefix(std::min(rule.find_first_not_of(kBlank), rule.size()));
    rule = rule.substr(0, rule.find_last_not_of(kBlank) + 1);
    if (!rule.empty()) rules.emplace_back(rule);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  if (rules.empty()) return std::nullopt;
  return rules;
}

std::string_view line_of(const Source& source, uint32_t line) {
  const uint32_t begin = source.line_begin(line);
  const std::string_view rest = source.text().substr(begin);
  return rest.substr(0, rest.find('\n'));
}

// Whether a line has code, and no comment alone.
bool holds_code(std::string_view line) {
  const std::size_t first = line.find_first_not_of(kBlank);
  return first != std::string_view::npos && line[first] != '#' && line.substr(first, 2) != "//" &&
         line.substr(first, 2) != "/*";
}

void set_lines(const Unit& unit, Remark& remark) {
  const Source& source = unit.source();
  uint32_t line = remark.line;
  while (line < source.line_count() && !holds_code(line_of(source, line))) ++line;
  remark.first = remark.last = std::min(line, source.line_count());
  for (const Function& function : unit.functions) {
    if (function.name.empty() || source.position(function.range.begin).line != line) continue;
    remark.last = std::max(remark.last, source.position(function.range.end).line);
  }
}

}  // namespace

bool Remark::covers(const Finding& finding) const {
  if (finding.end_line < first || finding.line > last) return false;
  return rules.empty() || std::ranges::any_of(rules, [&](const std::string& rule) {
           return fnmatch(rule.c_str(), finding.rule.c_str(), 0) == 0;
         });
}

std::vector<Remark> remarks_of(const Unit& unit, const Frontend& frontend) {
  std::vector<Remark> remarks;
  const std::string_view text = unit.source().text();
  for (std::size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + kWord.size())) {
    const auto begin = static_cast<uint32_t>(at);
    const auto end = static_cast<uint32_t>(at + kWord.size());
    if (!frontend.in_comment(unit, {begin, end})) continue;
    std::string_view rest = text.substr(end);
    const bool whole = rest.starts_with(kFile);
    if (whole) rest.remove_prefix(kFile.size());
    auto rules = rules_at(rest);
    if (!rules) continue;
    Remark remark;
    remark.line = unit.source().position(begin).line;
    remark.rules = std::move(*rules);
    if (whole) {
      remark.first = 1;
      remark.last = std::numeric_limits<uint32_t>::max();
    } else {
      set_lines(unit, remark);
    }
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace refit
