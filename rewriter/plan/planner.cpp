// Sites of one unit: which values are looked at, and which site of several wins. See planner.hpp.
#include "rewriter/plan/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"

namespace refit {

void SitePlanner::run(const std::vector<bool>& enabled, std::vector<PlannedSite>& out) {
  const auto& live = g_.live();
  std::vector<PlannedSite> regions;
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
    if (!live[id] || v.inlined) continue;
    for (size_t rule : planner_.rules_.pattern_rules) {
      if (!enabled[rule]) continue;
      auto site = region_site(planner_.rules_.rules[rule], id);
      if (site) regions.push_back(std::move(*site));
    }
  }
  // The largest explanation of a value wins.
  std::stable_sort(regions.begin(), regions.end(), [](const auto& a, const auto& b) {
    if (a.rewritten != b.rewritten) return a.rewritten;
    return a.interior.size() > b.interior.size();
  });
  std::set<ValueId> taken;
  for (PlannedSite& site : regions) {
    bool free = std::none_of(site.interior.begin(), site.interior.end(),
                             [&](ValueId v) { return taken.contains(v); });
    if (!free) continue;
    taken.insert(site.interior.begin(), site.interior.end());
    out.push_back(std::move(site));
  }
  anchors(enabled, taken, out);
}

PlannedSite SitePlanner::new_site(const CompiledRule& rule, ValueId id) {
  PlannedSite site;
  const Value& v = g_[id];
  site.range = v.range;
  if (site.range.size() == 0 && v.statement != kNone) {
    site.range = g_.statements[v.statement].range;
  }
  Finding& f = site.finding;
  auto begin = unit_.source().position(site.range.begin);
  f.line = begin.line;
  f.column = begin.column;
  f.end_line = unit_.source().position(site.range.end).line;
  f.rule = rule.rule->id;
  f.before = unit_.source().slice(site.range);
  f.callee = unit_.functions[function_].qualified;
  if (f.callee.empty()) f.callee = unit_.module;
  site.function = unit_.functions[function_].qualified;
  return site;
}

void SitePlanner::unresolved(ValueId id, const std::vector<bool>& enabled,
                             std::vector<PlannedSite>& out) {
  const Value& callee = g_[g_[id].operands[0]];
  std::string why;
  if (callee.kind == Kind::attribute) {
    Kind base = g_[callee.operands[0]].kind;
    if (base == Kind::parameter || base == Kind::op || base == Kind::call) return;
    why = "what stands before the dot is not shown to be a module";
  } else if (callee.kind == Kind::unknown && !callee.literal.text.empty()) {
    why = callee.literal.text;
  } else {
    return;
  }
  for (const auto& [op, rules] : planner_.rules_.by_callee) {
    if (op->id.substr(op->id.rfind('.') + 1) != callee.text || op->is_class) continue;
    for (size_t rule : rules) {
      if (!enabled[rule] || g_[id].range.size() == 0) continue;
      PlannedSite site = new_site(planner_.rules_.rules[rule], id);
      site.finding.callee = callee.text;
      site.interior = {id};
      refuse(site, "unresolved-callee",
             "the name is that of a known function, but which one it is is not shown: " + why);
      out.push_back(std::move(site));
      return;
    }
  }
}

void SitePlanner::refuse(PlannedSite& site, std::string code, std::string why) {
  site.rewritten = false;
  site.finding.outcome = Outcome::refused;
  site.finding.code = std::move(code);
  site.finding.message = std::move(why);
  site.finding.assumes.clear();
}

bool SitePlanner::allowed(const Where& clause, const SiteView& view,
                          std::vector<std::string>& assumes) const {
  if (holds(clause, view)) return true;
  if (!clause.or_assume) return false;
  if (planner_.options_.strict && !planner_.options_.assume.contains(*clause.or_assume)) {
    return false;
  }
  assumes.push_back(*clause.or_assume);
  return true;
}

const CompiledRewrite* SitePlanner::choose(const CompiledRule& rule, const SiteView& view,
                                           std::vector<std::string>& assumes,
                                           PlannedSite& site) const {
  std::string code = "no-counterpart";
  std::string why = "the target has nothing that computes this";
  for (const CompiledRewrite& rewrite : rule.rewrites) {
    const auto& targets = rewrite.source->targets;
    if (!targets.empty() &&
        std::find(targets.begin(), targets.end(), planner_.options_.target) == targets.end()) {
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
      }
      break;
    }
    if (!all) continue;
    for (const std::string& a : rewrite.source->assumes) {
      if (planner_.options_.strict && !planner_.options_.assume.contains(a)) {
        all = false;
        code = "assumption";
        why = "it needs the assumption `" + a + "`, which --strict does not make";
        break;
      }
      stated.push_back(a);
    }
    if (!all) continue;
    assumes = std::move(stated);
    return &rewrite;
  }
  refuse(site, code, why);
  return nullptr;
}

bool SitePlanner::defined_here(const CompiledRule& rule) const {
  return std::any_of(rule.rule->where.begin(), rule.rule->where.end(), [&](const Where& clause) {
    if (clause.kind != "outside") return false;
    const std::string& package = clause.values.front().text;
    return unit_.module == package || unit_.module.starts_with(package + ".");
  });
}

void SitePlanner::anchors(const std::vector<bool>& enabled, const std::set<ValueId>& taken,
                          std::vector<PlannedSite>& out) {
  const auto& live = g_.live();
  for (size_t index : planner_.rules_.pattern_rules) {
    const CompiledRule& rule = planner_.rules_.rules[index];
    if (!enabled[index] || !rule.rule->anchor) continue;
    for (ValueId id = 0; id < g_.values.size(); ++id) {
      if (!live[id] || g_[id].inlined || taken.contains(id)) continue;
      for (const CompiledPattern& anchor : rule.anchors) {
        const Value& want = anchor.graph[anchor.root];
        if (want.kind != g_[id].kind || want.op != g_[id].op) continue;
        Bindings bindings;
        if (!match_value(anchor.graph, anchor.root, g_, id, bindings)) continue;
        PlannedSite site = new_site(rule, id);
        site.interior = {id};
        if (site.range.size() == 0) break;
        refuse(site, rule.rule->anchor->code, rule.rule->anchor->says);
        bool known = std::any_of(out.begin(), out.end(), [&](const PlannedSite& other) {
          return !other.rewritten && other.range == site.range &&
                 other.finding.code == site.finding.code;
        });
        if (!known) out.push_back(std::move(site));
        break;
      }
    }
  }
}

UnitPlan Planner::plan(const Unit& unit, const Frontend& frontend,
                       const std::vector<bool>& enabled) const {
  UnitPlan out;
  for (uint32_t f = 0; f < unit.functions.size(); ++f) {
    SitePlanner planner(*this, unit, frontend, f);
    planner.catalogue_ = catalogue_;
    planner.run(enabled, out.sites);
  }
  std::stable_sort(out.sites.begin(), out.sites.end(),
                   [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  return out;
}

}  // namespace refit
