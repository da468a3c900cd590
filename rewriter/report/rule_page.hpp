// Rules in words and as data, for who uses them. Entry points: rule_page, rules_text,
// rules_json.
#pragma once

#include <string>
#include <vector>

#include "rewriter/rule/rule.hpp"

namespace refit {

// What a rule looks for, what it makes of it, what it assumes and refuses, with its own tests as
// examples: a page of Markdown.
std::string rule_page(const Rule& rule);

// What a rule may state as an assumption, each once.
std::vector<std::string> assumptions_of(const Rule& rule);

// One line a rule: its id and its summary.
std::string rules_text(const std::vector<Rule>& rules);

// The rules as a JSON list, for other tools: docs/refit.md says what of each.
std::string rules_json(const std::vector<Rule>& rules);

}  // namespace refit
