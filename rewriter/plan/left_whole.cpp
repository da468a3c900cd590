// What is left as it is: files that export what they compute, those that do not parse, and code
// that is not compiled where the file is read. Entry points: Run::refuse_exported, leave_broken,
// skipped_sites.
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

// Of a text inside others the condition says all that is asked.
std::vector<Finding> Run::skipped_sites(size_t i, const Unit& unit, const UnitPlan& plan) {
  std::vector<Finding> out;
  const auto worth = [&](const Skipped& skipped) {
    const std::string_view text = unit.source().slice(skipped.range);
    return prefilter_.touched(prefilter_.scan(text, false, nullptr), states_[i].enabled);
  };
  if (std::ranges::none_of(unit.skipped, worth)) return out;
  for (const auto& other : frontend(i)->alternatives(unit)) {
    UnitPlan found = plan_unit(i, *other);
    for (PlannedSite& site : found.sites) {
      const Skipped* around = nullptr;
      for (const Skipped& skipped : unit.skipped) {
        if (skipped.range.contains(site.range)) around = &skipped;
      }
      Finding& finding = site.finding;
      const auto same = [&](const Finding& f) {
        return f.rule == finding.rule && f.line == finding.line && f.column == finding.column;
      };
      const bool told = std::ranges::any_of(plan.sites, same, &PlannedSite::finding) ||
                        std::ranges::any_of(out, same);
      if (around == nullptr || told) continue;
      finding.outcome = Outcome::refused;
      if (finding.code != kNotChosen) finding.code = "inactive-code";
      finding.message = fmt::format(
          "it is compiled under `{}` alone, which does not hold here; say by --define NAME what "
          "you "
          "build with",
          around->condition);
      finding.assumes.clear();
      finding.clause.clear();
      finding.after.clear();
      finding.absorbed.reset();
      finding.layout_kept.clear();
      finding.transposes_kept = finding.transposes_absorbed = 0;
      finding.file = input_.files[i].relative;
      out.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace refit
