// Counting findings by rule. Entry point: summarise.
#include "rewriter/report/summary.hpp"

namespace refit {

std::vector<RuleSummary> summarise(const std::vector<Finding>& findings) {
  std::map<std::string, RuleSummary> by_rule;
  for (const Finding& finding : findings) {
    RuleSummary& rule = by_rule[finding.rule];
    ++rule.found;
    rule.transposes_absorbed += finding.transposes_absorbed;
    rule.transposes_kept += finding.transposes_kept;
    if (finding.outcome == Outcome::refused) {
      ++rule.refused;
      ++rule.refused_by_code[finding.code];
    } else if (finding.through) {
      ++rule.through;
    } else {
      ++(finding.assumes.empty() ? rule.rewritten : rule.assumed);
    }
  }
  std::vector<RuleSummary> summary;
  for (auto& [id, rule] : by_rule) {
    rule.rule = id;
    summary.push_back(std::move(rule));
  }
  return summary;
}

RuleSummary total(const std::vector<RuleSummary>& rules) {
  RuleSummary sum;
  for (const RuleSummary& rule : rules) {
    sum.found += rule.found;
    sum.rewritten += rule.rewritten;
    sum.assumed += rule.assumed;
    sum.through += rule.through;
    sum.refused += rule.refused;
    for (const auto& [code, count] : rule.refused_by_code) sum.refused_by_code[code] += count;
    sum.transposes_absorbed += rule.transposes_absorbed;
    sum.transposes_kept += rule.transposes_kept;
  }
  return sum;
}

}  // namespace refit
