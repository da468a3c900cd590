// What stands against rewriting a recognised computation: effects that would be lost, reordered or
// come between its parts, readers of a part, another region of autocast.
#include "rewriter/plan/site/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"

namespace refit {

bool SitePlanner::overridden(const PlannedSite& site) const {
  return std::ranges::any_of(site.interior, [&](ValueId id) {
    auto seen = g_.methods_seen.find(id);
    return seen != g_.methods_seen.end() && frontend_.subclassed(unit_, seen->second);
  });
}

std::set<ValueId> SitePlanner::accounted(const CompiledRule& rule, const PlannedSite& site) const {
  // `scores += mask` writes where nothing but the computation looks: into what one of its own parts
  // made. Attention has one type whatever its mask's is, so that it also has the type which the
  // write kept.
  auto writes_own_part = [&](ValueId id) {
    if (!rule.rule->attention || !g_.in_place.contains(id) || g_[id].operands.empty()) return false;
    const ValueId old = g_[id].operands[0];
    if (old == kNone || !site.interior.contains(old)) return false;
    const Value& v = g_[old];
    return v.kind == Kind::op && v.op->pure && !v.op->view && !v.op->one_of &&
           v.op->axes != AxisKind::cast && v.op->axes != AxisKind::contiguous;
  };
  std::set<ValueId> out;
  for (ValueId id : site.interior) {
    if (id != kNone && (has_effect(g_, id) || writes_own_part(id))) out.insert(id);
  }
  return out;
}

bool SitePlanner::loses_effects(ValueId root, const PlannedSite& site,
                                const std::vector<ValueId>& kept) const {
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    if (id == root || !has_effect(g_, id) || !g_[root].range.contains(g_[id].range) ||
        g_[id].range.size() == 0 || site.interior.contains(id)) {
      continue;
    }
    bool written = std::ranges::any_of(
        kept, [&](ValueId k) { return k != kNone && g_[k].range.contains(g_[id].range); });
    if (!written) return true;
  }
  return false;
}

bool SitePlanner::reorders_effects(ValueId root, const std::vector<ValueId>& kept) const {
  const ByteRange& whole = g_[root].range;
  const StatementId home = g_[root].statement;
  if (home == kNone || whole.size() == 0) return false;
  // A name that is bound inside the expression may be read by what is evaluated before it then.
  const auto& bound = g_.statements[home].definitions;
  if (std::ranges::any_of(bound, [&](DefinitionId d) {
        const ByteRange& range = g_[g_.definitions[d].value].range;
        return !(range == whole) && range.size() != 0 && whole.contains(range);
      })) {
    return true;
  }
  size_t last = 0;  // place in `kept` of the last effect
  for (const auto& [statement, id] : reads().effects_of(home)) {
    const ByteRange& range = g_[id].range;
    if (range.size() == 0 || !whole.contains(range)) continue;
    auto written = std::ranges::find_if(kept, [&](ValueId k) {
      return k != kNone && k != root && g_[k].statement == home && g_[k].range.contains(range);
    });
    if (written == kept.end()) continue;
    const auto place = static_cast<size_t>(written - kept.begin());
    if (place < last) return true;
    last = place;
  }
  return false;
}

const Reads& SitePlanner::reads() const {
  if (!reads_) reads_ = std::make_unique<Reads>(g_);
  return *reads_;
}

bool SitePlanner::still_read(const PlannedSite& site, const Supplanted& replaced,
                             const Change& change, const std::set<StatementId>& dead) const {
  const Reads::Rest rest = reads().without(replaced, dead);
  const std::vector<ValueId>& kept = replaced.kept;
  return std::ranges::any_of(site.interior, [&](ValueId id) {
    if (id == replaced.root || !rest.needs(id)) return false;
    if (std::ranges::find(change.results, id, &Change::Result::value) != change.results.end() ||
        std::ranges::find(change.bypassed, id, &Change::Bypass::value) != change.bypassed.end()) {
      return false;
    }
    if (g_[id].kind == Kind::call) return true;
    if (g_[id].kind != Kind::op) return false;
    if (std::ranges::find(kept, id) != kept.end()) return false;
    const AxisKind axes = g_[id].op->axes;
    if (g_[id].op->view || axes == AxisKind::cast || axes == AxisKind::query) return false;
    // A product that a kept value reads (a mask of the scores' shape) would be computed still. A
    // test, `norm is not None`, costs nothing, and is part of the text of that value.
    return axes != AxisKind::opaque || g_[id].op->autocast == Autocast::follows ||
           !reads().reach(kept, id);
  });
}

std::optional<std::string> SitePlanner::carried(const PlannedSite& site,
                                                const std::set<StatementId>& dead) const {
  for (const Definition& d : g_.definitions) {
    if (d.statement == kNone || !g_.statements[d.statement].carried || dead.contains(d.statement) ||
        !site.interior.contains(d.value)) {
      continue;
    }
    return fmt::format(
        "a part of it is given to `{}`, which lives on outside of the loop or `switch` around it; "
        "give that part a variable declared inside",
        g_.names[d.name]);
  }
  return std::nullopt;
}

bool SitePlanner::cast_elsewhere(ValueId root, const PlannedSite& site) const {
  // The innermost statement around a value that sets how operations in it are cast.
  auto region = [&](ValueId id) {
    for (StatementId s = g_[id].statement; s != kNone; s = g_.statements[s].parent) {
      const Statement& statement = g_.statements[s];
      if (statement.kind != StatementKind::other) continue;
      bool sets = std::ranges::any_of(statement.uses, [&](ValueId use) {
        return use != kNone && g_[use].kind == Kind::op && g_[use].op->autocast == Autocast::sets;
      });
      if (sets) return s;
    }
    return kNone;
  };
  return std::ranges::any_of(site.interior, [&](ValueId id) {
    if (id == kNone || id == root) return false;
    const Value& v = g_[id];
    bool follows =
        v.kind == Kind::call || (v.kind == Kind::op && v.op->autocast == Autocast::follows);
    return follows && region(id) != region(root);
  });
}

// What stands between the parts of the computation may change what they read. A call that is handed
// one of them reads it for itself, too.
bool SitePlanner::disturbed(const CompiledRule& rule, PlannedSite& site,
                            const std::vector<ValueId>& kept) const {
  if (site.interior.empty()) return false;
  auto among_kept = [&](ValueId id) { return std::ranges::find(kept, id) != kept.end(); };
  ValueId first = *site.interior.begin(), last = *site.interior.rbegin();
  for (ValueId id = first; id < last; ++id) {
    const Value& v = g_[id];
    if (site.interior.contains(id)) continue;
    bool writes = v.kind == Kind::update || (v.kind == Kind::op && v.op->in_place);
    bool calls = v.kind == Kind::call && !g_.instances.contains(id) && !g_.readers.contains(id);
    if (!writes && !calls) continue;
    std::string what = writes ? "a write" : "a call";
    if (std::string text = text_of_value(id); !text.empty()) what += ", " + text + ",";
    for (ValueId operand : v.operands) {
      if (operand == kNone) continue;
      bool part = site.interior.contains(operand);
      if (!part && !among_kept(operand)) continue;
      bool own = part && !among_kept(operand) && g_[operand].kind == Kind::op &&
                 !g_[operand].op->view && g_[operand].op->axes != AxisKind::cast;
      if (calls && own) {
        refuse(site, rule.rule->shared, what + " reads a part of it; let it compute its own");
      } else {
        refuse(site, "effect-between", what + " between its parts could change what they read");
      }
      return true;
    }
    // A method of the object whose attributes are read.
    for (ValueId k : kept) {
      if (k == kNone || g_[k].kind != Kind::attribute) continue;
      if (g_.touches(id, g_.owner(k))) {
        refuse(site, "effect-between",
               what + " between its parts could change an attribute that they read");
        return true;
      }
    }
  }
  return false;
}

}  // namespace refit
