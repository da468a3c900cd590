// Parts of a computation that the new call takes over although statements stand between: the text
// of such a part, `q = norm(q)`, becomes its operand's, and what lies between the part and the call
// (names, views, joins of branches) carries the operand. A concatenation becomes its list, which
// only names carry. Where the call stands under an `if`, other readers of the part may stand on the
// other side of a test of the same name: there the part is still computed,
// `q = q if tables is not None else norm(q)`. Entry point: SitePlanner::take_over.
#include <algorithm>

#include "rewriter/plan/site/site_planner.hpp"
#include "rewriter/text/words.hpp"

namespace refit {

namespace {

bool is_sequence(Kind kind) { return kind == Kind::list || kind == Kind::tuple; }

}  // namespace

std::optional<SitePlanner::NoneTest> SitePlanner::none_test(ValueId condition) const {
  if (condition == kNone) return std::nullopt;
  const Value& test = g_[condition];
  if (test.kind != Kind::op || test.operands.size() != 2 || test.operands[1] == kNone) {
    return std::nullopt;
  }
  const Value& with = g_[test.operands[1]];
  const bool is = test.op->id == "operator.is_";
  if ((!is && test.op->id != "operator.is_not") || with.kind != Kind::literal ||
      with.literal.kind != Literal::Kind::none) {
    return std::nullopt;
  }
  return NoneTest{test.operands[0], is};
}

std::vector<SitePlanner::NoneTest> SitePlanner::tests_around(StatementId statement) const {
  std::vector<NoneTest> out;
  for (StatementId s = statement; s != kNone; s = g_.statements[s].parent) {
    const StatementId around = g_.statements[s].parent;
    if (around == kNone || g_.statements[around].kind != StatementKind::branch) continue;
    for (const ValueId condition : g_.statements[around].uses) {
      if (auto test = none_test(condition)) {
        out.push_back({test->of, test->if_none == (g_.statements[s].block == 0)});
      }
    }
  }
  return out;
}

std::optional<SitePlanner::NoneTest> SitePlanner::apart(StatementId reader, ValueId root) const {
  const std::vector<NoneTest> theirs = tests_around(reader);
  for (const NoneTest& own : tests_around(g_[root].statement)) {
    const bool other = std::ranges::any_of(theirs, [&](const NoneTest& test) {
      return test.of == own.of && test.if_none != own.if_none;
    });
    if (other) return own;
  }
  return std::nullopt;
}

std::optional<SitePlanner::NoneTest> SitePlanner::apart(ValueId read, ValueId reader,
                                                        ValueId root) const {
  const Value& join = g_[reader];
  if (join.kind != Kind::phi) return apart(join.statement, root);
  const auto test = none_test(join.operands[0]);
  if (!test) return std::nullopt;
  const bool if_none = join.operands[test->if_none ? 1 : 2] == read;
  const bool if_given = join.operands[test->if_none ? 2 : 1] == read;
  if (if_none == if_given) return std::nullopt;
  for (const NoneTest& own : tests_around(g_[root].statement)) {
    if (own.of == test->of && own.if_none != if_none) return own;
  }
  return std::nullopt;
}

bool SitePlanner::exclude_each_other(StatementId one, StatementId other) const {
  std::map<StatementId, uint32_t> around;  // in which block of each
  for (StatementId s = one; s != kNone; s = g_.statements[s].parent) {
    around[g_.statements[s].parent] = g_.statements[s].block;
  }
  for (StatementId s = other; s != kNone; s = g_.statements[s].parent) {
    const StatementId outer = g_.statements[s].parent;
    const auto found = around.find(outer);
    if (found == around.end()) continue;
    return outer != kNone && g_.statements[outer].kind == StatementKind::branch &&
           found->second != g_.statements[s].block;
  }
  return false;
}

bool SitePlanner::taken_beside(ValueId part, ValueId reader, ValueId root) const {
  return std::ranges::any_of(beside_, [&](const auto& other) {
    const auto& [other_root, interior] = other;
    return other_root != root && interior.contains(part) &&
           (reader == other_root || interior.contains(reader)) &&
           exclude_each_other(g_[root].statement, g_[other_root].statement);
  });
}

bool SitePlanner::joins_list(ValueId id) const {
  const Value& v = g_[id];
  return v.kind == Kind::op && v.op->axes == AxisKind::concat && !v.operands.empty() &&
         v.operands[0] != kNone && is_sequence(g_[v.operands[0]].kind);
}

bool SitePlanner::decided_by(StatementId branch, const std::set<ValueId>& interior) const {
  if (g_.statements[branch].kind != StatementKind::branch) return false;
  const auto same = [&](ValueId condition, ValueId other) {
    if (condition == other) return true;
    const auto test = none_test(condition), with = none_test(other);
    return test && with && test->of == with->of;
  };
  const auto& uses = g_.statements[branch].uses;
  return std::ranges::any_of(interior, [&](ValueId id) {
    return g_[id].kind == Kind::phi &&
           std::ranges::any_of(uses, [&](ValueId use) { return same(g_[id].operands[0], use); });
  });
}

bool SitePlanner::runs_with(ValueId part, const PlannedSite& site) const {
  const ValueId root = site.root;
  std::map<StatementId, uint32_t> around;  // the root: in which block of each
  for (StatementId s = g_[root].statement; s != kNone; s = g_.statements[s].parent) {
    if (g_.statements[s].parent != kNone) around[g_.statements[s].parent] = g_.statements[s].block;
  }
  for (StatementId s = g_[part].statement; s != kNone; s = g_.statements[s].parent) {
    const StatementId outer = g_.statements[s].parent;
    if (outer == kNone) break;
    const auto found = around.find(outer);
    if (found == around.end()) {
      // Where the computation chooses by the same condition, so does the new call.
      if (!decided_by(outer, site.interior)) return false;
      continue;
    }
    if (found->second != g_.statements[s].block) return false;
    around.erase(found);
  }
  // What stands around the root alone only decides whether it runs.
  return std::ranges::all_of(around, [&](const auto& outer) {
    return g_.statements[outer.first].kind == StatementKind::branch;
  });
}

bool SitePlanner::has_operand_text(const Change::Bypass& bypass) const {
  const ValueId part = bypass.value;
  const Value& v = g_[part];
  const bool repeated =
      g_.repeats.contains(part) ||
      std::ranges::any_of(g_.repeats, [&](const auto& r) { return r.second == part; });
  if (v.syntax == kNone || v.inlined || repeated) return false;
  if (joins_list(part)) return v.operands[0] == bypass.operand;
  return v.kind == Kind::call && g_.instances.contains(part) && v.operands.size() == 2 &&
         v.operands[1] == bypass.operand;
}

// A list is no tensor: nothing but joins and names may stand between it and the call.
bool SitePlanner::carries_list(ValueId part, const std::set<ValueId>& carriers,
                               ValueId root) const {
  const bool joins_only = std::ranges::all_of(
      carriers, [&](ValueId id) { return id == part || g_[id].kind == Kind::phi; });
  const bool named_once = std::ranges::all_of(g_.definitions, [&](const Definition& d) {
    return d.join || !carriers.contains(d.value) || d.statement == g_[part].statement;
  });
  const auto name = frontend_.spell(unit_, function_, *carriers.rbegin(), root, {});
  return joins_only && named_once && name && std::ranges::all_of(*name, in_word);
}

// The steps: the part has a text of its own; all that reads it is the computation, or stands where
// the computation does not; what decides between the two has a name at the part's place.
std::string SitePlanner::why_not_bypassed(const PlannedSite& site, Change::Bypass& bypass) const {
  const ValueId part = bypass.value;
  if (!has_operand_text(bypass)) {
    return "has no text of its own that its operand could take the place of";
  }
  if (!runs_with(part, site)) return "does not run whenever what reads it does, once each";
  std::set<ValueId> carriers{part};
  for (const ValueId id : site.interior) {
    const bool reads_one = std::ranges::any_of(
        g_[id].operands, [&](ValueId operand) { return carriers.contains(operand); });
    if (id != site.root && reads_one) carriers.insert(id);
  }
  if (joins_list(part) && !carries_list(part, carriers, site.root)) {
    return "gives a tensor of which more than its name is used";
  }
  std::optional<NoneTest> decides;
  const auto keeps_apart = [&](const std::optional<NoneTest>& test) {
    if (!test || (decides && decides->of != test->of)) return false;
    decides = test;
    return true;
  };
  for (const ValueId carrier : carriers) {
    const Kind kind = g_[carrier].kind;
    // What only reads a carrier that the new call is given, such as a slice, goes with the root.
    const bool goes = !reads().reach(site.kept, carrier);
    const bool carries = goes || carrier == part || kind == Kind::phi || is_sequence(kind) ||
                         joins_list(carrier) || (kind == Kind::op && g_[carrier].op->view);
    bool alone = carries && !g_.captured.contains(carrier) && !g_.in_place.contains(carrier) &&
                 std::ranges::find(g_.sinks, carrier) == g_.sinks.end();
    for (const ValueId user : g_.users(carrier)) {
      if (user == site.root || carriers.contains(user)) continue;
      if (taken_beside(part, user, site.root)) continue;
      if (g_[user].kind == Kind::phi && !g_.live()[user]) continue;
      alone = alone && keeps_apart(apart(carrier, user, site.root));
    }
    for (StatementId id = 0; alone && id < g_.statements.size(); ++id) {
      const auto& uses = g_.statements[id].uses;
      if (std::ranges::find(uses, carrier) != uses.end()) {
        alone = keeps_apart(apart(id, site.root));
      }
    }
    if (!alone) return "is read elsewhere too";
  }
  if (!decides) return "";
  const auto name = frontend_.spell(unit_, function_, decides->of, part, {});
  if (!name || g_[decides->of].kind == Kind::literal || !std::ranges::all_of(*name, in_word)) {
    return "is read elsewhere too, under a condition that has no name where it is computed";
  }
  bypass.chooser = *name;
  bypass.call_if_none = decides->if_none;
  return "";
}

Bindings SitePlanner::without_carriers(const CompiledRule& rule, const Bindings& matched,
                                       const PlannedSite& site) const {
  Bindings out = matched;
  for (const auto& [hole, operand] : rule.rule->match.bypass) {
    const auto part = matched.holes.find(hole), kept = matched.holes.find(operand);
    if (part == matched.holes.end() || kept == matched.holes.end()) continue;
    const ValueId value = part->second;
    const bool only_here = std::ranges::all_of(g_.users(value), [&](ValueId user) {
      return user == site.root || site.interior.contains(user);
    });
    if (!only_here || g_.used_by_statement(value) || !runs_with(value, site) ||
        !frontend_.spell(unit_, function_, kept->second, site.root, {})) {
      continue;
    }
    for (auto& [name, bound] : out.holes) {
      if (name != hole && bound == value) bound = kept->second;
    }
  }
  return out;
}

bool SitePlanner::take_over(const CompiledRule& rule, const Bindings& bindings,
                            const std::vector<ValueId>& kept_values, Change& change,
                            PlannedSite& site) const {
  site.kept = kept_values;
  for (const auto& [hole, operand] : rule.rule->match.bypass) {
    const auto part = bindings.holes.find(hole), kept = bindings.holes.find(operand);
    // This alternative has no such part, or nothing carries it.
    if (part == bindings.holes.end() || !reads().reach(kept_values, part->second)) continue;
    Change::Bypass bypass{part->second, kept == bindings.holes.end() ? kNone : kept->second, "",
                          false};
    const std::string why = why_not_bypassed(site, bypass);
    if (!why.empty()) {
      site.takes = true;
      refuse(site, rule.rule->shared,
             text_of_value(bypass.value) + " " + why +
                 ", so that the new call cannot compute it; the parts are rewritten by themselves");
      return false;
    }
    change.bypassed.push_back(std::move(bypass));
  }
  return true;
}

}  // namespace refit
