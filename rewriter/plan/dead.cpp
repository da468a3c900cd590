// Which statements a change leaves without a reader: liveness once more, with the change made.
#include <algorithm>

#include "rewriter/plan/planner.hpp"

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Statement;
using graph::StatementId;
using graph::StatementKind;
using graph::Value;
using graph::ValueId;

std::vector<bool> live_after(const Graph& g, const Replaced& replaced,
                             const std::set<ValueId>& gone, const std::set<StatementId>& dead,
                             const std::set<ValueId>& accounted) {
  std::vector<bool> live(g.values.size(), false);
  std::vector<ValueId> work;
  auto reach = [&](ValueId id) {
    if (id != kNone && !live[id]) {
      live[id] = true;
      work.push_back(id);
    }
  };
  for (StatementId s = 0; s < g.statements.size(); ++s) {
    if (dead.contains(s)) continue;
    for (ValueId id : g.statements[s].uses) {
      if (!accounted.contains(id)) reach(id);
    }
    // A statement that stays runs, also where nobody reads what it defines.
    for (graph::DefinitionId d : g.statements[s].definitions) {
      ValueId defined = g.definitions[d].value;
      bool only_known =
          g[defined].kind == Kind::opaque && g[defined].text.starts_with(graph::kAfterLoop);
      if (!g.definitions[d].join && !g.live()[defined] && !only_known) reach(defined);
    }
  }
  for (ValueId id : g.sinks) reach(id);
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    if (gone.contains(id)) continue;
    if (auto made = replaced.find(id); made != replaced.end()) {
      for (ValueId k : made->second) reach(k);
      continue;
    }
    for (ValueId operand : g[id].operands) reach(operand);
  }
  return live;
}

bool has_effect(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::op) return !v.op->pure;
  if (v.kind == Kind::call) return !g.instances.contains(id);
  return v.kind == Kind::opaque && v.range.size() != 0 && v.text != "string";
}

std::vector<StatementId> dead_statements(const Graph& g, ValueId root, const Replaced& replaced,
                                         const std::set<ValueId>& gone,
                                         const std::set<ValueId>& accounted) {
  std::vector<bool> before = g.live();
  // Statements whose effects are all accounted for.
  std::set<StatementId> free;
  for (ValueId id : accounted) {
    StatementId s = g[id].statement;
    if (s != kNone && g.statements[s].names_only) free.insert(s);
  }
  for (ValueId id = 0; !free.empty() && id < g.values.size(); ++id) {
    if (g[id].statement != kNone && !accounted.contains(id) && has_effect(g, id)) {
      free.erase(g[id].statement);
    }
  }
  std::set<StatementId> dead;
  StatementId home = g[root].statement;
  while (true) {
    std::vector<bool> after = live_after(g, replaced, gone, dead, accounted);
    std::set<StatementId> next = dead;
    for (StatementId s = 0; s < g.statements.size(); ++s) {
      const Statement& statement = g.statements[s];
      if ((!statement.pure && !free.contains(s)) || dead.contains(s)) continue;
      bool was_live = false, is_live = false, defines = false;
      for (graph::DefinitionId d : statement.definitions) {
        ValueId v = g.definitions[d].value;
        defines = true;
        was_live = was_live || before[v];
        is_live = is_live || after[v];
      }
      if (statement.kind == StatementKind::assign) {
        if (s == home && g[root].range.size() != 0) continue;
        if (defines && was_live && !is_live) next.insert(s);
      } else if (statement.kind == StatementKind::branch) {
        // An `if` goes when nothing in it is left and nothing that it joins is read.
        bool rewritten = s == home && g[root].range.size() == 0;
        bool all = !statement.children.empty();
        for (StatementId child : statement.children) {
          all = all && (next.contains(child));
        }
        if (all && (rewritten || !is_live)) next.insert(s);
      }
    }
    if (next == dead) break;
    dead = std::move(next);
  }
  return {dead.begin(), dead.end()};
}

bool is_result(const Graph& graph, ValueId id) {
  std::vector<ValueId> work = graph.results;
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || !seen.insert(at).second) continue;
    if (at == id) return true;
    const Value& v = graph[at];
    if (v.kind == Kind::phi || v.kind == Kind::tuple) {
      work.insert(work.end(), v.operands.begin(), v.operands.end());
    } else if (v.kind == Kind::op &&
               (v.op->axes == AxisKind::cast || v.op->view || v.op->axes == AxisKind::concat)) {
      work.push_back(v.operands[0]);
    } else if (v.kind == Kind::list) {
      work.insert(work.end(), v.operands.begin(), v.operands.end());
    }
  }
  return false;
}

}  // namespace refit
