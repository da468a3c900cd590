// A new call that gives several values, such as a sum and the norm of it. It stands where the last
// of them was computed, and the statements that gave the others their names go; or, where such a
// statement does more, in the place of the first. Entry points: SitePlanner::name_results,
// read_beyond, can_give_results.
#include <algorithm>

#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

void SitePlanner::name_results(const CompiledRule& rule, const Bindings& bindings, Change& change) {
  for (const std::string& name : rule.rule->match.results) {
    auto hole = bindings.holes.find(name);
    const bool own = hole == bindings.holes.end();
    change.results.push_back({own ? change.root : hole->second, name, own});
  }
}

bool SitePlanner::read_beyond(const PlannedSite& site, const Change& change) const {
  return std::ranges::all_of(change.results, [&](const Change::Result& result) {
    return result.value == change.root || g_.used_by_statement(result.value) ||
           std::ranges::any_of(g_.users(result.value),
                               [&](ValueId user) { return !site.interior.contains(user); });
  });
}

std::set<StatementId> SitePlanner::naming(ValueId id) const {
  std::set<StatementId> out;
  for (const DefinitionId d : g_.definitions_of(id)) {
    const StatementId statement = g_.definitions[d].statement;
    if (statement == kNone || g_.definitions[d].join) return {};
    const Statement& s = g_.statements[statement];
    if (s.kind != StatementKind::assign || !s.pure || s.definitions.size() != 1 ||
        !s.uses.empty()) {
      return {};
    }
    out.insert(statement);
  }
  return g_.in_place.contains(id) ? std::set<StatementId>() : out;
}

std::optional<std::string> SitePlanner::name_at_root(ValueId result, ValueId root) const {
  const Statement& home = g_.statements[g_[root].statement];
  std::optional<std::string> out;
  for (const DefinitionId d : g_.definitions_of(result)) {
    const uint32_t name = g_.definitions[d].name;
    const bool given_again = std::ranges::any_of(home.definitions, [&](DefinitionId own) {
      return g_.definitions[own].name == name && g_.definitions[own].value == root;
    });
    if (given_again || g_.reaching(name, home.time) != d) continue;
    if (out) return std::nullopt;  // two names, of which one would be given
    out = g_.names[name];
  }
  return out;
}

std::string SitePlanner::why_not_given(ValueId result, const std::vector<ValueId>& kept,
                                       const PlannedSite& site) const {
  const std::set<StatementId> statements = naming(result);
  if (statements.empty()) return "is not given to a name by a statement that does nothing else";
  const Statement& to = g_.statements[g_[site.root].statement];
  for (const StatementId id : statements) {
    const Statement& from = g_.statements[id];
    if (from.parent != to.parent || from.block != to.block) {
      return "is computed in another branch than what reads it";
    }
  }
  auto earlier = [&](StatementId statement) {
    return statement == kNone || g_.statements[statement].range.begin < to.range.begin;
  };
  bool between = std::ranges::find(g_.sinks, result) != g_.sinks.end() ||
                 std::ranges::any_of(statements, [&](StatementId id) { return !earlier(id); });
  for (const ValueId user : g_.users(result)) {
    between = between || (!site.interior.contains(user) && earlier(g_[user].statement));
  }
  for (StatementId id = 0; id < g_.statements.size() && !between; ++id) {
    const auto& uses = g_.statements[id].uses;
    between = earlier(id) && std::ranges::find(uses, result) != uses.end();
  }
  if (between) return "is read before the new call would give it";
  if (reads().reach(kept, result)) return "is what an operand of the new call is computed from";
  return "";
}

// Whether what stands between two statements of one block only computes.
bool SitePlanner::only_pure_between(const Statement& from, const Statement& to) const {
  return from.parent == to.parent && from.block == to.block &&
         std::ranges::all_of(g_.statements, [&](const Statement& s) {
           const bool between = s.range.begin > from.range.begin &&
                                s.range.begin < to.range.begin && s.parent == from.parent &&
                                s.block == from.block;
           return !between || (s.kind == StatementKind::assign && s.pure);
         });
}

// The steps: the first of two values is all that its statement names, nothing between the two does
// more than compute, and the name of the second is free there.
bool SitePlanner::give_at_first(const std::vector<ValueId>& kept, Change& change,
                                std::set<StatementId>& dead) const {
  if (change.results.size() != 2) return false;
  const bool second_is_root = change.results[1].value == change.root;
  Change::Result& first = change.results[second_is_root ? 0 : 1];
  Change::Result& second = change.results[second_is_root ? 1 : 0];
  const std::vector<DefinitionId> named = g_.definitions_of(first.value);
  if (named.empty() || g_.in_place.contains(first.value)) return false;
  const Definition& definition = g_.definitions[named.front()];
  const StatementId place = definition.statement, home = g_[change.root].statement;
  if (place == kNone || g_[first.value].statement != place || g_.made_by_statement(first.value)) {
    return false;
  }
  const Statement& from = g_.statements[place];
  const Statement& to = g_.statements[home];
  if (from.kind != StatementKind::assign || from.definitions.size() != 1 ||
      !only_pure_between(from, to) || reads().reach(kept, first.value) ||
      reorders_effects(first.value, kept)) {
    return false;
  }
  for (const auto& [statement, id] : reads().effects_of(home)) {
    const ByteRange& range = g_[id].range;
    if (range.begin < g_[change.root].range.begin && !range.contains(g_[change.root].range)) {
      return false;
    }
  }
  first.name = g_.names[definition.name];
  const bool alone = to.kind == StatementKind::assign && to.pure && to.definitions.size() == 1 &&
                     g_.definitions[to.definitions[0]].value == change.root;
  if (alone) {
    const std::string& name = g_.names[g_.definitions[to.definitions[0]].name];
    const ByteRange between{from.range.begin, to.range.begin};
    if (!holds_word(unit_.source().slice(between), name)) {
      second.name = name;
      second.fresh = false;
      dead.insert(home);
    }
  }
  change.root = first.value;
  return true;
}

bool SitePlanner::can_give_results(const CompiledRule& rule, const std::vector<ValueId>& kept,
                                   Change& change, std::set<StatementId>& dead,
                                   PlannedSite& site) const {
  if (change.results.empty()) return true;
  const ValueId root = change.root;
  std::string why;
  if (g_[root].statement == kNone || g_.made_by_statement(root)) {
    why = "the value is made where branches meet";
  } else {
    // Before the statement runs what stood inside it.
    const ByteRange& whole = g_[root].range;
    bool before = false, inside = false;
    for (const auto& [statement, id] : reads().effects_of(g_[root].statement)) {
      const ByteRange& range = g_[id].range;
      inside = inside || (range.size() != 0 && whole.contains(range));
      before = before || (range.begin < whole.begin && !range.contains(whole));
    }
    if (before && inside) why = "its operands would be evaluated in another order";
  }
  std::vector<Change::Result> given = change.results;
  for (Change::Result& result : given) {
    if (!why.empty() || result.value == root) continue;
    std::string own = why_not_given(result.value, kept, site);
    auto name = own.empty() ? name_at_root(result.value, root) : std::nullopt;
    if (own.empty() && !name) own = "has not one name where the new call would give it";
    if (!own.empty()) why = text_of_value(result.value) + " " + own;
    result.name = name.value_or("");
  }
  if (why.empty()) {
    for (const Change::Result& result : given) {
      if (result.value != root) dead.merge(naming(result.value));
    }
    change.results = std::move(given);
    return true;
  }
  if (give_at_first(kept, change, dead)) return true;
  refuse(site, rule.rule->shared,
         why + ", so that one call cannot give both; the parts are rewritten by themselves");
  return false;
}

}  // namespace refit
