#include "rewriter/lsp/sites.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/file_uri.hpp"
#include "rewriter/text/printable.hpp"

namespace refit::lsp {
namespace {

enum Severity { error = 1, warning = 2, information = 3, hint = 4 };
constexpr int kUnnecessary = 1;  // a tag

constexpr std::size_t kLongestShown = 120;  // bytes of a new text in a message

// A text in one line, cut where it is long.
std::string short_text(std::string_view text) {
  std::string line;
  for (const char c : printable(text)) {
    if (c != ' ' || !line.ends_with(' ')) line += c;
  }
  if (line.size() <= kLongestShown) return line;
  std::size_t end = kLongestShown;
  while ((static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) --end;  // inside a character
  return line.substr(0, end) + "…";
}

std::string message_of(const Finding& finding) {
  if (finding.outcome == Outcome::refused) {
    std::string text = fmt::format("[{}] {}", finding.rule, printable(finding.message));
    if (!finding.clause.empty()) text += fmt::format(" ({})", printable(finding.clause));
    return text;
  }
  if (finding.through) {
    return fmt::format("its definition at {} can be rewritten", printable(*finding.through));
  }
  std::string text = fmt::format("can become {}", short_text(finding.after));
  if (finding.assumes.empty()) return text;
  return fmt::format("{} (assumes {})", text,
                     printable(fmt::format("{}", fmt::join(finding.assumes, "; "))));
}

// The site's own text where it stands in the document as the finding has it; else the rest of its
// first line.
Json range_of(const Finding& finding, const Document& document) {
  const std::size_t begin = document.offset(finding.line, finding.column);
  const std::string_view rest = std::string_view(document.text()).substr(begin);
  if (!finding.before.empty() && rest.starts_with(finding.before)) {
    return document.range(begin, begin + finding.before.size());
  }
  const std::size_t line = finding.line - 1;
  return document.range(begin, document.line_begin(line) + document.line(line).size());
}

Json line_range(uint32_t line, const Document& document) {
  const std::size_t begin = document.line_begin(line - 1);
  return document.range(begin, begin + document.line(line - 1).size());
}

Json diagnostic(Json range, Severity severity, const std::string& message) {
  return {{"range", std::move(range)},
          {"severity", static_cast<int>(severity)},
          {"source", "refit"},
          {"message", message}};
}

Json diagnostic_of(const Finding& finding, const Analysis& analysis, const Document& document) {
  const bool refused = finding.outcome == Outcome::refused;
  Json out =
      diagnostic(range_of(finding, document), refused ? hint : information, message_of(finding));
  out["code"] = refused ? finding.code : finding.rule;
  std::error_code none;
  const std::string page = analysis.pages + "/" + finding.rule + ".md";
  if (!analysis.pages.empty() && std::filesystem::exists(page, none)) {
    out["codeDescription"] = {{"href", file_uri(page)}};
  }
  out["data"] = {{"rule", finding.rule}, {"fingerprint", fingerprint(finding)}};
  return out;
}

}  // namespace

std::vector<const Finding*> sites_on(const Analysis& analysis, const std::string& file,
                                     uint32_t first, uint32_t last) {
  std::vector<const Finding*> found;
  for (const Finding& finding : analysis.result.findings) {
    const bool here = finding.file == file && finding.line <= last && finding.end_line >= first;
    if (here) found.push_back(&finding);
  }
  return found;
}

Json diagnostics(const Analysis& analysis, const std::string& file, const Document& document) {
  Json all = Json::array();
  for (const Finding& finding : analysis.result.findings) {
    if (finding.file != file || finding.code == "ignored") continue;
    all.push_back(diagnostic_of(finding, analysis, document));
  }
  for (const IdleRemark& remark : analysis.result.idle) {
    if (remark.file != file) continue;
    Json unused = diagnostic(line_range(remark.line, document), information,
                             "no site needs the comment `refit: ignore`; remove it");
    unused["code"] = "unused-ignore";
    unused["tags"] = {kUnnecessary};
    all.push_back(std::move(unused));
  }
  for (const Problem& problem : analysis.result.problems) {
    // Who writes a text sees himself that it does not parse yet.
    if (problem.file != file || problem.kind == FileProblem::syntax) continue;
    all.push_back(diagnostic(line_range(1, document), warning, printable(problem.message)));
  }
  return all;
}

Json rule_diagnostics(const std::vector<RuleRemark>& remarks, const Document& document) {
  Json all = Json::array();
  for (const RuleRemark& remark : remarks) {
    const std::size_t line = remark.line - 1;
    const std::size_t begin = document.offset(remark.line, remark.column);
    const std::size_t end = document.line_begin(line) + document.line(line).size();
    all.push_back(diagnostic(document.range(begin, std::max(begin, end)),
                             remark.doubt ? information : error, printable(remark.message)));
  }
  return all;
}

Json hover(const Analysis& analysis, const std::string& file, uint32_t line, bool markdown) {
  if (sites_on(analysis, file, line, line).empty()) return nullptr;
  std::string text = explanation_text(analysis.result, file, line);
  if (!markdown) return {{"contents", {{"kind", "plaintext"}, {"value", text}}}};
  // Longer than any that the text holds.
  std::size_t ticks = 3, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    ticks = std::max(ticks, run + 1);
  }
  const std::string fence(ticks, '`');
  return {{"contents",
           {{"kind", "markdown"}, {"value", fmt::format("{}text\n{}{}", fence, text, fence)}}}};
}

}  // namespace refit::lsp
