// The pattern that a value comes nearest to without matching, and the part in which it differs.
// Entry points: SitePlanner::nearest, Planner::near_misses.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "rewriter/graph/compare.hpp"
#include "rewriter/plan/site_planner.hpp"

namespace refit {

namespace {

constexpr int kReaders = 6;         // steps from a telltale to what is computed from it
constexpr size_t kRoots = 64;       // values that are compared with the patterns
constexpr int kLeastAgreement = 3;  // parts; fewer are no resemblance

}  // namespace

std::string SitePlanner::text_of_value(ValueId id) const {
  const Value& v = g_[id];
  if (v.range.size() == 0 || v.range.size() > 80) return "`" + graph_text(id) + "`";
  std::string text(unit_.source().slice(v.range));
  if (text.find('\n') != std::string::npos) return "`" + graph_text(id) + "`";
  return fmt::format("`{}` at line {}", text, unit_.source().position(v.range.begin).line);
}

std::string SitePlanner::graph_text(ValueId id) const { return spelt_out(g_, id); }

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

std::optional<SitePlanner::Near> SitePlanner::nearest(const CompiledRule& rule,
                                                      const std::vector<ValueId>& roots) const {
  std::optional<Near> best;
  for (ValueId root : roots) {
    for (const CompiledPattern& pattern : rule.patterns) {
      const Value& want = pattern.graph[pattern.root];
      if (want.kind != g_[root].kind || want.op != g_[root].op) continue;
      Comparison c = compare(pattern.graph, pattern.root, g_, root);
      if (c.wanted == kNone || c.agreeing < kLeastAgreement || 2 * c.agreeing < c.parts) continue;
      auto better = [](const Comparison& a, const Comparison& b) {
        int differ_a = a.parts - a.agreeing, differ_b = b.parts - b.agreeing;
        return differ_a != differ_b ? differ_a < differ_b : a.agreeing > b.agreeing;
      };
      if (!best || better(c, best->comparison)) best = Near{&rule, &pattern, root, c};
    }
  }
  return best;
}

std::string SitePlanner::difference(const Near& near) const {
  const Comparison& c = near.comparison;
  std::string wanted = spelt_out(near.pattern->graph, c.wanted);
  const RuleLocation& at = near.pattern->source->at;
  std::string file = at.file.substr(at.file.rfind('/') + 1);
  return fmt::format("the pattern at {}:{} has `{}` where this has {}", file, at.line, wanted,
                     c.instead == kNone ? "nothing" : text_of_value(c.instead));
}

std::vector<NearMiss> Planner::near_misses(const Unit& unit, const Frontend& frontend,
                                           uint32_t line) const {
  std::vector<NearMiss> out;
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
    SitePlanner planner(*this, unit, frontend, f);
    planner.catalogue_ = catalogue_;
    std::set<ValueId> all(roots.begin(), roots.end());
    for (ValueId id : roots) {
      for (ValueId reader : planner.readers(id)) all.insert(reader);
      if (all.size() > 8 * kRoots) break;
    }
    for (size_t index : rules_.pattern_rules) {
      auto near = planner.nearest(rules_.rules[index], {all.begin(), all.end()});
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
  std::sort(out.begin(), out.end(),
            [&](const NearMiss& a, const NearMiss& b) { return order(a) < order(b); });
  if (out.size() > 3) out.resize(3);
  return out;
}

}  // namespace refit
