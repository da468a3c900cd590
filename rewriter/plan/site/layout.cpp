// The layout of an attention call, or of a computation that becomes one: whether the transposes
// around it go, and with which other sites. Entry points: SitePlanner::set_layout, keep_together.
#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/layout.hpp"
#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

void SitePlanner::set_layout(PlannedSite& site, Change& change, const Layout& layout,
                             const std::string& keep_layout,
                             std::map<std::string, std::string>& otherwise) {
  const ValueId id = change.root;
  const std::string unknown = rank_not_shown(id, layout);
  Absorption absorption;
  if (!keep_layout.empty()) {
    absorption.why_not = keep_layout;
  } else if (unknown.empty()) {
    absorption = absorb(g_, id, layout, layout_context());
  } else {
    absorption.why_not = "the rank of `" + unknown + "` is not shown";
  }
  if (absorption.absorbed) {
    // Of calls that share transposes the first asks for the edits.
    if (id == absorption.calls.front()) {
      change.forwarded = absorption.forwarded;
      change.swapped = absorption.swapped;
      site.finding.transposes_absorbed = absorption.transposes;
    }
    if (absorption.calls.size() > 1) change.together = absorption.calls;
    site.finding.absorbed = true;
    return;
  }
  otherwise = layout.otherwise;
  site.finding.transposes_kept = transposes_nearby(g_, id, layout, region_at(id));
  if (site.finding.transposes_kept > 0) {
    site.finding.layout_kept = absorption.why_not;
  } else {
    site.finding.absorbed.reset();  // there is nothing to absorb
  }
}

const LayoutRegion* SitePlanner::region_at(ValueId value) const {
  auto part = layout_parts_.find(value);
  return part == layout_parts_.end() ? nullptr : &layout_regions_.at(part->second);
}

void SitePlanner::note_regions(const std::vector<PlannedSite>& regions) {
  for (const PlannedSite& site : regions) {
    const ValueId root = site.change.root;
    const Layout* layout = nullptr;
    for (size_t rule : planner_.rules_.pattern_rules) {
      const Rule& candidate = *planner_.rules_.rules[rule].rule;
      if (candidate.id == site.finding.rule && candidate.layout) layout = &*candidate.layout;
    }
    if (layout == nullptr || !site.rewritten) continue;
    bool placed = !g_[root].inlined && !g_.made_by_statement(root) && g_[root].kind == Kind::op;
    bool known = std::ranges::all_of(
        layout->operands, [&](const auto& o) { return site.operands.contains(o.first); });
    if (!placed || !known || !frontend_.keeps_together()) continue;
    LayoutRegion region{root, layout, {}, site.interior};
    region.interior.insert(root);
    for (const auto& [name, letters] : layout->operands) {
      region.operands[name] = site.operands.at(name);
      region.interior.erase(site.operands.at(name));
    }
    for (ValueId part : region.interior) layout_parts_.emplace(part, root);
    layout_regions_.emplace(root, std::move(region));
  }
  for (const auto& [root, region] : layout_regions_) {
    if (!rank_not_shown(root, *region.layout).empty()) rank_unknown_.insert(root);
  }
}

// The call is written with the layout's fallback until its transposes are known to go.
void SitePlanner::set_region_layout(PlannedSite& site, const std::string& keep_layout) {
  auto at = layout_regions_.find(site.change.root);
  if (!site.rewritten || at == layout_regions_.end()) return;
  const Layout& layout = *at->second.layout;
  auto named = [&](const NewArgument& a) { return layout.otherwise.contains(a.keyword); };
  Change change = site.change;
  change.forwarded.clear();
  change.swapped.clear();
  change.together.clear();
  std::erase_if(change.arguments, named);
  site.finding.absorbed = false;
  site.finding.transposes_absorbed = 0;
  std::map<std::string, std::string> otherwise;
  set_layout(site, change, layout, keep_layout, otherwise);
  add_arguments(change, otherwise);
  if ((!change.forwarded.empty() || !change.swapped.empty()) &&
      !frontend_.editable(unit_, change)) {
    set_region_layout(site, "a comment or other text inside a transpose stands in the way");
    return;
  }
  site.change = std::move(change);
}

std::string SitePlanner::rank_not_shown(ValueId call, const Layout& layout) const {
  for (const auto& [name, letters] : layout.operands) {
    const LayoutRegion* region = region_at(call);
    auto r = rank_of(g_, region != nullptr ? region->operands.at(name) : g_.argument(call, name));
    if (!r || *r != static_cast<int>(letters.size())) return name;
  }
  return "";
}

LayoutContext SitePlanner::layout_context() const {
  LayoutContext context;
  context.place = [this](ValueId value) { return place_of(value); };
  context.taken = [this](const Operation* op) {
    auto rules = planner_.rules_.by_callee.find(op);
    return rules != planner_.rules_.by_callee.end() &&
           std::ranges::any_of(rules->second,
                               [&](size_t r) { return !defined_here(planner_.rules_.rules[r]); });
  };
  context.over_last_axis = [this](ValueId call) {
    return g_.instances.contains(call) &&
           frontend_.attribute(unit_, function_, g_[call].operands[0]).over_last_axis;
  };
  context.fellow = [this](ValueId call) -> const Layout* {
    const Value& v = g_[call];
    if (!frontend_.keeps_together() || enabled_ == nullptr || v.kind != Kind::op || v.inlined ||
        v.syntax == kNone || v.range.size() == 0) {
      return nullptr;
    }
    const CompiledRule* rule = rule_of(v.op, *enabled_);
    if (rule == nullptr || !rule->rule->layout) return nullptr;
    return rank_not_shown(call, *rule->rule->layout).empty() ? &*rule->rule->layout : nullptr;
  };
  context.region = [this](ValueId value) -> const LayoutRegion* {
    const LayoutRegion* region = region_at(value);
    return region == nullptr || rank_unknown_.contains(region->root) ? nullptr : region;
  };
  return context;
}

// Calls that share transposes lose them all together: where one of them stays, the others keep
// their layout.
void SitePlanner::keep_together(std::vector<PlannedSite>& out) {
  auto made = [&](ValueId root, const std::vector<ValueId>& together) {
    return std::ranges::any_of(out, [&](const PlannedSite& site) {
      return site.rewritten && site.site_function == function_ && site.change.root == root &&
             site.change.together == together;
    });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (PlannedSite& site : out) {
      if (!site.rewritten || site.site_function != function_) continue;
      const std::vector<ValueId> together = site.change.together;
      auto missing =
          std::ranges::find_if(together, [&](ValueId root) { return !made(root, together); });
      if (missing == together.end()) continue;
      const ValueId root = site.change.root;
      const std::string why =
          "it shares a transpose with a call that keeps its layout (" + place_of(*missing) + ")";
      if (layout_regions_.contains(root)) {
        set_region_layout(site, why);
        changed = true;
        continue;
      }
      const CompiledRule* rule = rule_of(g_[root].op, *enabled_);
      if (rule == nullptr) continue;
      site = call_site(*rule, root, why);
      changed = true;
    }
  }
}

}  // namespace refit
