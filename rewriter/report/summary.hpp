// Counts by rule, which the terminal's table and the JSON report both show. Entry point: summarise.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"

namespace refit {

// Every finding is counted in exactly one of rewritten, assumed, through and refused.
struct RuleSummary {
  std::string rule;
  uint64_t found = 0;
  uint64_t rewritten = 0;  // where it stands, with no assumption
  uint64_t assumed = 0;    // where it stands, under stated assumptions
  uint64_t through = 0;    // by rewriting the definition that it calls
  uint64_t refused = 0;
  std::map<std::string, uint64_t> refused_by_code;
  uint64_t transposes_absorbed = 0, transposes_kept = 0;
};

// One entry per rule that found anything, by id.
std::vector<RuleSummary> summarise(const std::vector<Finding>& findings);

// The sum of all entries, with an empty `rule`.
RuleSummary total(const std::vector<RuleSummary>& rules);

}  // namespace refit
