// Writing workflow commands. Entry point: to_github.
#include "rewriter/report/github.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace refit {
namespace {

// Text as a command's message, or as the value of one of its properties, which end at these.
std::string escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    const bool ends = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    if (ends) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string to_github(const RunResult& result) {
  std::string text;
  for (const Finding& finding : result.findings) {
    if (finding.through) continue;
    const bool refused = finding.outcome == Outcome::refused;
    std::string message = refused ? finding.message : "refit migrates this to " + finding.after;
    if (!finding.assumes.empty()) {
      message += fmt::format(" (assumes {})", fmt::join(finding.assumes, "; "));
    }
    text += fmt::format("::{} file={},line={},endLine={},col={},title={}::{}\n",
                        refused ? "notice" : "warning", escaped(finding.file, true), finding.line,
                        finding.end_line, finding.column,
                        escaped(refused ? finding.rule + ", " + finding.code : finding.rule, true),
                        escaped(message, false));
  }
  for (const Problem& problem : result.problems) {
    text += fmt::format("::error file={}::{}\n", escaped(problem.file, true),
                        escaped(problem.message, false));
  }
  for (const std::string& note : result.notes) {
    text += fmt::format("::notice::{}\n", escaped(note, false));
  }
  return text;
}

}  // namespace refit
