// The report for a person. Entry points: findings_text, problems_text, summary_text.
#include "rewriter/report/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "rewriter/report/summary.hpp"
#include "rewriter/text/count.hpp"

namespace refit {
namespace {

constexpr std::string_view kBold = "1", kRed = "31", kGreen = "32", kYellow = "33";

std::string paint(std::string_view text, std::string_view colour, bool on) {
  return on ? fmt::format("\x1b[{}m{}\x1b[m", colour, text) : std::string(text);
}

std::string place(const Finding& finding) {
  return fmt::format("{}:{}:{}", printable(finding.file, Breaks::escaped), finding.line,
                     finding.column);
}

// Sites of one rule in one definition that are refused for the same reason are one line.
using Reason = std::array<std::string_view, 5>;

Reason reason_of(const Finding& finding) {
  return {finding.file, finding.function, finding.rule, finding.code, finding.message};
}

// `lines`: of all sites with this reason, the finding's own first.
std::string refused_line(const Finding& finding, const std::vector<uint32_t>& lines, bool colour) {
  std::string text =
      fmt::format("{}: {} [{}] {}: {}", place(finding), paint("refused", kYellow, colour),
                  finding.rule, finding.code, printable(finding.message));
  if (!finding.clause.empty()) text += printable(fmt::format(" ({})", finding.clause));
  if (lines.size() > 1) {
    text +=
        fmt::format("; {} more in {}, at line{} {}", lines.size() - 1,
                    finding.function.empty() ? "this file" : printable(finding.function),
                    lines.size() == 2 ? "" : "s", fmt::join(lines.begin() + 1, lines.end(), ", "));
  }
  return text + "\n";
}

std::string rewritten_line(const Finding& finding, bool colour) {
  std::string line =
      fmt::format("{}: {} [{}] {}", place(finding), paint("rewritten", kGreen, colour),
                  finding.rule, printable(finding.callee));
  if (!finding.assumes.empty()) {
    line += fmt::format(" (assumes {})",
                        printable(fmt::format("{}", fmt::join(finding.assumes, "; "))));
  }
  if (!finding.layout_kept.empty()) {
    line += fmt::format(" (layout kept: {})", printable(finding.layout_kept));
  }
  return line + "\n";
}

// Rows of cells: the first and the last column to the left, those between to the right.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line = fmt::format("{:<{}}", row.front(), widths.front());
    for (std::size_t i = 1; i + 1 < row.size(); ++i) {
      line += fmt::format("  {:>{}}", row[i], widths[i]);
    }
    if (!row.back().empty()) line += "  " + row.back();
    text += line + "\n";
  }
  return text;
}

// "rank-unknown 2, splatted-arguments 1": the most frequent first.
std::string by_code(const RuleSummary& rule) {
  std::vector<std::pair<std::string, uint64_t>> codes(rule.refused_by_code.begin(),
                                                      rule.refused_by_code.end());
  std::ranges::sort(codes, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<std::string> words;
  for (const auto& [code, count] : codes) words.push_back(fmt::format("{} {}", code, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

std::string findings_text(const RunResult& result, const FindingsStyle& style) {
  std::string text;
  std::map<std::pair<std::string, std::string>, uint64_t> through;  // by definition and rule
  std::map<Reason, std::vector<uint32_t>> refused;
  for (const Finding& finding : result.findings) {
    if (finding.outcome != Outcome::refused || finding.function.empty()) continue;
    refused[reason_of(finding)].push_back(finding.line);
  }
  for (const Finding& finding : result.findings) {
    if (finding.outcome == Outcome::refused) {
      const auto found = refused.find(reason_of(finding));
      const bool known = found != refused.end();
      if (known && found->second.empty()) continue;  // it stands with the first
      const std::vector<uint32_t> lines =
          known ? std::exchange(found->second, {}) : std::vector<uint32_t>();
      text += refused_line(finding, lines, style.colour);
    } else if (finding.through) {
      ++through[{*finding.through, finding.rule}];
    } else if (style.rewritten || !finding.assumes.empty()) {
      text += rewritten_line(finding, style.colour);
    }
  }
  for (const auto& [definition, count] : through) {
    text += fmt::format(
        "{}: {} [{}] {} through this definition\n", printable(definition.first, Breaks::escaped),
        paint("rewritten", kGreen, style.colour), definition.second, count_of(count, "call"));
  }
  return text;
}

std::string explanation_text(const RunResult& result, std::string_view file, uint32_t line,
                             std::string_view none) {
  std::string text;
  const auto say = [&](std::string_view what, std::string_view how) {
    if (!how.empty()) text += fmt::format("  {}: {}\n", what, printable(how));
  };
  for (const Finding& finding : result.findings) {
    if (finding.file != file || line < finding.line || line > finding.end_line) continue;
    const bool refused = finding.outcome == Outcome::refused;
    text += fmt::format("{}: {} [{}] {}\n", place(finding), refused ? "refused" : "rewritten",
                        finding.rule, refused ? finding.code : printable(finding.callee));
    say("why", finding.message);
    say("clause", finding.clause);
    if (finding.through) say("through", *finding.through);
    for (const std::string& assumption : finding.assumes) say("assumes", assumption);
    if (finding.absorbed.value_or(false)) say("layout", "the transposes around it are absorbed");
    say("layout kept", finding.layout_kept);
    if (!refused && !finding.through) say("becomes", finding.after);
  }
  if (!text.empty()) return text;
  text = fmt::format("{}:{}: {}\n", printable(file, Breaks::escaped), line, none);
  for (const NearMiss& near : result.near) {
    text += fmt::format("  nearest [{}] {} of {} parts, line {}: {}\n", near.rule, near.agreeing,
                        near.parts, near.line, printable(near.message));
  }
  return text;
}

std::string problems_text(const RunResult& result, bool colour) {
  std::string text;
  for (const Problem& problem : result.problems) {
    text += fmt::format("{} {}: {}\n", paint("error:", kRed, colour),
                        printable(problem.file, Breaks::escaped), printable(problem.message));
  }
  return text;
}

std::string notes_text(const RunResult& result) {
  std::string text;
  for (const std::string& note : result.notes)
    text += fmt::format("note: {}\n", printable(note, Breaks::escaped));
  return text;
}

std::string summary_text(const RunResult& result, bool colour) {
  const std::vector<RuleSummary> rules = summarise(result.findings);
  if (rules.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"rule", "found", "rewritten", "assuming", "through", "refused", "by code"}};
  const auto add = [&](const std::string& name, const RuleSummary& rule) {
    rows.push_back({name, std::to_string(rule.found), std::to_string(rule.rewritten),
                    std::to_string(rule.assumed), std::to_string(rule.through),
                    std::to_string(rule.refused), by_code(rule)});
  };
  for (const RuleSummary& rule : rules) add(rule.rule, rule);
  const RuleSummary sum = total(rules);
  if (rules.size() > 1) add("total", sum);
  std::string text = table(rows);
  text = paint(text.substr(0, text.find('\n')), kBold, colour) + text.substr(text.find('\n'));
  if (sum.transposes_absorbed > 0) {
    text += fmt::format("{} absorbed\n", count_of(sum.transposes_absorbed, "transpose"));
  }
  return text;
}

}  // namespace refit
