// Calls by a name that a rule knows where the code does not show which function that is, and known
// functions that are handed on instead of called. Entry points: SitePlanner::unresolved, handed_on.
#include "rewriter/language/replaced_name.hpp"
#include "rewriter/plan/site/site_planner.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kBranchBound = 64;  // values of a callee that differs from branch to branch

// Whether a value is one of several that a name may have: behind an `if`, a `try`, a loop.
bool joins(const Value& v) {
  return v.kind == Kind::phi || (v.kind == Kind::opaque && v.range.size() == 0);
}

}  // namespace

void SitePlanner::unresolved_at(ValueId id, const CompiledRule& rule, const std::string& name,
                                std::string why, std::vector<PlannedSite>& out) {
  if (g_[id].range.size() == 0) return;
  PlannedSite site = new_site(rule, id);
  site.finding.callee = name;
  site.interior = {id};
  if (is_replaced_reason(why)) {
    refuse(site, "replaced-name", std::move(why));
  } else {
    refuse(site, "unresolved-callee", std::move(why));
  }
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
      if (const CompiledRule* rule = rule_of(catalogue_.find(name), enabled)) {
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
      if (const CompiledRule* rule = rule_of(catalogue_.find(v.text), enabled)) {
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
    if (const CompiledRule* rule = rule_of(catalogue_.find(full), enabled)) {
      unresolved_at(id, *rule, full, "it is looked up by its name; write the name out", out);
    }
    return;
  }
  if (v.kind != Kind::symbol) return;
  const CompiledRule* rule = rule_of(catalogue_.find(v.text), enabled);
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

}  // namespace refit
