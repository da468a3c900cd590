// What is doubtful in rules that load and compile. Entry point: lint_text.
#pragma once

#include <string>
#include <vector>

#include "rewriter/rule/rule.hpp"

namespace refit {

// A line for each doubt about one of the `chosen` rules, with its place: a rule that no test shows
// at work, one that no test shows to refuse what its clauses refuse, and one that looks for a
// callee that another rule of `rules` looks for as well.
std::string lint_text(const RuleSet& rules, const std::vector<const Rule*>& chosen);

}  // namespace refit
