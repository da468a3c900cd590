// Queries on the value graph: liveness, users, reaching definitions, equality. Entry points are the
// members of Graph; everything is computed with explicit stacks.
#include "rewriter/graph/graph.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "rewriter/text/bounds.hpp"

namespace refit {

ByteRange Graph::place(ValueId id) const {
  const Value& v = values[id];
  return made_by_statement(id) && v.statement != kNone ? statements[v.statement].range : v.range;
}

std::optional<uint32_t> Graph::name_index(std::string_view name) const {
  constexpr size_t kFew = 16;
  if (names.size() <= kFew) {
    auto at = std::ranges::find(names, name);
    if (at == names.end()) return std::nullopt;
    return static_cast<uint32_t>(at - names.begin());
  }
  for (auto i = static_cast<uint32_t>(name_numbers_.size()); i < names.size(); ++i) {
    name_numbers_.emplace(names[i], i);
  }
  auto found = name_numbers_.find(name);
  return found == name_numbers_.end() ? std::nullopt : std::optional<uint32_t>(found->second);
}

DefinitionId Graph::reaching(uint32_t name, uint32_t time) const {
  if (name >= events_.size()) return kNone;
  const auto& list = events_[name];
  auto after = std::upper_bound(list.begin(), list.end(), time,
                                [](uint32_t t, const Event& e) { return t < e.time; });
  return after == list.begin() ? kNone : std::prev(after)->definition;
}

void Graph::record(uint32_t name, uint32_t time, DefinitionId definition) {
  if (name >= events_.size()) events_.resize(name + 1);
  auto& list = events_[name];
  if (!list.empty() && list.back().time == time) {
    list.back().definition = definition;
  } else {
    list.push_back({time, definition});
  }
}

void Graph::derive() const {
  if (users_ready_) return;
  users_ready_ = true;
  ranks_.clear();
  ranks_read_.clear();
  rank_asked_.reset();
  live_.assign(values.size(), false);
  statement_use_.assign(values.size(), false);
  definers_.clear();
  for (DefinitionId d = 0; d < definitions.size(); ++d) {
    definers_.emplace_back(definitions[d].value, d);
  }
  std::ranges::sort(definers_);
  std::vector<ValueId> work;
  auto reach = [&](ValueId id) {
    if (id != kNone && !live_[id]) {
      live_[id] = true;
      work.push_back(id);
    }
  };
  for (const Statement& statement : statements) {
    for (ValueId id : statement.uses) {
      if (id == kNone) continue;
      statement_use_[id] = true;
      reach(id);
    }
  }
  for (ValueId id : sinks) {
    statement_use_[id] = true;
    reach(id);
  }
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    for (ValueId operand : values[id].operands) reach(operand);
  }
  // Each user once: counted, then put where those of its operand end so far.
  std::vector<ValueId> last(values.size(), kNone);
  auto each_use = [&](auto use) {
    std::fill(last.begin(), last.end(), kNone);
    for (ValueId id = 0; id < values.size(); ++id) {
      for (ValueId operand : values[id].operands) {
        if (operand == kNone || std::exchange(last[operand], id) == id) continue;
        use(operand, id);
      }
    }
  };
  users_begin_.assign(values.size() + 2, 0);
  each_use([&](ValueId operand, ValueId) { ++users_begin_[operand + 2]; });
  std::partial_sum(users_begin_.begin(), users_begin_.end(), users_begin_.begin());
  users_.resize(users_begin_.back());
  each_use([&](ValueId operand, ValueId id) { users_[users_begin_[operand + 1]++] = id; });
}

std::vector<DefinitionId> Graph::definitions_of(ValueId id) const {
  derive();
  std::vector<DefinitionId> out;
  auto at = std::lower_bound(definers_.begin(), definers_.end(), std::pair(id, DefinitionId{0}));
  for (; at != definers_.end() && at->first == id; ++at) out.push_back(at->second);
  return out;
}

std::vector<Rank>& Graph::ranks() const {
  derive();
  ranks_.resize(values.size());
  return ranks_;
}

std::vector<Rank>& Graph::ranks_read() const {
  derive();
  ranks_read_.resize(values.size());
  return ranks_read_;
}

std::optional<std::set<ValueId>>& Graph::rank_asked() const {
  derive();
  return rank_asked_;
}

const std::vector<bool>& Graph::live() const {
  derive();
  return live_;
}

std::span<const ValueId> Graph::users(ValueId id) const {
  derive();
  return std::span(users_).subspan(users_begin_[id], users_begin_[id + 1] - users_begin_[id]);
}

bool Graph::used_by_statement(ValueId id) const {
  derive();
  return statement_use_[id];
}

ValueId Graph::argument(ValueId id, std::string_view parameter) const {
  const Value& value = values[id];
  if (value.kind != Kind::op) return kNone;
  const auto& parameters = parameters_of(value);
  for (size_t i = 0; i < parameters.size() && i < value.operands.size(); ++i) {
    if (parameters[i].name == parameter) return value.operands[i];
  }
  return kNone;
}

ValueId Graph::owner(ValueId id) const {
  while (values[id].kind == Kind::attribute) id = values[id].operands[0];
  return id;
}

bool Graph::stores(std::string_view attribute) const {
  return std::ranges::any_of(stored_attributes, [&](const std::string& name) {
    return name.empty() || name == attribute;
  });
}

bool Graph::touches(ValueId call, ValueId object) const {
  const Value& v = values[call];
  if (v.kind != Kind::call) return false;
  ValueId callee = v.operands[0];
  // A submodule of the object may know its parent only by being handed it.
  if (values[callee].kind == Kind::attribute && values[callee].operands[0] == object &&
      !keepers.contains(call)) {
    return true;
  }
  return std::find(v.operands.begin() + 1, v.operands.end(), object) != v.operands.end();
}

namespace {

constexpr int kPairBound = 4096;  // pairs of values that one comparison may take
constexpr int kFewPairs = 32;     // of which these many are not looked up

}  // namespace

// Whether what a call is given is a value, holds it or shares its storage: `h([x])`, `h(x[0])`.
static bool hands_over(const Graph& g, ValueId given, ValueId value, int depth = 0) {
  constexpr int kDepth = 4;
  if (given == value) return true;
  if (given == kNone || depth == kDepth) return false;
  const Value& v = g[given];
  switch (v.kind) {
    case Kind::tuple:
    case Kind::list:
    case Kind::starred:
    case Kind::opaque:
      return std::ranges::any_of(
          v.operands, [&](ValueId part) { return hands_over(g, part, value, depth + 1); });
    case Kind::op:
      if (!v.op->view) return false;
      [[fallthrough]];
    case Kind::index:
    case Kind::element:
      return !v.operands.empty() && hands_over(g, v.operands[0], value, depth + 1);
    default:
      return false;
  }
}

// Whether a call that may change what it is given stands between two computations that read the
// same value: `g * n; h(n); g * n`.
bool Graph::changed_between(ValueId x, ValueId y) const {
  const Value& v = values[x];
  const Value& w = values[y];
  for (ValueId between = std::min(x, y) + 1; between < std::max(x, y); ++between) {
    if (values[between].kind != Kind::call || readers.contains(between) ||
        instances.contains(between)) {
      continue;
    }
    for (size_t i = 0; i < v.operands.size(); ++i) {
      const ValueId read = v.operands[i];
      if (read == kNone || read != w.operands[i]) continue;
      const Kind kind = values[read].kind;
      if (kind == Kind::literal || kind == Kind::symbol) continue;
      const auto& given = values[between].operands;  // the callee first
      const Value& callee = values[given[0]];
      if (callee.kind == Kind::attribute && hands_over(*this, callee.operands[0], read))
        return true;
      if (std::any_of(given.begin() + 1, given.end(),
                      [&](ValueId id) { return hands_over(*this, id, read); })) {
        return true;
      }
    }
  }
  return false;
}

bool Graph::same(ValueId a, ValueId b) const {
  std::vector<std::pair<ValueId, ValueId>> work{{a, b}};
  // Values that are used twice are compared once; most comparisons end before that matters.
  std::set<std::pair<ValueId, ValueId>> compared;
  int steps = 0;
  while (!work.empty()) {
    auto [x, y] = work.back();
    work.pop_back();
    if (x == y) continue;
    if (x == kNone || y == kNone) return false;
    if (++steps > kFewPairs && !compared.emplace(x, y).second) continue;
    if (steps > kPairBound) {
      reached(Bound::same_values, values[a].range.begin);
      return false;
    }
    const Value& v = values[x];
    const Value& w = values[y];
    if (v.kind != w.kind || v.op != w.op || v.operands.size() != w.operands.size() ||
        v.index != w.index || v.count != w.count) {
      return false;
    }
    switch (v.kind) {
      case Kind::literal:
        if (!(v.literal == w.literal)) return false;
        break;
      case Kind::symbol:
        if (v.text != w.text) return false;
        break;
      case Kind::attribute:
        if (v.text != w.text || stores(v.text)) return false;
        if (properties.contains(x) && !stored_attributes.empty()) return false;
        for (ValueId between = std::min(x, y); between < std::max(x, y); ++between) {
          if (touches(between, owner(x))) return false;
        }
        break;
      case Kind::op:
        if (!v.op->pure) return false;
        if (v.op->axes != AxisKind::query && changed_between(x, y)) return false;
        break;
      case Kind::index:
        if (changed_between(x, y)) return false;
        break;
      case Kind::slice:
      case Kind::tuple:
      case Kind::list:
      case Kind::element:
      case Kind::starred:
      case Kind::phi:
        break;
      default:
        return false;  // equal only to itself
    }
    for (size_t i = 0; i < v.operands.size(); ++i) work.emplace_back(v.operands[i], w.operands[i]);
  }
  return true;
}

DefinitionId effective(const Graph& graph, DefinitionId definition,
                       const std::set<StatementId>& dead) {
  // What a definition becomes but for joins.
  auto behind = [&](DefinitionId id) {
    while (id != kNone) {
      const Definition& d = graph.definitions[id];
      if (d.statement == kNone || d.join || !dead.contains(d.statement)) break;
      id = d.previous;
    }
    return id;
  };
  auto joins = [&](DefinitionId id) {
    return id != kNone && graph.definitions[id].join && graph.definitions[id].statement != kNone;
  };
  definition = behind(definition);
  if (!joins(definition)) return definition;
  // Joins from the innermost outwards, each once, however many lead to it.
  std::map<DefinitionId, DefinitionId> known;
  std::vector<DefinitionId> work{definition};
  while (!work.empty()) {
    const DefinitionId id = work.back();
    const Definition& d = graph.definitions[id];
    DefinitionId sides[2] = {behind(d.then_side), behind(d.else_side)};
    bool ready = true;
    for (DefinitionId& side : sides) {
      if (!joins(side)) continue;
      auto found = known.find(side);
      if (found == known.end()) {
        work.push_back(side);
        ready = false;
        break;
      }
      side = found->second;
    }
    if (!ready) continue;
    work.pop_back();
    auto [a, b] = sides;
    bool one = a == b || (a != kNone && b != kNone && dead.contains(d.statement) &&
                          graph.definitions[a].value == graph.definitions[b].value);
    known[id] = one ? a : id;
  }
  return known.at(definition);
}

std::string dump(const Graph& graph, ValueId id, int depth) {
  if (id == kNone) return "-";
  const Value& value = graph[id];
  if (depth == 0) return "…";
  auto list = [&](size_t from) {
    std::string out;
    for (size_t i = from; i < value.operands.size(); ++i) {
      if (i > from) out += ", ";
      out += dump(graph, value.operands[i], depth - 1);
    }
    return out;
  };
  switch (value.kind) {
    case Kind::parameter:
      return value.text;
    case Kind::literal:
      return to_string(value.literal);
    case Kind::symbol:
      return value.text;
    case Kind::unknown:
      return "?" + value.text;
    case Kind::function:
      return "def " + value.text;
    case Kind::hole:
      return "$" + value.text;
    case Kind::attribute:
      return list(0) + "." + value.text;
    case Kind::op:
      return value.op->id + "(" + list(0) + ")";
    case Kind::call:
      return "call " + dump(graph, value.operands[0], depth - 1) + "(" + list(1) + ")";
    case Kind::index:
      return dump(graph, value.operands[0], depth - 1) + "[" +
             dump(graph, value.operands[1], depth - 1) + "]";
    case Kind::slice:
      return "slice(" + list(0) + ")";
    case Kind::tuple:
      return "(" + list(0) + ")";
    case Kind::list:
      return "[" + list(0) + "]";
    case Kind::starred:
      return "*" + list(0);
    case Kind::element:
      return list(0) + "#" + std::to_string(value.index) + "/" + std::to_string(value.count);
    case Kind::phi:
      return "phi(" + list(0) + ")";
    case Kind::update:
      return "update(" + list(0) + ")";
    case Kind::opaque:
      return "opaque:" + value.text + "(" + list(0) + ")";
  }
  return "?";
}

}  // namespace refit
