// Sites of one unit: which values are looked at, and which site of several wins. See planner.hpp.
#include "rewriter/plan/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "rewriter/match/describe.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kBranchBound = 64;  // values of a callee that differs from branch to branch

// Whether a value is one of several that a name may have: behind an `if`, a `try`, a loop.
bool joins(const Value& v) {
  return v.kind == Kind::phi || (v.kind == Kind::opaque && v.range.size() == 0);
}

}  // namespace

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
  anchors(enabled, taken, out);
}

// The largest explanation of a value wins; `taken` gets what the winners explain.
std::vector<PlannedSite> SitePlanner::largest(std::vector<PlannedSite> regions,
                                              std::set<ValueId>& taken) {
  std::stable_sort(regions.begin(), regions.end(), [](const auto& a, const auto& b) {
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
    bool free = std::none_of(site.interior.begin(), site.interior.end(), [&](ValueId v) {
      if (!taken.contains(v)) return false;
      const std::vector<ValueId>& together = owner.at(v).together;
      return together.empty() || together != site.change.together;
    });
    if (!free) {
      // What another site took a part of is refused all the same, and said, unless one of the two
      // is a part of the other by the same rule.
      bool own = std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId v) {
        auto by = owner.find(v);
        return by != owner.end() && by->second.rule == site.finding.rule &&
               (v == site.root || site.interior.contains(by->second.root));
      });
      if (site.rewritten || own) continue;
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
  f.rule = rule.rule->id;
  f.before = unit_.source().slice(site.range);
  f.callee = unit_.functions[function_].qualified;
  if (f.callee.empty()) f.callee = unit_.module;
  site.function = unit_.functions[function_].qualified;
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

void SitePlanner::unresolved_at(ValueId id, const CompiledRule& rule, const std::string& name,
                                std::string why, std::vector<PlannedSite>& out) {
  if (g_[id].range.size() == 0) return;
  PlannedSite site = new_site(rule, id);
  site.finding.callee = name;
  site.interior = {id};
  refuse(site, "unresolved-callee", std::move(why));
  out.push_back(std::move(site));
}

void SitePlanner::unresolved(ValueId id, const std::vector<bool>& enabled,
                             std::vector<PlannedSite>& out) {
  const Value& callee = g_[g_[id].operands[0]];
  std::string why;
  if (callee.kind == Kind::attribute) {
    ValueId first = callee.operands[0];  // `torch` of `torch.nn.functional.gelu`
    while (g_[first].kind == Kind::attribute) first = g_[first].operands[0];
    Kind base = g_[callee.operands[0]].kind;
    if (base == Kind::parameter || base == Kind::op || base == Kind::call) return;
    const std::string& known = g_[first].literal.text;
    why = g_[first].kind == Kind::unknown && !known.empty()
              ? known
              : "what stands before the dot is not shown to be a module";
  } else if (callee.kind == Kind::unknown && !callee.literal.text.empty()) {
    why = callee.literal.text;
    for (const std::string& name : callee.keywords) {
      if (const CompiledRule* rule = rule_of(catalogue_->find(name), enabled)) {
        std::string choice;
        for (const std::string& other : callee.keywords) {
          choice += (choice.empty() ? "" : " or ") + other;
        }
        if (callee.keywords.size() == 1) {
          choice += " or another: " + why;
        } else {
          choice += ", which one is decided at run time; call each where it is chosen";
        }
        unresolved_at(id, *rule, name, "it may be " + choice, out);
        return;
      }
    }
  } else if (joins(callee)) {
    std::vector<ValueId> work{g_[id].operands[0]};
    for (int step = 0; !work.empty(); ++step) {
      if (step == kBranchBound) {
        reached(Bound::branch_values, g_[id].range.begin);
        break;
      }
      const Value& v = g_[work.back()];
      work.pop_back();
      if (v.kind == Kind::phi) {
        work.insert(work.end(), {v.operands[2], v.operands[1]});
      } else if (joins(v) && step == 0) {
        std::ranges::copy_if(v.operands, std::back_inserter(work), [&](ValueId operand) {
          return operand != kNone && g_[operand].kind == Kind::symbol;
        });
      }
      if (v.kind != Kind::symbol) continue;
      if (const CompiledRule* rule = rule_of(catalogue_->find(v.text), enabled)) {
        unresolved_at(id, *rule, v.text,
                      "which function it is differs from branch to branch; call each where it is "
                      "chosen",
                      out);
        return;
      }
    }
    return;
  } else {
    return;
  }
  // A class is meant only where the reason names it; of one that the tree may define itself the
  // definition is looked at.
  auto named = [&](const Operation* op) {
    return !op->is_class || why.find("`" + op->id + "`") != std::string::npos;
  };
  // Of several rules the first, whatever the order of the table, which is that of addresses.
  size_t chosen = planner_.rules_.rules.size();
  for (const auto& [op, rules] : planner_.rules_.by_callee) {
    if (op->id.substr(op->id.rfind('.') + 1) != callee.text) continue;
    if (!named(op)) continue;
    for (size_t rule : rules) {
      if (enabled[rule]) chosen = std::min(chosen, rule);
    }
  }
  if (chosen == planner_.rules_.rules.size()) return;
  unresolved_at(
      id, planner_.rules_.rules[chosen], callee.text,
      "the name is that of a known function or class, but which one it is is not shown: " + why,
      out);
}

// A known function that is handed on instead of called: `partial(sdpa, scale=s)`, `self.f = sdpa`.
void SitePlanner::handed_on(ValueId id, const std::vector<bool>& enabled,
                            std::vector<PlannedSite>& out) {
  const Value& v = g_[id];
  if (v.kind == Kind::call) {  // getattr(F, "scaled_dot_product_attention")
    const Value& callee = g_[v.operands[0]];
    if (callee.kind != Kind::unknown || callee.text != "getattr" || v.operands.size() < 3) return;
    const Value &module = g_[v.operands[1]], &name = g_[v.operands[2]];
    if (module.kind != Kind::symbol || name.kind != Kind::literal) return;
    std::string full = module.text + "." + name.literal.text;
    if (const CompiledRule* rule = rule_of(catalogue_->find(full), enabled)) {
      unresolved_at(id, *rule, full, "it is looked up by its name; write the name out", out);
    }
    return;
  }
  if (v.kind != Kind::symbol) return;
  const CompiledRule* rule = rule_of(catalogue_->find(v.text), enabled);
  if (rule == nullptr) return;
  bool handed = g_.used_by_statement(id);
  for (ValueId user : g_.users(id)) {
    const Value& u = g_[user];
    bool container = u.kind == Kind::tuple || u.kind == Kind::list ||
                     (u.kind == Kind::opaque && (u.text == "dictionary" || u.text == "set"));
    bool argument = u.kind == Kind::call &&
                    std::find(u.operands.begin() + 1, u.operands.end(), id) != u.operands.end();
    handed = handed || container || argument;
  }
  if (!handed) return;
  unresolved_at(id, *rule, v.text,
                "it is handed on as a value, and where that is called is not shown; call it there "
                "by its name",
                out);
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

bool SitePlanner::allowed(const Where& clause, const SiteView& view,
                          std::vector<std::string>& assumes) const {
  if (holds(clause, view)) return true;
  if (!clause.or_assume || contradicted(clause, view)) return false;
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
  std::string clause_text;
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
        clause_text = describe(clause, view);
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
  site.finding.clause = clause_text;
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
  std::unordered_set<const Operation*> operations;
  std::array<bool, kValueKinds> kinds{};  // of values that are no operation's
  for (const Value& v : g_.values) {
    if (v.op != nullptr) {
      operations.insert(v.op);
    } else {
      kinds.at(static_cast<size_t>(v.kind)) = true;
    }
  }
  // Whether the function has any value that an anchor could begin at.
  auto has = [&](const CompiledAnchor& anchor) {
    if (!anchor.operation.empty()) {
      return std::any_of(anchor.operation.begin(), anchor.operation.end(),
                         [&](const Operation* op) { return operations.contains(op); });
    }
    return std::any_of(anchor.patterns.begin(), anchor.patterns.end(), [&](const auto& pattern) {
      const Value& root = pattern.graph[pattern.root];
      return root.op != nullptr ? operations.contains(root.op)
                                : kinds.at(static_cast<size_t>(root.kind));
    });
  };
  std::set<ValueId> rewritten;
  for (const PlannedSite& site : out) {
    if (site.rewritten) rewritten.insert(site.interior.begin(), site.interior.end());
  }
  for (size_t index : planner_.rules_.pattern_rules) {
    const CompiledRule& rule = planner_.rules_.rules[index];
    if (!enabled[index] || std::none_of(rule.anchors.begin(), rule.anchors.end(), has)) continue;
    std::set<ValueId> explained = taken;
    for (const CompiledAnchor& anchor : rule.anchors) {
      if (!has(anchor)) continue;
      // From the last value back, so that of two that meet it the one around the other speaks.
      for (auto id = static_cast<ValueId>(g_.values.size()); id-- > 0;) {
        if (!live[id] || g_[id].inlined || explained.contains(id)) continue;
        std::set<ValueId> interior;
        const bool by_shape = anchor.operation.empty();
        if (!(by_shape ? meets(anchor, id, explained, interior) : fed(anchor, id, rewritten))) {
          continue;
        }
        if (!by_shape) interior = {id};
        PlannedSite site = new_site(rule, id);
        if (site.range.size() == 0) continue;
        explained.insert(interior.begin(), interior.end());
        site.interior = {id};
        refuse(site, anchor.source->code, anchor.source->says);
        if (auto near = near_miss(rule, readers(id))) site.finding.clause = difference(*near);
        bool known = std::any_of(out.begin(), out.end(), [&](const PlannedSite& other) {
          return !other.rewritten && other.range == site.range &&
                 (other.finding.code == site.finding.code ||
                  other.finding.rule == site.finding.rule);
        });
        if (!known) out.push_back(std::move(site));
      }
    }
  }
}

bool SitePlanner::meets(const CompiledAnchor& anchor, ValueId id, const std::set<ValueId>& taken,
                        std::set<ValueId>& interior) const {
  for (const CompiledPattern& pattern : anchor.patterns) {
    const Value& want = pattern.graph[pattern.root];
    if (want.kind != g_[id].kind || want.op != g_[id].op) continue;
    Bindings bindings;
    if (!match_value(pattern.graph, pattern.root, g_, id, bindings)) continue;
    bool explained = std::any_of(bindings.interior.begin(), bindings.interior.end(),
                                 [&](ValueId part) { return taken.contains(part); });
    if (explained) continue;
    SiteView view = region_view(id, bindings);
    std::vector<std::string> assumes;
    bool all = std::all_of(pattern.source->where.begin(), pattern.source->where.end(),
                           [&](const Where& clause) { return allowed(clause, view, assumes); });
    if (!all) continue;
    interior = std::move(bindings.interior);
    return true;
  }
  return false;
}

namespace {

constexpr size_t kFeedBound = 48;  // values that are looked at behind an anchor's operand

// What a value has its numbers from where its shape does not change on the way; the second operand
// of two is beside the way.
std::vector<ValueId> sources(const Graph& g, ValueId id) {
  const Value& v = g[id];
  switch (v.kind) {
    case Kind::phi:
      return {v.operands[1], v.operands[2]};
    case Kind::attribute:
    case Kind::index:
    case Kind::element:
    case Kind::update:
      return {v.operands[0]};
    case Kind::opaque:
      return v.text == graph::kStoredElsewhere ? v.operands : std::vector<ValueId>{};
    case Kind::call:  // a method
      if (g[v.operands[0]].kind == Kind::attribute) return {g[v.operands[0]].operands[0]};
      return {};
    case Kind::op:
      if (v.operands.empty()) return {};
      if (v.op->axes == AxisKind::elementwise && v.operands.size() != 2) return v.operands;
      if (v.op->axes == AxisKind::elementwise || v.op->axes == AxisKind::cast ||
          v.op->axes == AxisKind::contiguous || v.op->view || v.op->in_place ||
          v.op->axes == AxisKind::last_dim) {
        return {v.operands[0]};
      }
      return {};
    default:
      return {};
  }
}

}  // namespace

// Whether an operation of the anchor takes, at whatever remove, what one of `fed_by` gives.
bool SitePlanner::fed(const CompiledAnchor& anchor, ValueId id,
                      const std::set<ValueId>& taken) const {
  const Value& v = g_[id];
  ValueId first = kNone;
  if (v.kind == Kind::op && anchor.operation.contains(v.op) && !v.op->is_class) {
    first = v.operands.empty() ? kNone : v.operands[0];
  } else if (v.kind == Kind::call && v.operands.size() > 1) {
    const Value& module = g_[v.operands[0]];  // an instance of a class, called at once
    if (module.kind == Kind::op && anchor.operation.contains(module.op)) first = v.operands[1];
  }
  if (first == kNone) return false;
  std::vector<ValueId> work{first}, beside;
  std::set<ValueId> seen;
  while (!work.empty()) {
    if (seen.size() >= kFeedBound) {
      reached(Bound::fed_values, v.range.begin);
      break;
    }
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || !seen.insert(at).second || taken.contains(at)) continue;
    if (g_[at].kind == Kind::op && anchor.fed_by.contains(g_[at].op)) return true;
    if (g_[at].kind == Kind::op && g_[at].op->axes == AxisKind::elementwise &&
        g_[at].operands.size() == 2) {
      beside.push_back(g_[at].operands[1]);
    }
    if (g_[at].kind == Kind::opaque && g_[at].text == graph::kStoredElsewhere) {
      for (ValueId user : g_.users(g_[at].operands[0])) {
        const Value& u = g_[user];
        if (u.kind == Kind::op && u.op->in_place && anchor.fed_by.contains(u.op)) return true;
      }
    }
    for (ValueId source : sources(g_, at)) {
      if (source != kNone && !is_boolean(g_, source)) work.push_back(source);  // no mask
    }
  }
  // Beside the way counts what is computed from something on it: `x - x.amax()`, not a scale.
  for (size_t i = 0; i < beside.size() && i < kFeedBound; ++i) {
    ValueId at = beside[i];
    if (at == kNone || taken.contains(at)) continue;
    if (g_[at].kind == Kind::op && anchor.fed_by.contains(g_[at].op)) {
      std::vector<ValueId> of = sources(g_, at);
      if (!g_[at].operands.empty()) of.push_back(g_[at].operands[0]);
      if (std::any_of(of.begin(), of.end(), [&](ValueId s) { return seen.contains(s); })) {
        return true;
      }
    } else {
      for (ValueId source : sources(g_, at)) beside.push_back(source);
    }
  }
  return false;
}

UnitPlan Planner::plan(const Unit& unit, const Frontend& frontend,
                       const std::vector<bool>& enabled) const {
  UnitPlan out;
  for (uint32_t f = 0; f < unit.functions.size(); ++f) {
    SitePlanner planner(*this, unit, frontend, f);
    planner.catalogue_ = catalogue_;
    std::vector<PlannedSite> sites;  // of this function: nothing else looks through them
    planner.run(enabled, sites);
    std::move(sites.begin(), sites.end(), std::back_inserter(out.sites));
  }
  std::stable_sort(out.sites.begin(), out.sites.end(),
                   [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  return out;
}

}  // namespace refit
