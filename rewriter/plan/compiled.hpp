// Rules made ready to run: patterns as value graphs, rewrites as templates, callees as operations.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

struct CompiledPattern {
  Graph graph;
  ValueId root = kNone;
  const Pattern* source = nullptr;
};

struct CompiledAnchor {
  const Anchor* source = nullptr;
  std::vector<CompiledPattern> patterns;
  std::set<const Operation*> operation, fed_by;
};

struct CompiledRewrite {
  const Rewrite* source = nullptr;
  Template with;
};

struct CompiledRule {
  const Rule* rule = nullptr;
  std::vector<const Operation*> callees;
  std::vector<CompiledPattern> patterns;
  std::map<std::string, std::vector<CompiledPattern>> choices;
  std::vector<CompiledAnchor> anchors;
  std::vector<CompiledRewrite> rewrites;
};

inline constexpr size_t kValueKinds = static_cast<size_t>(Kind::opaque) + 1;

struct CompiledRules {
  std::vector<CompiledRule> rules;
  // By the operation of a call; rules of patterns have none.
  std::unordered_map<const Operation*, std::vector<size_t>> by_callee;
  std::vector<size_t> pattern_rules;
  // Those of them that have a pattern whose root is such a value, perhaps.
  const std::vector<size_t>& rooted_at(const Value& value) const;
  std::unordered_map<const Operation*, std::vector<size_t>> by_root_operation;
  std::array<std::vector<size_t>, kValueKinds> by_root_kind;  // of roots that are no operation's
};

Expected<CompiledRules> compile(const RuleSet& rules, RuleLanguage& language);

// Names of the holes in a template text: "$freqs[0]" has `freqs`.
std::vector<std::string> holes_in(std::string_view text);

}  // namespace refit
