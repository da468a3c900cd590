// See axes.hpp.
#include "rewriter/plan/layout/axes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "rewriter/match/facts.hpp"

namespace refit {

std::optional<std::pair<int, int>> swap_of(const std::string& from, const std::string& to) {
  if (from.size() != to.size()) return std::nullopt;
  std::vector<int> moved;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[i]) moved.push_back(static_cast<int>(i));
  }
  if (moved.size() != 2) return std::nullopt;
  return std::pair{moved[0], moved[1]};
}

std::optional<int> integer_of(const Graph& g, ValueId id) {
  auto l = literal_of(g, id);
  if (!l || l->kind != Literal::Kind::integer) return std::nullopt;
  return static_cast<int>(l->integer);
}

namespace {

// The literal that a parameter gets, written or by default.
std::optional<Literal> literal_argument(const Graph& g, ValueId id, std::string_view parameter) {
  ValueId given = g.argument(id, parameter);
  if (given != kNone) return literal_of(g, given);
  for (const Parameter& p : parameters_of(g[id])) {
    if (p.name == parameter) return p.default_value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> axis_of(const Graph& g, ValueId id, int rank) {
  const Operation& op = *g[id].op;
  if (op.axis.empty()) return std::nullopt;
  if (!op.axis_if.empty()) {
    auto flag = literal_argument(g, id, op.axis_if);
    if (!flag || flag->kind != Literal::Kind::boolean || !flag->boolean) return std::nullopt;
  }
  auto written = literal_argument(g, id, op.axis);
  if (!written || written->kind != Literal::Kind::integer) return std::nullopt;
  std::optional<int> axis = static_cast<int>(written->integer);
  if (axis && *axis < 0) *axis += rank;
  if (axis && (*axis < 0 || *axis >= rank)) return std::nullopt;
  return axis;
}

namespace {

std::vector<ValueId> subscripts_of(const Graph& g, ValueId subscripts) {
  const Value& at = g[subscripts];
  return at.kind == Kind::tuple ? at.operands : std::vector<ValueId>{subscripts};
}

bool is_literal(const Graph& g, ValueId id, Literal::Kind kind) {
  return g[id].kind == Kind::literal && g[id].literal.kind == kind;
}

// How many axes the subscripts name: slices and numbers do, an ellipsis and None do not.
int named_axes(const Graph& g, const std::vector<ValueId>& parts) {
  return static_cast<int>(std::ranges::count_if(parts, [&](ValueId p) {
    return !is_literal(g, p, Literal::Kind::none) && !is_literal(g, p, Literal::Kind::symbol);
  }));
}

}  // namespace

std::optional<std::vector<int>> indexed_axes(const Graph& g, ValueId subscripts, int rank) {
  const std::vector<ValueId> parts = subscripts_of(g, subscripts);
  for (ValueId p : parts) {
    if (g[p].kind != Kind::slice && !is_literal(g, p, Literal::Kind::integer) &&
        !is_literal(g, p, Literal::Kind::none) && !is_literal(g, p, Literal::Kind::symbol)) {
      return std::nullopt;
    }
  }
  std::vector<int> out;
  int axis = 0;
  for (ValueId p : parts) {
    if (g[p].kind == Kind::slice) {
      out.push_back(axis++);
    } else if (is_literal(g, p, Literal::Kind::integer)) {
      ++axis;
    } else if (is_literal(g, p, Literal::Kind::none)) {
      out.push_back(-1);
    } else {
      for (int skipped = rank - named_axes(g, parts); skipped > 0; --skipped) out.push_back(axis++);
    }
  }
  while (axis < rank) out.push_back(axis++);
  return axis == rank ? std::optional(out) : std::nullopt;
}

bool whole_axis(const Graph& g, ValueId subscripts, int axis, int rank) {
  const std::vector<ValueId> parts = subscripts_of(g, subscripts);
  int here = 0;
  for (ValueId p : parts) {
    if (is_literal(g, p, Literal::Kind::none)) continue;
    if (is_literal(g, p, Literal::Kind::symbol)) {  // an ellipsis
      here += std::max(0, rank - named_axes(g, parts));
      if (axis < here) return true;
      continue;
    }
    if (here++ != axis) continue;
    const Value& v = g[p];
    return v.kind == Kind::slice &&
           std::ranges::all_of(v.operands, [](ValueId part) { return part == kNone; });
  }
  return true;
}

std::optional<Flip> through(const std::vector<int>& axes, const Flip& whole) {
  auto place = [&](int axis) {
    auto at = std::ranges::find(axes, axis);
    return at == axes.end() ? -1 : static_cast<int>(at - axes.begin());
  };
  int a = place(whole.first), b = place(whole.second);
  if (a < 0 || b < 0) return std::nullopt;
  return Flip{std::min(a, b), std::max(a, b), static_cast<int>(axes.size())};
}

ValueId uneven_turn(const Graph& g, const std::set<ValueId>& gone,
                    const std::vector<AxisSwap>& swapped) {
  std::map<ValueId, std::vector<ValueId>> turns;
  for (const auto& [turn, first] : g.repeats) turns[first].push_back(turn);
  auto swap_of = [&](ValueId id) {
    return std::ranges::find_if(swapped, [&](const AxisSwap& e) { return e.value == id; });
  };
  auto alike = [&](ValueId a, ValueId b) {
    if (gone.contains(a) != gone.contains(b)) return false;
    auto as = swap_of(a), bs = swap_of(b);
    if (as == swapped.end() || bs == swapped.end()) return as == bs;
    return std::tuple(as->first, as->second, as->rank, as->of_result) ==
           std::tuple(bs->first, bs->second, bs->rank, bs->of_result);
  };
  std::vector<ValueId> changed(gone.begin(), gone.end());
  for (const AxisSwap& e : swapped) changed.push_back(e.value);
  for (ValueId id : changed) {
    auto repeat = g.repeats.find(id);
    ValueId first = repeat == g.repeats.end() ? id : repeat->second;
    auto others = turns.find(first);
    if (others == turns.end()) continue;
    for (ValueId other : others->second) {
      if (!alike(first, other)) return first;
    }
  }
  return kNone;
}

bool written_between(const Graph& g, ValueId source, ValueId copy, ValueId end) {
  std::set<ValueId> storage;
  for (ValueId at = source; at != kNone && storage.insert(at).second;) {
    const Value& v = g[at];
    bool follows = v.kind == Kind::index || v.kind == Kind::element || v.kind == Kind::attribute ||
                   (v.kind == Kind::op && v.op->view);
    at = follows && !v.operands.empty() ? v.operands[0] : kNone;
  }
  for (ValueId id = copy; id < end; ++id) {
    if (g[id].kind != Kind::call) continue;
    for (ValueId operand : g[id].operands) {
      if (storage.contains(operand)) return true;
      if (operand != kNone && g[operand].kind == Kind::attribute &&
          storage.contains(g.owner(operand))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace refit
