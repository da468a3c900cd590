// Files that are left as they are: those that export what they compute, and those that do not
// parse. Entry points: Run::refuse_exported, leave_broken.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/plan/run.hpp"

namespace refit {

// A file that exports by itself is written to be traced, its patches of operators above all.
void Run::refuse_exported(const Unit& unit, UnitPlan& plan) const {
  const size_t at = prefilter_.exporter(unit.source().text());
  if (at == std::string_view::npos) return;
  for (PlannedSite& site : plan.sites) {
    if (!site.rewritten) continue;
    site.rewritten = false;
    site.finding.outcome = Outcome::refused;
    site.finding.code = "export-code";
    site.finding.message = fmt::format(
        "line {} of this file exports what it computes, and exporters do not know the runtime's "
        "operators; export in a file of its own",
        unit.source().position(static_cast<uint32_t>(at)).line);
    site.finding.assumes.clear();
  }
}

void Run::leave_broken(size_t i, const Unit& unit, UnitPlan& plan) {
  FileState& state = states_[i];
  const std::string& name = input_.files[i].relative;
  auto at = unit.source().position(unit.syntax_errors.front().begin);
  for (PlannedSite& site : plan.sites) {
    site.finding.file = name;
    site.finding.outcome = Outcome::refused;
    site.finding.code = "syntax-error";
    site.finding.message = fmt::format(
        "the file does not parse at line {}, so it is left whole; mend that and run again",
        at.line);
    state.findings.push_back(std::move(site.finding));
  }
  bool named = false;
  for (size_t r = 0; r < state.enabled.size(); ++r) {
    named = named || (state.enabled[r] && !compiled_.rules[r].callees.empty());
  }
  if (!plan.sites.empty() || named) {
    state.problems.push_back({FileProblem::syntax, name,
                              fmt::format("it does not parse as {} at line {}, column {}; it "
                                          "stays as it is",
                                          state.language->name, at.line, at.column)});
  }
}

}  // namespace refit
