// What a run says to a person: findings, problems, notes, the summary by rule. Entry points: the
// functions below, each of which gives whole lines.
#pragma once

#include <string>
#include <string_view>

#include "rewriter/plan/finding.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {

struct FindingsStyle {
  bool colour = false;
  // Also list sites rewritten without assumptions; a diff already shows those.
  bool rewritten = false;
};

// One line a site, by place; calls rewritten through a definition are one line a definition, and so
// are sites of a definition that one rule refuses for one reason.
std::string findings_text(const RunResult& result, const FindingsStyle& style);

// What became of the sites on a line and why, or what the line comes nearest to.
// `none`: what is said first where there is no site.
std::string explanation_text(const RunResult& result, std::string_view file, uint32_t line,
                             std::string_view none = "no rule has a site here");

// One line a problem ("error: FILE: …"), one a note ("note: …").
std::string problems_text(const RunResult& result, bool colour);
std::string notes_text(const RunResult& result);

// A table with one row a rule that found anything: found, rewritten, rewritten under assumptions,
// rewritten through a definition, refused and by which codes; empty where nothing was found.
std::string summary_text(const RunResult& result, bool colour);

}  // namespace refit
