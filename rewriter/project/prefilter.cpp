// Clauses of literals: see prefilter.hpp. Entry point: Prefilter::scan.
#include "rewriter/project/prefilter.hpp"

#include <algorithm>

namespace refit {

Prefilter::Prefilter(const std::vector<Triggers>& per_rule) {
  for (const Triggers& triggers : per_rule) {
    Clauses& clauses = rules_.emplace_back();
    for (const std::vector<std::string>& any_of : triggers) {
      // The empty string stands in every text, so its clause asks for nothing.
      if (std::find(any_of.begin(), any_of.end(), std::string()) != any_of.end()) continue;
      std::vector<uint32_t>& clause = clauses.emplace_back();
      for (const std::string& literal : any_of) clause.push_back(literals_.add(literal, false));
    }
  }
  literals_.build();
}

bool Prefilter::met(const Clauses& clauses, const LiteralBits& seen) const {
  return std::all_of(clauses.begin(), clauses.end(), [&](const std::vector<uint32_t>& any_of) {
    return std::any_of(any_of.begin(), any_of.end(), [&](uint32_t id) { return seen.test(id); });
  });
}

std::vector<bool> Prefilter::scan(std::string_view bytes) const {
  const LiteralBits seen = literals_.scan(bytes);
  std::vector<bool> rules(rules_.size());
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) rules[rule] = met(rules_[rule], seen);
  return rules;
}

bool Prefilter::any(const std::vector<bool>& rules) {
  return std::find(rules.begin(), rules.end(), true) != rules.end();
}

}  // namespace refit
