// Values that look like the start of a computation which no pattern of its rule recognises: each is
// refused with the pattern that comes nearest. Entry point: SitePlanner::anchors.
#include "rewriter/plan/site/site_planner.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "rewriter/match/facts.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

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
      return v.text == kStoredElsewhere ? v.operands : std::vector<ValueId>{};
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
      return std::ranges::any_of(anchor.operation,
                                 [&](const Operation* op) { return operations.contains(op); });
    }
    return std::ranges::any_of(anchor.patterns, [&](const auto& pattern) {
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
    if (!enabled[index] || std::ranges::none_of(rule.anchors, has)) continue;
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
        bool known = std::ranges::any_of(out, [&](const PlannedSite& other) {
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
    bool explained =
        std::ranges::any_of(bindings.interior, [&](ValueId part) { return taken.contains(part); });
    if (explained) continue;
    SiteView view = region_view(id, bindings);
    std::vector<std::string> assumes;
    bool all = std::ranges::all_of(
        pattern.source->where, [&](const Where& clause) { return allowed(clause, view, assumes); });
    if (!all) continue;
    interior = std::move(bindings.interior);
    return true;
  }
  return false;
}

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
    if (g_[at].kind == Kind::opaque && g_[at].text == kStoredElsewhere) {
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
      if (std::ranges::any_of(of, [&](ValueId s) { return seen.contains(s); })) {
        return true;
      }
    } else {
      for (ValueId source : sources(g_, at)) beside.push_back(source);
    }
  }
  return false;
}

}  // namespace refit
