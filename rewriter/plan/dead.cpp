// Counting of reads: see dead.hpp. The values of a graph have no cycles, so what nothing needs
// reads of is what no statement needs.
#include "rewriter/plan/dead.hpp"

#include <algorithm>

#include "rewriter/plan/planner.hpp"

namespace refit {

bool has_effect(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::op) return !v.op->pure;
  if (v.kind == Kind::call) return !g.instances.contains(id);
  return v.kind == Kind::opaque && v.range.size() != 0 && v.text != "string";
}

// A statement that stays runs, also where nobody reads what it defines.
bool Reads::kept_by_statement(DefinitionId id) const {
  const Definition& d = g_.definitions[id];
  const Value& v = g_[d.value];
  bool only_known = v.kind == Kind::opaque && v.text.starts_with(kAfterLoop);
  return !d.join && !g_.live()[d.value] && !only_known;
}

Reads::Reads(const Graph& graph)
    : g_(graph),
      needed_(graph.values.size(), false),
      reads_(graph.values.size(), 0),
      statement_reads_(graph.values.size(), 0),
      height_(graph.values.size(), 0) {
  std::vector<ValueId> work;
  auto read = [&](ValueId id) {
    if (id == kNone) return;
    ++reads_[id];
    if (needed_[id]) return;
    needed_[id] = true;
    work.push_back(id);
  };
  for (const Statement& statement : g_.statements) {
    for (ValueId id : statement.uses) {
      if (id != kNone) ++statement_reads_[id];
      read(id);
    }
    for (DefinitionId d : statement.definitions) {
      if (kept_by_statement(d)) read(g_.definitions[d].value);
    }
  }
  for (ValueId id : g_.sinks) read(id);
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    for (ValueId operand : g_[id].operands) read(operand);
  }
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    if (g_[id].statement != kNone && has_effect(g_, id))
      effects_.emplace_back(g_[id].statement, id);
  }
  std::ranges::sort(effects_);
  std::vector<bool> asked(g_.values.size(), false);
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    work.push_back(id);
    while (!work.empty()) {
      const ValueId at = work.back();
      const auto& operands = g_[at].operands;
      if (!asked[at]) {  // after its operands
        asked[at] = true;
        for (ValueId operand : operands) {
          if (operand != kNone && !asked[operand]) work.push_back(operand);
        }
        continue;
      }
      work.pop_back();
      for (ValueId operand : operands) {
        if (operand != kNone) height_[at] = std::max(height_[at], height_[operand] + 1);
      }
    }
  }
}

std::span<const Reads::Effect> Reads::effects_of(StatementId statement) const {
  auto of = [](const Effect& effect) { return effect.first; };
  auto [from, to] = std::ranges::equal_range(effects_, statement, {}, of);
  return {from, to};
}

bool Reads::reach(const std::vector<ValueId>& values, ValueId id) const {
  std::vector<ValueId> work = values;
  std::unordered_set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == id && at != kNone) return true;
    // What is made of it is higher up.
    if (at == kNone || height_[at] <= height_[id] || !seen.insert(at).second) continue;
    work.insert(work.end(), g_[at].operands.begin(), g_[at].operands.end());
  }
  return false;
}

bool Reads::Rest::needs(ValueId id) const {
  return (reads_.needed_[id] || added_.contains(id)) && !ended_.contains(id);
}

void Reads::Rest::add_read(ValueId start) {
  std::vector<ValueId> work{start};
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    if (id == kNone || ++added_[id] > 1 || reads_.needed_[id]) continue;
    const auto& operands = reads_.g_[id].operands;  // it was not needed before
    work.insert(work.end(), operands.begin(), operands.end());
  }
}

void Reads::Rest::take_read(ValueId id) {
  if (id == kNone) return;
  auto added = added_.find(id);
  uint32_t reads = reads_.reads_[id] + (added == added_.end() ? 0 : added->second);
  if (++taken_[id] == reads && ended_.insert(id).second) ending_.push_back(id);
}

// Follows what ended to what only that read.
void Reads::Rest::settle() {
  while (!ending_.empty()) {
    ValueId id = ending_.back();
    ending_.pop_back();
    just_ended_.push_back(id);
    if (change_->gone.contains(id)) continue;
    const std::vector<ValueId>* made = change_->new_reads(id);
    const auto& operands = made != nullptr ? *made : reads_.g_[id].operands;
    for (ValueId operand : operands) take_read(operand);
  }
}

void Reads::Rest::make(const Supplanted& change) {
  change_ = &change;
  const Graph& g = reads_.g_;
  std::set<ValueId> without_operands = change.gone;
  auto replace = [&](ValueId root, const std::vector<ValueId>& kept) {
    without_operands.insert(root);
    if (!needs(root) || change.gone.contains(root)) return;
    for (ValueId id : kept) add_read(id);
  };
  replace(change.root, change.kept);
  for (const auto& [root, kept] : change.along) {
    if (root != change.root) replace(root, kept);
  }
  for (ValueId id : without_operands) {
    if (!needs(id)) continue;
    for (ValueId operand : g[id].operands) take_read(operand);
  }
  for (ValueId id : change.accounted) {
    for (uint32_t i = 0; i < reads_.statement_reads_[id]; ++i) take_read(id);
  }
  settle();
}

void Reads::Rest::take_statement(StatementId id) {
  const Statement& statement = reads_.g_.statements[id];
  for (ValueId use : statement.uses) {
    if (use != kNone && !change_->accounted.contains(use)) take_read(use);
  }
  for (DefinitionId d : statement.definitions) {
    if (reads_.kept_by_statement(d)) take_read(reads_.g_.definitions[d].value);
  }
  settle();
}

Reads::Rest Reads::without(const Supplanted& change, const std::set<StatementId>& dead) const {
  Rest rest(*this);
  // What a `del` that stays takes away must have been made.
  for (StatementId s : g_.unbinding) {
    if (dead.contains(s)) continue;
    for (DefinitionId d : bindings_before(s)) {
      const Definition& binding = g_.definitions[d];
      if (binding.statement == kNone || dead.contains(binding.statement)) continue;
      rest.add_read(binding.value);
    }
  }
  rest.make(change);
  for (StatementId s : dead) rest.take_statement(s);
  return rest;
}

// What may have given the names of a `del` their values: on every path to it.
std::vector<DefinitionId> Reads::bindings_before(StatementId unbinding) const {
  std::vector<DefinitionId> out, work;
  std::set<DefinitionId> seen;
  for (DefinitionId d : g_.statements[unbinding].definitions) {
    work.push_back(g_.definitions[d].previous);
  }
  while (!work.empty()) {
    const DefinitionId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Definition& d = g_.definitions[id];
    if (d.join) {
      work.insert(work.end(), {d.then_side, d.else_side});
    } else {
      out.push_back(id);
    }
  }
  return out;
}

// Whether the name of a binding still means something where that reached, once statements are gone.
// What a round of a loop leaves to the next one is any of the name's bindings.
Reads::Bound Reads::bound_without(DefinitionId binding, const std::set<StatementId>& dead) const {
  const DefinitionId left = effective(g_, binding, dead);
  if (left == kNone) return Bound::no;
  const auto of_rounds = [&](DefinitionId id) {
    const Value& v = g_[g_.definitions[id].value];
    return v.kind == Kind::opaque &&
           (v.text.starts_with(kInLoop) || v.text.starts_with(kAfterLoop));
  };
  const auto takes_away = [&](DefinitionId id) {
    return std::ranges::find(g_.unbinding, g_.definitions[id].statement) != g_.unbinding.end();
  };
  if (takes_away(left)) return Bound::unclear;
  if (!of_rounds(left)) return Bound::yes;
  bool gone = false, stays = false;
  for (DefinitionId id = 0; id < g_.definitions.size(); ++id) {
    const Definition& d = g_.definitions[id];
    if (d.name != g_.definitions[binding].name || d.join || of_rounds(id) || takes_away(id)) {
      continue;
    }
    (d.statement != kNone && dead.contains(d.statement) ? gone : stays) = true;
  }
  if (gone) return stays ? Bound::unclear : Bound::no;
  return Bound::yes;
}

std::vector<StatementId> Reads::dead_statements(const Supplanted& change) const {
  std::vector<ValueId> kept;
  std::set<StatementId> dead = dying(change, kept);
  // `del q, k` goes with what gave it its names. Where only some are gone it needs them all.
  for (StatementId s : g_.unbinding) {
    std::vector<ValueId> named;
    bool all = true, none = true;
    for (DefinitionId d : bindings_before(s)) {
      named.push_back(g_.definitions[d].value);
      const Bound bound = bound_without(d, dead);
      all = all && bound == Bound::yes;
      none = none && bound == Bound::no;
    }
    if (all) continue;
    if (none) {
      dead.insert(s);
    } else {
      kept.insert(kept.end(), named.begin(), named.end());
    }
  }
  if (!kept.empty()) dead = dying(change, kept);
  return {dead.begin(), dead.end()};
}

std::set<StatementId> Reads::dying(const Supplanted& change,
                                   const std::vector<ValueId>& kept) const {
  const ValueId root = change.root;
  const StatementId home = g_[root].statement;
  // Statements whose effects are all accounted for, the write of `x += y` among them.
  std::unordered_map<StatementId, uint32_t> accounted;
  for (ValueId id : change.accounted) {
    StatementId s = g_[id].statement;
    const bool counts = has_effect(g_, id) || g_.in_place.contains(id);
    if (s != kNone && g_.statements[s].names_only) accounted[s] += counts ? 1 : 0;
  }
  auto free = [&](StatementId s) {
    auto found = accounted.find(s);
    if (found == accounted.end()) return false;
    const auto written = std::ranges::count_if(g_.statements[s].definitions, [&](DefinitionId d) {
      const ValueId value = g_.definitions[d].value;
      return g_.in_place.contains(value) && !has_effect(g_, value);
    });
    return found->second == effects_of(s).size() + static_cast<size_t>(written);
  };
  std::set<StatementId> dead;
  Rest rest(*this);
  auto dies = [&](StatementId s) {
    const Statement& statement = g_.statements[s];
    if ((!statement.pure && !free(s)) || dead.contains(s)) return false;
    bool was_live = false, is_live = false;
    for (DefinitionId d : statement.definitions) {
      ValueId v = g_.definitions[d].value;
      was_live = was_live || g_.live()[v];
      is_live = is_live || rest.needs(v);
    }
    if (statement.kind == StatementKind::assign) {
      if (s == home && g_[root].range.size() != 0) return false;
      return was_live && !is_live;
    }
    if (statement.kind != StatementKind::branch || statement.children.empty()) return false;
    // An `if` goes when nothing in it is left and nothing that it joins is read.
    bool replaced = s == home && g_[root].range.size() == 0;
    return (replaced || !is_live) &&
           std::ranges::all_of(statement.children,
                               [&](StatementId child) { return dead.contains(child); });
  };
  for (ValueId id : kept) rest.add_read(id);
  rest.make(change);
  std::vector<StatementId> asked;
  auto ask_after = [&] {  // about the statements that define what just ended
    for (ValueId id : rest.just_ended_) {
      for (DefinitionId d : g_.definitions_of(id)) {
        if (g_.definitions[d].statement != kNone) asked.push_back(g_.definitions[d].statement);
      }
    }
    rest.just_ended_.clear();
  };
  ask_after();
  while (!asked.empty()) {
    StatementId s = asked.back();
    asked.pop_back();
    if (!dies(s)) continue;
    dead.insert(s);
    rest.take_statement(s);
    ask_after();
    if (g_.statements[s].parent != kNone) asked.push_back(g_.statements[s].parent);
  }
  return dead;
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
