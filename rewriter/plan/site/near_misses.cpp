// The pattern that a value comes nearest to without matching, and the part in which it differs.
// Entry points: SitePlanner::near_miss, Planner::near_misses.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "rewriter/graph/compare.hpp"
#include "rewriter/match/describe.hpp"
#include "rewriter/plan/site/site_planner.hpp"

namespace refit {

namespace {

constexpr int kReaders = 6;         // steps from a telltale to what is computed from it
constexpr size_t kShown = 80;       // bytes of the source's own text
constexpr size_t kRoots = 64;       // values that are compared with the patterns
constexpr int kLeastAgreement = 3;  // parts; fewer are no resemblance
constexpr int kChoicesDeep = 8;     // holes within holes of one pattern

}  // namespace

std::string SitePlanner::text_of_value(ValueId id) const {
  const Value& v = g_[id];
  ByteRange range = v.range;
  std::string text(unit_.source().slice(range));
  if (text.empty() || text.size() > kShown || text.find('\n') != std::string::npos) {
    std::string known = spelt_out(g_, id);
    if (known != "…" && known.size() <= 2 * kShown) return "`" + known + "`";
    // Nothing that has a name, or too much: how the source begins to say it.
    if (range.size() == 0 && v.statement != kNone) range = g_.statements[v.statement].range;
    if (range.size() == 0) {
      return known == "…" ? "something that the code does not show" : "`" + known + "`";
    }
    text = unit_.source().slice(range);
    size_t end = std::min({text.find_first_of("\r\n"), text.size(), kShown});
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + (end < text.size() ? " …" : "");
  }
  return fmt::format("`{}` at line {}", text, unit_.source().position(range.begin).line);
}

std::vector<ValueId> SitePlanner::readers(ValueId id) const {
  std::vector<ValueId> out{id};
  std::set<ValueId> seen{id};
  size_t begin = 0;
  for (int step = 0; step < kReaders; ++step) {
    size_t end = out.size();
    for (; begin < end && out.size() < kRoots; ++begin) {
      for (ValueId user : g_.users(out[begin])) {
        if (seen.insert(user).second) out.push_back(user);
      }
    }
  }
  return out;
}

std::optional<SitePlanner::Near> SitePlanner::near_miss(const CompiledRule& rule,
                                                        const std::vector<ValueId>& roots) const {
  std::optional<Near> best;
  auto keep = [&](const std::optional<Near>& near) {
    if (!near) return;
    auto order = [](const Comparison& c) { return std::pair(c.parts - c.agreeing, -c.agreeing); };
    if (!best || order(near->comparison) < order(best->comparison)) best = near;
  };
  for (ValueId root : roots) {
    // Where a pattern fits but for what its holes may be, it is there that the value differs.
    std::vector<Near> open{{&rule, nullptr, root, {}, {}}};
    std::optional<Near> here;
    for (const CompiledPattern& pattern : rule.patterns) {
      here = nearer(here, rule, pattern, root, kLeastAgreement, open);
    }
    bool fits = open.size() > 1;
    for (size_t i = 1; i < open.size(); ++i) {
      Bindings bindings;
      const CompiledPattern* outer = open[i].pattern;
      if (!match_value(outer->graph, outer->root, g_, open[i].root, bindings)) continue;
      if (i == 1) here.reset();
      for (const auto& [hole, alternatives] : rule.choices) {
        auto bound = bindings.holes.find(hole);
        if (bound == bindings.holes.end() || open.size() > kRoots) continue;
        for (const CompiledPattern& alternative : alternatives) {
          here = nearer(here, rule, alternative, bound->second, 2, open);
        }
      }
    }
    if (here && fits) here->root = root;
    if (fits) {
      Unmet rest = unmet(rule, rule.patterns, root, {}, 0);
      int parts = static_cast<int>(rest.parts);
      if (rest.pattern != nullptr) {
        here = Near{&rule, rest.pattern, root, {parts, parts, kNone, kNone}, rest.clause};
      } else if (!here && !rest.fits && rest.value != root) {
        here = Near{&rule, open[1].pattern, root, {parts, parts + 1, kNone, rest.value}, ""};
      }
    }
    keep(here);
  }
  return best;
}

SitePlanner::Unmet SitePlanner::unmet(const CompiledRule& rule,
                                      const std::vector<CompiledPattern>& patterns, ValueId value,
                                      const Bindings& outer, int depth) const {
  // What explains most of the value speaks, be it by a clause or because nothing fits its rest.
  Unmet best{false, nullptr, outer.interior.size(), value, ""};
  if (depth > kChoicesDeep) return best;
  auto keep = [&](const Unmet& other) {
    if (other.parts > best.parts) best = other;
  };
  for (const CompiledPattern& pattern : patterns) {
    Bindings bindings = outer;
    if (!match_value(pattern.graph, pattern.root, g_, value, bindings)) continue;
    SiteView view = region_view(value, bindings);
    const auto& where = pattern.source->where;
    auto failing = std::ranges::find_if_not(
        where, [&](const Where& clause) { return !clause.code.empty() || holds(clause, view); });
    if (failing != where.end()) {
      // A pattern that is a hole alone fits everything.
      if (pattern.graph[pattern.root].kind == Kind::hole) continue;
      keep({false, &pattern, bindings.interior.size(), value, describe(*failing, view)});
      continue;
    }
    bool fits = true;
    for (const auto& [hole, alternatives] : rule.choices) {
      auto bound = bindings.holes.find(hole);
      if (bound == bindings.holes.end() || outer.holes.contains(hole)) continue;
      Unmet inner = unmet(rule, alternatives, bound->second, bindings, depth + 1);
      fits = fits && inner.fits;
      if (!inner.fits) keep(inner);
    }
    if (fits) return {true, nullptr, 0, kNone, ""};
  }
  if (depth > 0 && g_[value].kind == Kind::phi) {  // each branch may have a spelling of its own
    bool both = true;
    for (ValueId branch : {g_[value].operands[1], g_[value].operands[2]}) {
      Unmet inner = unmet(rule, patterns, branch, outer, depth + 1);
      both = both && inner.fits;
      if (!inner.fits) keep(inner);
    }
    if (both) return {true, nullptr, 0, kNone, ""};
  }
  return best;
}

// `so_far`, or how near the value comes to this pattern; one that it fits goes to `open`.
std::optional<SitePlanner::Near> SitePlanner::nearer(const std::optional<Near>& so_far,
                                                     const CompiledRule& rule,
                                                     const CompiledPattern& pattern, ValueId root,
                                                     int least, std::vector<Near>& open) const {
  const Value& want = pattern.graph[pattern.root];
  if (root == kNone || want.kind != g_[root].kind || want.op != g_[root].op) return so_far;
  Comparison c = compare(pattern.graph, pattern.root, g_, root);
  Near near{&rule, &pattern, root, c, {}};
  if (c.wanted == kNone) {
    open.push_back(near);
    return so_far;
  }
  if (c.agreeing < least || 2 * c.agreeing <= c.parts) return so_far;  // half is no resemblance
  if (!so_far) return near;
  int before = so_far->comparison.parts - so_far->comparison.agreeing;
  int now = c.parts - c.agreeing;
  bool better = now != before ? now < before : c.agreeing > so_far->comparison.agreeing;
  return better ? near : so_far;
}

std::string SitePlanner::difference(const Near& near) const {
  const Comparison& c = near.comparison;
  const RuleLocation& at = near.pattern->source->at;
  std::string file = at.file.substr(at.file.rfind('/') + 1);
  if (!near.unmet.empty()) {
    return fmt::format("the pattern at {}:{} fits but for this: {}", file, at.line, near.unmet);
  }
  if (c.wanted == kNone) {
    return fmt::format("the pattern at {}:{} fits until {}, for which the rule has no spelling",
                       file, at.line, text_of_value(c.instead));
  }
  std::string wanted = spelt_out(near.pattern->graph, c.wanted);
  return fmt::format("the pattern at {}:{} has `{}` where this has {}", file, at.line, wanted,
                     c.instead == kNone ? "nothing" : text_of_value(c.instead));
}

std::vector<NearMiss> Planner::near_misses(const Unit& unit, const Frontend& frontend,
                                           uint32_t line) const {
  std::vector<NearMiss> out;
  const FileSettings settings;
  for (uint32_t f = 0; f < unit.functions.size(); ++f) {
    const Graph& g = unit.functions[f].graph;
    std::vector<ValueId> roots;
    for (ValueId id = 0; id < g.values.size() && roots.size() < 4 * kRoots; ++id) {
      ByteRange r = g[id].range;
      if (r.size() == 0 && g[id].statement != kNone) r = g.statements[g[id].statement].range;
      if (r.size() == 0 || g[id].inlined) continue;
      uint32_t first = unit.source().position(r.begin).line;
      if (first > line || unit.source().position(r.end).line < line) continue;
      roots.push_back(id);
    }
    if (roots.empty()) continue;
    SitePlanner planner(*this, unit, frontend, f, settings);
    std::set<ValueId> all(roots.begin(), roots.end());
    for (ValueId id : roots) {
      for (ValueId reader : planner.readers(id)) all.insert(reader);
      if (all.size() > 8 * kRoots) break;
    }
    for (size_t index : rules_.pattern_rules) {
      auto near = planner.near_miss(rules_.rules[index], {all.begin(), all.end()});
      if (!near) continue;
      NearMiss miss;
      miss.rule = near->rule->rule->id;
      ByteRange r = g[near->root].range;
      miss.line = r.size() == 0 ? line : unit.source().position(r.begin).line;
      miss.agreeing = near->comparison.agreeing;
      miss.parts = near->comparison.parts;
      miss.message = planner.difference(*near);
      out.push_back(std::move(miss));
    }
  }
  auto order = [](const NearMiss& miss) {
    return std::tuple(miss.parts - miss.agreeing, -miss.agreeing, miss.line,
                      std::string_view(miss.rule));
  };
  std::ranges::sort(out, [&](const NearMiss& a, const NearMiss& b) { return order(a) < order(b); });
  if (out.size() > 3) out.resize(3);
  return out;
}

}  // namespace refit
