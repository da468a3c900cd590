// Questions and answers on sites. Entry point: ask_sites.
#include "rewriter/cli/interactive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

constexpr char kHelp[] =
    "y  rewrite this site\n"
    "n  leave it\n"
    "a  rewrite it and all further sites of its rule\n"
    "s  leave it and all further sites of its rule\n"
    "w  say why it can be rewritten and what that assumes\n"
    "q  leave it and all further sites\n";

// Each line of a text behind a sign.
std::string signed_lines(const std::string& text, char sign, bool colour) {
  std::string out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find('\n', from), text.size());
    const std::string line = printable(text.substr(from, to - from));
    out += colour ? fmt::format("\x1b[{}m{} {}\x1b[m\n", sign == '-' ? 31 : 32, sign, line)
                  : fmt::format("{} {}\n", sign, line);
    from = to + 1;
  }
  return out;
}

std::string question(const Finding& finding, std::size_t number, std::size_t total, bool colour) {
  std::string text =
      fmt::format("\n{}:{}:{}: [{}] {} of {}\n", printable(finding.file, Breaks::escaped),
                  finding.line, finding.column, finding.rule, number, total);
  text += signed_lines(finding.before, '-', colour) + signed_lines(finding.after, '+', colour);
  for (const std::string& assumption : finding.assumes) {
    text += fmt::format("  assumes: {}\n", printable(assumption));
  }
  return text;
}

// 'y', 'n', 'a', 's' or 'q'.
char answer(const RunResult& result, const Finding& finding, Console& console) {
  while (true) {
    console.error("rewrite it? [y,n,a,s,w,q,?] ");
    const std::optional<std::string> line = console.read_line();
    if (!line) return 'q';
    if (*line == "w") {
      console.error(explanation_text(result, finding.file, finding.line));
    } else if (line->size() == 1 && std::string_view("ynasq").find(*line) != std::string::npos) {
      return line->front();
    } else {
      console.error(kHelp);
    }
  }
}

}  // namespace

std::set<std::string> ask_sites(const RunResult& result, std::set<std::string> among,
                                Console& console, bool colour) {
  std::vector<const Finding*> asked;
  std::set<std::string> seen;
  for (const Finding& finding : result.findings) {
    if (finding.outcome != Outcome::rewritten || finding.through) continue;
    const std::string print = fingerprint(finding);
    if (among.contains(print) && seen.insert(print).second) asked.push_back(&finding);
  }
  std::map<std::string, bool> by_rule;  // all further sites of a rule
  bool over = false;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Finding& finding = *asked[i];
    bool take = false;
    if (const auto known = by_rule.find(finding.rule); known != by_rule.end()) {
      take = known->second;
    } else if (!over) {
      console.error(question(finding, i + 1, asked.size(), colour));
      const char said = answer(result, finding, console);
      take = said == 'y' || said == 'a';
      if (said == 'a' || said == 's') by_rule.emplace(finding.rule, take);
      over = said == 'q';
    }
    if (!take) among.erase(fingerprint(finding));
  }
  return among;
}

}  // namespace refit
