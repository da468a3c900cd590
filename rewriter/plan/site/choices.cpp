// A pattern's parts that may be spelled in several ways: which alternative each hole with `choices`
// has, where branches meet as a whole or on each branch.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "rewriter/match/constraint.hpp"
#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

namespace {

constexpr std::string_view kIsOperation = "operator.is_";

// The holes of a rule that its call is made of: those in the texts, and those with choices.
std::set<std::string> holes_used(const CompiledRule& rule) {
  std::set<std::string> out;
  auto take = [&](std::string_view text) {
    for (std::string& hole : holes_in(text)) out.insert(std::move(hole));
  };
  auto take_set = [&](const std::vector<CompiledPattern>& patterns) {
    for (const CompiledPattern& p : patterns) {
      for (const auto& [name, text] : p.source->set) take(text);
    }
  };
  for (const CompiledRewrite& rewrite : rule.rewrites) {
    for (const auto& [keyword, text] : rewrite.with.arguments) take(text);
  }
  take_set(rule.patterns);
  for (const auto& [hole, alternatives] : rule.choices) {
    out.insert(hole);
    take_set(alternatives);
  }
  return out;
}

// What an alternative gives to the call: its holes among those used, and what it sets.
std::set<std::string> given_by(const CompiledPattern& alternative,
                               const std::set<std::string>& used) {
  std::set<std::string> out;
  for (const Value& v : alternative.graph.values) {
    if (v.kind == Kind::hole && used.contains(v.text)) out.insert(v.text);
  }
  for (const auto& [name, text] : alternative.source->set) out.insert("set " + name);
  return out;
}

// The side of a choice that an alternative's text is about: where a value is tested, that where it
// is no None, else the one where the condition holds.
Branch branch_of(const CompiledPattern& alternative, const Graph& g, ValueId leaf) {
  const Value& choice = alternative.graph[alternative.root];
  if (choice.kind != Kind::phi || g[leaf].kind != Kind::phi) return {};
  const Value& asked = alternative.graph[choice.operands[0]];
  const bool tests = asked.kind == Kind::op && asked.op->id == kIsOperation;
  Branch out;
  out.condition = g[leaf].operands[0];
  out.side = tests ? 2 : 1;
  if (tests) out.tested = g[out.condition].operands[0];
  return out;
}

}  // namespace

bool SitePlanner::plausible(const CompiledRule& rule, const Bindings& before,
                            const Bindings& bindings) const {
  return std::ranges::all_of(rule.choices, [&](const auto& choice) {
    const auto& [hole, alternatives] = choice;
    const auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end() || before.holes.contains(hole)) return true;
    if (g_[bound->second].kind == Kind::phi) return true;
    return std::ranges::any_of(alternatives, [&](const CompiledPattern& a) {
      Bindings trial = bindings;
      return match_value(a.graph, a.root, g_, bound->second, trial);
    });
  });
}

// Whether an alternative says what is computed where branches meet, or leaves that to the
// alternatives of a hole that is settled later.
bool SitePlanner::one_spelling(const CompiledRule& rule, const std::string& hole,
                               const Bindings& bindings, ValueId join) const {
  return std::ranges::any_of(rule.choices.at(hole), [&](const CompiledPattern& a) {
    const Value& root = a.graph[a.root];
    if (root.kind == Kind::hole) {
      return root.text > hole && rule.choices.contains(root.text) &&
             one_spelling(rule, root.text, bindings, join);
    }
    Bindings trial = bindings;
    return root.kind == Kind::phi && match_value(a.graph, a.root, g_, join, trial) &&
           plausible(rule, bindings, trial);
  });
}

bool SitePlanner::choices(const CompiledRule& rule, Bindings& bindings, SetTexts& set,
                          Change& change, PlannedSite& site) {
  for (const auto& [hole, alternatives] : rule.choices) {
    auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end()) continue;
    std::vector<ValueId> leaves, work{bound->second};
    while (!work.empty()) {
      ValueId at = work.back();
      work.pop_back();
      if (g_[at].kind == Kind::phi && !one_spelling(rule, hole, bindings, at)) {
        site.interior.insert(at);
        work.push_back(g_[at].operands[2]);
        work.push_back(g_[at].operands[1]);
      } else {
        leaves.push_back(at);
      }
    }
    if (!settle_leaves(rule, alternatives, leaves, bindings, set, change)) return false;
    site.interior.insert(bindings.interior.begin(), bindings.interior.end());
    // What carries a part that the new call takes over is written, and the part itself looked at.
    if (rule.rule->match.bypass.empty()) bindings.holes.erase(hole);
  }
  return true;
}

// What one branch gives to the call and another does not is not what the call is made of:
// `if hidden: s = s.masked_fill(m, -inf)` has a mask on one side alone, which an alternative for
// both must say.
bool SitePlanner::settle_leaves(const CompiledRule& rule,
                                const std::vector<CompiledPattern>& alternatives,
                                const std::vector<ValueId>& leaves, Bindings& bindings,
                                SetTexts& set, Change& change) {
  const bool several = leaves.size() > 1;
  const auto used = several ? holes_used(rule) : std::set<std::string>();
  std::optional<std::set<std::string>> given;
  for (ValueId leaf : leaves) {
    const CompiledPattern* matched = nullptr;
    for (const CompiledPattern& alternative : alternatives) {
      Bindings trial = bindings;
      if (!match_value(alternative.graph, alternative.root, g_, leaf, trial)) continue;
      if (!plausible(rule, bindings, trial)) continue;
      if (!clauses_hold(alternative, trial, change.root, true)) continue;
      bindings = std::move(trial);
      matched = &alternative;
      break;
    }
    if (matched == nullptr) return false;
    if (several) {
      auto own = given_by(*matched, used);
      if (given && *given != own) return false;
      given = std::move(own);
    }
    for (const auto& [name, text] : matched->source->set) {
      SetText said{text, branch_of(*matched, g_, leaf)};
      if (several && text.find('$') != std::string::npos) {  // means the same on every branch
        if (said.branch.condition != kNone) return false;
      } else if (several) {
        if (!restate(*matched, leaf, name, text, change)) return false;
        said = {name, {}};
      }
      // Alternatives of two holes that say different things of the call contradict each other.
      if (set.emplace(name, said).first->second.text != said.text) return false;
    }
  }
  return true;
}

// Each branch says its own: the statement that computed the leaf now names the choice.
bool SitePlanner::restate(const CompiledPattern& alternative, ValueId leaf, const std::string& name,
                          const std::string& text, Change& change) const {
  const StatementId home = g_[leaf].statement;
  if (home == kNone || g_.statements[home].definitions.size() != 1 ||
      alternative.source->set.size() != 1) {
    return false;
  }
  auto restated = frontend_.assignment(name, text);
  if (!restated) return false;
  change.restated.emplace_back(home, std::move(*restated));
  return !g_.name_index(name);  // else the name is taken
}

}  // namespace refit
