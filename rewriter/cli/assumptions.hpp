// What rules may assume where the source does not show it, and the names that --assume takes. Entry
// points: assumptions_text, resolve_assumptions.
#pragma once

#include <set>
#include <string>

#include "rewriter/rule/rule.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// A short id, the assumption as reports state it, and the rules that make it, for each.
std::string assumptions_text(const RuleSet& rules);

// The assumptions that are named by their id or their text. Fails where a rule makes no such one.
Expected<std::set<std::string>> resolve_assumptions(const RuleSet& rules,
                                                    const std::set<std::string>& names);

}  // namespace refit
