// Sites of one unit: which values are looked at, and which site of several wins. See planner.hpp.
#include "rewriter/plan/site/site_planner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rewriter/match/describe.hpp"
#include "rewriter/plan/fingerprint.hpp"
#include "rewriter/plan/remarks.hpp"

namespace refit {

void SitePlanner::run(const std::vector<bool>& enabled, std::vector<PlannedSite>& out) {
  const auto& live = g_.live();
  enabled_ = &enabled;
  std::vector<PlannedSite> regions;
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    const Value& v = g_[id];
    if (!live[id] || (v.inlined && v.syntax == kNone)) continue;
    for (size_t rule : planner_.rules_.rooted_at(v)) {
      if (!enabled[rule]) continue;
      auto site = region_site(planner_.rules_.rules[rule], id);
      if (site) regions.push_back(std::move(*site));
    }
  }
  std::set<ValueId> taken;
  join_sharing(regions);
  regions = largest(std::move(regions), taken);
  note_regions(regions);
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    const Value& v = g_[id];
    if (v.kind == Kind::op || v.kind == Kind::call) {
      auto found =
          v.op == nullptr ? planner_.rules_.by_callee.end() : planner_.rules_.by_callee.find(v.op);
      if (found != planner_.rules_.by_callee.end() && v.syntax != kNone && v.range.size() != 0 &&
          !v.inlined) {
        for (size_t rule : found->second) {
          if (!enabled[rule] || defined_here(planner_.rules_.rules[rule])) continue;
          out.push_back(call_site(planner_.rules_.rules[rule], id));
        }
      }
    }
    if (v.kind == Kind::call && v.op == nullptr) unresolved(id, enabled, out);
    if (!live[id] || (v.inlined && v.syntax == kNone)) continue;
    if (!v.inlined && (v.kind == Kind::symbol || v.kind == Kind::call)) handed_on(id, enabled, out);
  }
  std::set<ValueId> gone;
  for (const PlannedSite& site : regions) {
    if (site.rewritten) gone.insert(site.interior.begin(), site.interior.end());
  }
  // A call that is part of what is rewritten goes with it.
  std::erase_if(out, [&](const PlannedSite& other) {
    return other.interior.size() == 1 && gone.contains(*other.interior.begin());
  });
  for (PlannedSite& site : regions) {
    if (site.rewritten) set_region_layout(site);
    out.push_back(std::move(site));
  }
  keep_together(out);
  for (PlannedSite& site : out) {
    const bool computed = site.rewritten && !site.change.edit_call && !site.operands.empty();
    if (computed && rule_named(site.finding.rule).rule->attention) tell_attention_strides(site);
  }
  anchors(enabled, taken, out);
}

std::vector<PlannedSite> SitePlanner::largest(std::vector<PlannedSite> regions,
                                              std::set<ValueId>& taken) const {
  std::ranges::stable_sort(regions, [](const auto& a, const auto& b) {
    if (a.rewritten != b.rewritten) return a.rewritten;
    return a.interior.size() > b.interior.size();
  });
  struct Owner {
    std::string rule;
    ValueId root;
    std::vector<ValueId> together;
  };
  std::map<ValueId, Owner> owner;
  std::vector<PlannedSite> out;
  for (PlannedSite& site : regions) {
    bool free = std::ranges::none_of(site.interior, [&](ValueId v) {
      // A test for None is asked by every call that needs it, and costs nothing.
      if (!taken.contains(v) || g_[v].kind == Kind::literal || none_test(v)) return false;
      const std::vector<ValueId>& together = owner.at(v).together;
      return together.empty() || together != site.change.together;
    });
    if (!free) {
      // What another site took a part of is refused all the same, and said, unless one of the two
      // is a part of the other by the same rule.
      bool own = std::ranges::any_of(site.interior, [&](ValueId v) {
        auto by = owner.find(v);
        return by != owner.end() && by->second.rule == site.finding.rule &&
               (v == site.root || site.interior.contains(by->second.root));
      });
      const bool said = std::ranges::any_of(out, [&](const PlannedSite& other) {
        return !other.rewritten && other.finding.rule == site.finding.rule &&
               other.root != site.root && other.interior.contains(site.root);
      });
      // Where all of it is rewritten by another rule nothing is left to say.
      const bool done = std::ranges::any_of(out, [&](const PlannedSite& other) {
        return other.rewritten && std::ranges::includes(other.interior, site.interior);
      });
      if (site.rewritten || own || said || done) continue;
    }
    for (ValueId v : site.interior) {
      owner.emplace(v, Owner{site.finding.rule, site.root, site.change.together});
    }
    if (!free) {
      out.push_back(std::move(site));
      continue;
    }
    taken.insert(site.interior.begin(), site.interior.end());
    out.push_back(std::move(site));
  }
  return out;
}

namespace {

// Within which rule a site shares its parts: one that is taken over serves every rule that does so.
std::string_view rule_of_sharing(const PlannedSite& site) {
  return site.takes ? std::string_view() : std::string_view(site.finding.rule);
}

}  // namespace

// Sites of one rule that are refused because each reads a part of another, and sites that would
// take over the same part: made together, none computes that part any more.
void SitePlanner::join_sharing(std::vector<PlannedSite>& regions) {
  if (!frontend_.keeps_together()) return;
  // By rule and value: the sites of which the value is a part.
  std::map<std::pair<std::string_view, ValueId>, std::vector<PlannedSite*>> parts;
  std::vector<PlannedSite*> waiting;
  for (PlannedSite& site : regions) {
    if (!site.takes && !(site.shares && rule_named(site.finding.rule).rule->joint)) continue;
    waiting.push_back(&site);
    for (ValueId id : site.interior) parts[{rule_of_sharing(site), id}].push_back(&site);
  }
  std::set<const PlannedSite*> seen;
  for (PlannedSite* first : waiting) {
    if (!seen.insert(first).second) continue;
    std::vector<PlannedSite*> group{first};
    for (size_t i = 0; i < group.size(); ++i) {
      for (ValueId id : group[i]->interior) {
        auto found = parts.find({rule_of_sharing(*group[i]), id});
        if (found == parts.end()) continue;
        for (PlannedSite* other : found->second) {
          if (seen.insert(other).second) group.push_back(other);
        }
        parts.erase(found);
      }
    }
    if (group.size() > 1) join(group);
  }
}

void SitePlanner::join(const std::vector<PlannedSite*>& group) {
  std::map<ValueId, std::vector<ValueId>> all;
  std::map<ValueId, std::set<ValueId>> beside;
  for (const PlannedSite* site : group) {
    all[site->root] = site->kept;
    if (site->takes) beside[site->root] = site->interior;
  }
  std::vector<PlannedSite> made;
  std::vector<Change::Bypass> taken;
  for (const PlannedSite* site : group) {
    along_ = all;
    beside_ = beside;
    auto again = region_site(rule_named(site->finding.rule), site->root);
    along_.clear();
    beside_.clear();
    if (!again || !again->rewritten || again->interior != site->interior ||
        again->kept != site->kept) {
      return;
    }
    // The text of a part that several take over is one and the same.
    for (const Change::Bypass& bypass : again->change.bypassed) {
      const auto other = std::ranges::find(taken, bypass.value, &Change::Bypass::value);
      if (other == taken.end()) {
        taken.push_back(bypass);
      } else if (other->operand != bypass.operand || other->chooser != bypass.chooser ||
                 other->call_if_none != bypass.call_if_none) {
        return;
      }
    }
    for (const auto& [root, kept] : all) again->change.together.push_back(root);
    made.push_back(std::move(*again));
  }
  for (size_t i = 0; i < group.size(); ++i) *group[i] = std::move(made[i]);
}

const CompiledRule& SitePlanner::rule_named(const std::string& id) const {
  const auto& rules = planner_.rules_.rules;
  return *std::ranges::find_if(rules, [&](const CompiledRule& r) { return r.rule->id == id; });
}

PlannedSite SitePlanner::new_site(const CompiledRule& rule, ValueId id) {
  PlannedSite site;
  site.site_function = function_;
  site.range = g_.place(id);
  site.root = id;
  Finding& f = site.finding;
  auto begin = unit_.source().position(site.range.begin);
  f.line = begin.line;
  f.column = begin.column;
  f.end_line = unit_.source().position(site.range.end).line;
  f.file = unit_.source().path();
  f.rule = rule.rule->id;
  f.before = unit_.source().slice(site.range);
  f.callee = unit_.functions[function_].qualified;
  if (f.callee.empty()) f.callee = unit_.module;
  site.function = unit_.functions[function_].qualified;
  f.function = f.callee;
  return site;
}

// The rule that names this operation as a callee and may match here.
const CompiledRule* SitePlanner::rule_of(const Operation* op,
                                         const std::vector<bool>& enabled) const {
  auto found = op == nullptr || op->is_class ? planner_.rules_.by_callee.end()
                                             : planner_.rules_.by_callee.find(op);
  if (found == planner_.rules_.by_callee.end()) return nullptr;
  for (size_t rule : found->second) {
    if (enabled[rule] && !defined_here(planner_.rules_.rules[rule])) {
      return &planner_.rules_.rules[rule];
    }
  }
  return nullptr;
}

void SitePlanner::refuse(PlannedSite& site, std::string code, std::string why) {
  site.rewritten = false;
  site.finding.outcome = Outcome::refused;
  site.finding.code = std::move(code);
  site.finding.message = std::move(why);
  site.finding.assumes.clear();
}

void SitePlanner::refuse(PlannedSite& site, const Where& clause, const SiteView& view) {
  std::string says = clause.says.empty() ? "a clause of the rule does not hold" : clause.says;
  refuse(site, clause.code.empty() ? "where" : clause.code, std::move(says));
  site.finding.clause = describe(clause, view);
}

bool SitePlanner::may_assume(const std::string& assumption) const {
  const EngineOptions& options = planner_.options_;
  return (!options.strict && !settings_.strict) || options.assume.contains(assumption) ||
         settings_.assume.contains(assumption);
}

bool SitePlanner::allowed(const Where& clause, const SiteView& view,
                          std::vector<std::string>& assumes) const {
  if (holds(clause, view)) return true;
  if (!clause.or_assume || contradicted(clause, view)) return false;
  if (!may_assume(*clause.or_assume)) return false;
  assumes.push_back(*clause.or_assume);
  return true;
}

const CompiledRewrite* SitePlanner::choose(const CompiledRule& rule, const SiteView& view,
                                           std::vector<std::string>& assumes,
                                           PlannedSite& site) const {
  std::string code = "no-counterpart";
  std::string why = "the target has nothing that computes this";
  std::string clause_text;
  for (const CompiledRewrite& rewrite : rule.rewrites) {
    const auto& targets = rewrite.source->targets;
    if (!targets.empty() && std::ranges::find(targets, planner_.options_.target) == targets.end()) {
      continue;
    }
    std::vector<std::string> stated = assumes;
    bool all = true;
    for (const Where& clause : rewrite.source->where) {
      if (allowed(clause, view, stated)) continue;
      all = false;
      if (!clause.code.empty()) {
        code = clause.code;
        why = clause.says;
        if (clause.kind == "rank") other_rank(clause, view, code, why);
        clause_text = describe(clause, view);
      }
      break;
    }
    if (!all) continue;
    for (const std::string& a : rewrite.source->assumes) {
      if (!may_assume(a)) {
        all = false;
        code = "assumption";
        why = "it needs the assumption `" + a + "`, which strict runs do not make";
        break;
      }
      stated.push_back(a);
    }
    if (!all) continue;
    assumes = std::move(stated);
    return &rewrite;
  }
  refuse(site, code, why);
  site.finding.clause = clause_text;
  return nullptr;
}

bool SitePlanner::defined_here(const CompiledRule& rule) const {
  return std::ranges::any_of(rule.rule->where, [&](const Where& clause) {
    if (clause.kind != "outside") return false;
    const std::string& package = clause.values.front().text;
    return unit_.module == package || unit_.module.starts_with(package + ".");
  });
}

void Planner::keep_back(const Unit& unit, const Frontend& frontend, UnitPlan& plan) const {
  using Group = std::pair<uint32_t, std::vector<ValueId>>;  // sites that are right only together
  std::set<Group> incomplete;
  const auto group = [](const PlannedSite& site) {
    return Group(site.site_function, site.change.together);
  };
  const auto keep = [&](PlannedSite& site, std::string code, std::string why) {
    if (site.rewritten && !site.change.together.empty()) incomplete.insert(group(site));
    SitePlanner::refuse(site, std::move(code), std::move(why));
  };
  for (const Remark& remark : remarks_of(unit, frontend)) {
    bool idle = true;
    for (PlannedSite& site : plan.sites) {
      if (!remark.covers(site.finding)) continue;
      idle = false;
      std::string code = "ignored";
      keep(site, std::move(code),
           "the comment `refit: ignore` at line " + std::to_string(remark.line) + " keeps it");
    }
    if (idle) plan.idle.push_back(remark.line);
  }
  for (PlannedSite& site : plan.sites) {
    if (!site.rewritten || !options_.chosen) continue;
    if (options_.chosen->contains(fingerprint(site.finding))) continue;
    keep(site, kNotChosen, "it is not among the sites that were chosen");
  }
  for (PlannedSite& site : plan.sites) {
    if (!site.rewritten || !incomplete.contains(group(site))) continue;
    SitePlanner::refuse(site, kNotChosen, "it is right only together with a site that stays");
  }
}

UnitPlan Planner::plan(const Unit& unit, const Frontend& frontend, const std::vector<bool>& enabled,
                       const FileSettings& settings) const {
  std::vector<bool> looking = enabled;
  for (size_t r = 0; r < looking.size() && !settings.without.empty(); ++r) {
    if (settings.without.contains(rules_.rules[r].rule->id)) looking[r] = false;
  }
  UnitPlan out;
  for (uint32_t f = 0; f < unit.functions.size(); ++f) {
    SitePlanner planner(*this, unit, frontend, f, settings);
    std::vector<PlannedSite> sites;  // of this function: nothing else looks through them
    planner.run(looking, sites);
    std::move(sites.begin(), sites.end(), std::back_inserter(out.sites));
  }
  std::ranges::stable_sort(
      out.sites, [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  keep_back(unit, frontend, out);
  return out;
}

}  // namespace refit
