// What a file or a function with certain literals may hold: see requirements.hpp, whose derived
// clauses are asked here.
#include <algorithm>

#include "rewriter/plan/requirements.hpp"

namespace refit {

bool Requirements::Seen::any(const Clause& clause) {
  if (seen_.intersects(clause)) return true;
  if (!clause.intersects(of_.later_)) return false;
  bool found = false;
  clause.each([&](uint32_t id) {
    if (found || !of_.later_.test(id) || looked_for_.test(id)) return;
    looked_for_.set(id);
    auto counts = [&](size_t at) { return !read_ || !of_.frontend_.remarked(text_, at); };
    if (of_.literals_.contains(text_, id, counts)) {
      seen_.set(id);
      found = true;
    }
  });
  return found;
}

bool Requirements::met(const Clauses& clauses, const LiteralBits& seen) {
  return std::all_of(clauses.begin(), clauses.end(),
                     [&](const Clause& clause) { return seen.intersects(clause); });
}

bool Requirements::met(const Clauses& clauses, Seen& seen) {
  return std::all_of(clauses.begin(), clauses.end(),
                     [&](const Clause& clause) { return seen.any(clause); });
}

std::vector<bool> Requirements::file(const LiteralBits& scanned, std::string_view text,
                                     bool derived) const {
  std::vector<bool> out(rules_.size());
  LiteralBits seen = scanned;
  seen |= asked_later_;
  Seen triggers(*this, seen, text, derived);
  for (size_t r = 0; r < rules_.size(); ++r) {
    const Rule& rule = rules_[r];
    out[r] = (!derived || rule.alternatives.empty() ||
              std::any_of(rule.alternatives.begin(), rule.alternatives.end(),
                          [&](const Clauses& clauses) { return met(clauses, seen); })) &&
             met(rule.triggers, triggers);
  }
  return out;
}

Requirements::Asked Requirements::asked(const std::vector<bool>& rules) const {
  Asked out;
  std::vector<bool> met(asked_.size(), false);
  for (size_t r = 0; r < rules_.size(); ++r) {
    if (!rules[r]) continue;
    out.nothing = out.nothing || rules_[r].alternatives.empty();
    for (size_t a : rules_[r].asked) {
      if (!met[a]) out.alternatives.push_back(&asked_[a]);
      met[a] = true;
    }
  }
  return out;
}

bool Requirements::wanted(const LiteralBits& seen, const Asked& asked) const {
  if (asked.nothing || named(seen)) return true;
  return std::any_of(asked.alternatives.begin(), asked.alternatives.end(), [&](const auto* all) {
    return std::all_of(all->begin(), all->end(),
                       [&](const AnyLiteral& any) { return any.in(seen); });
  });
}

const std::vector<Shown>* Requirements::shown(const std::vector<bool>& rules) const {
  for (size_t r = 0; r < rules_.size(); ++r) {
    if (rules[r] && rules_[r].asks_shown) return &shown_;
  }
  return nullptr;
}

std::set<std::string> Requirements::mentioned(const LiteralBits& seen,
                                              const std::set<std::string>& names) const {
  std::set<std::string> out;
  const bool any = std::any_of(callees_.begin(), callees_.end(),
                               [&](const auto& callee) { return seen.test(callee.second); });
  if (!any) return out;
  for (const std::string& name : names) {
    auto known = callees_.find(name);  // of a function with several names one may tell of all
    if (known == callees_.end() || seen.test(known->second)) out.insert(name);
  }
  return out;
}

std::vector<bool> Requirements::words(const LiteralBits& seen) const {
  std::vector<bool> out;
  for (uint32_t id : tree_word_ids_) out.push_back(seen.test(id));
  return out;
}

}  // namespace refit
