// Doubts about rules. Entry point: lint_text.
#include "rewriter/cli/rule_lint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace refit {
namespace {

std::vector<std::string> callees_of(const Rule& rule) {
  std::vector<std::string> all = rule.match.call;
  all.insert(all.end(), rule.match.construct.begin(), rule.match.construct.end());
  return all;
}

}  // namespace

std::string lint_text(const RuleSet& rules, const std::vector<const Rule*>& chosen) {
  std::map<std::string, std::vector<const Rule*>> by_callee;
  for (const Rule& rule : rules.rules()) {
    for (const std::string& callee : callees_of(rule)) by_callee[callee].push_back(&rule);
  }
  std::string text;
  for (const Rule* rule : chosen) {
    const auto say = [&](const std::string& doubt) {
      text += fmt::format("{}:{}: [{}] {}\n", rule->at.file, rule->at.line, rule->id, doubt);
    };
    const auto& tests = rule->tests;
    if (std::ranges::none_of(tests, [](const RuleTest& t) { return t.after.has_value(); })) {
      say("no test shows what it rewrites; add one with `before` and `after`");
    }
    for (const Where& clause : rule->where) {
      const bool shown =
          std::ranges::any_of(tests, [&](const RuleTest& t) { return t.code == clause.code; });
      if (!shown && !clause.code.empty()) {
        say(fmt::format("no test shows what line {} refuses; add one with `refused: {}`",
                        clause.at.line, clause.code));
      }
    }
    for (const std::string& callee : callees_of(*rule)) {
      for (const Rule* other : by_callee[callee]) {
        if (other == rule || other->id == rule->id) continue;
        say(fmt::format("the rule {} looks for {}, too ({}:{}); each site would be found twice",
                        other->id, callee, other->at.file, other->at.line));
      }
    }
  }
  return text;
}

}  // namespace refit
