// Whether whoever reads a value can take it in the other layout. Entry point: Absorber::readers.
#include "rewriter/plan/layout/absorber.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refit {

bool Absorber::readers(ValueId id) {
  const Flip flip = region_.at(id);
  const std::string name = names_.at(id);
  if (g_.used_by_statement(id) && !only_stored(id)) {
    return no(name +
              (calls_.contains(id) ? " is used as it is" : " is also used by another statement"));
  }
  const auto users = g_.users(id);
  std::vector<ValueId> readers(users.begin(), users.end());
  for (ValueId user : readers) {
    if (unwritten(g_, user) || gone_.contains(user) || store_target(user, readers)) continue;
    if (ValueId call = changes(user); call != kNone) {
      if (!as_operand(id, call)) return no(name + " is passed twice");
      continue;
    }
    if (why_.empty() && reads(user, id, flip, name)) continue;
    if (!why_.empty()) return false;
    return no(
        fmt::format("{} {} ({} reads it)", name,
                    calls_.contains(id) ? "is not only transposed back" : "is also read as it is",
                    context_.place(user)));
  }
  return true;
}

bool Absorber::as_operand(ValueId id, ValueId call) const {
  if (const LayoutRegion* region = region_of(call)) {
    return std::ranges::any_of(region->operands,
                               [&](const auto& operand) { return operand.second == id; });
  }
  size_t times = 0, places = 0;
  for (ValueId operand : g_[call].operands) times += operand == id ? 1 : 0;
  for (const auto& [name, letters] : calls_.at(call)->operands)
    places += g_.argument(call, name) == id ? 1 : 0;
  return times == places;
}

bool Absorber::reads(ValueId user, ValueId id, const Flip& flip, const std::string& name) {
  const Value& u = g_[user];
  if (neutral(user, id, flip)) return true;
  switch (u.kind) {
    case Kind::phi:
      return u.operands[0] != id && enter(user, flip, name);
    case Kind::list:
    case Kind::tuple: {
      for (ValueId reader : g_.users(user)) {
        if (unwritten(g_, reader)) continue;
        const Value& r = g_[reader];
        if (r.kind != Kind::op || r.op->axes != AxisKind::concat || r.operands[0] != user ||
            !enter(reader, flip, name)) {
          return false;
        }
      }
      return !g_.used_by_statement(user);
    }
    case Kind::index: {
      if (u.operands[0] != id) return false;
      if (g_[id].kind == Kind::op && g_[id].op->axes == AxisKind::split) {
        return split_part(user, id, flip, name);
      }
      auto axes = indexed_axes(g_, u.operands[1], flip.rank);
      if (!axes) return false;
      if (auto part = through(*axes, flip)) return enter(user, *part, name);
      // A number picks from one of the two axes: what it gives has no layout.
      return subscripts_follow(user, u.operands[1], flip);
    }
    case Kind::element:
      return split_part(user, id, flip, name);
    case Kind::opaque:
      return stored_elsewhere(user) && enter(user, flip, name);
    case Kind::call:
      return u.operands[0] != id && layer(user, flip) && enter(user, flip, name);
    case Kind::update: {
      if (u.operands[0] == id) return enter(user, flip, name);
      if (u.operands[2] != id) return false;
      auto rank = rank_of(g_, u.operands[0]);
      auto axes = rank ? indexed_axes(g_, u.operands[1], *rank) : std::nullopt;
      if (!axes || static_cast<int>(axes->size()) != flip.rank) return false;
      int a = (*axes)[static_cast<size_t>(flip.first)];
      int b = (*axes)[static_cast<size_t>(flip.second)];
      return a >= 0 && b >= 0 && enter(user, {std::min(a, b), std::max(a, b), *rank}, name);
    }
    case Kind::op:
      return read_by_operation(user, id, flip, name);
    default:
      return false;
  }
}

bool Absorber::read_by_operation(ValueId user, ValueId id, const Flip& flip,
                                 const std::string& name) {
  const Value& u = g_[user];
  if (u.operands.empty() || foreign(user)) return false;
  bool first = u.operands[0] == id;
  switch (u.op->axes) {
    case AxisKind::transpose:
      if (!first || !is_swap(user, flip)) return false;
      forward(user);
      drop_copy(user);
      return true;
    case AxisKind::permute:
    case AxisKind::pattern:
      return first && boundary(user, flip, false);
    case AxisKind::elementwise:
      return enter(user, flip, name);
    case AxisKind::cast:
    case AxisKind::contiguous:
    case AxisKind::last_dim:
    case AxisKind::along:
    case AxisKind::split:
      return first && enter(user, flip, name);
    default:
      return false;
  }
}

bool Absorber::split_part(ValueId user, ValueId whole, const Flip& flip, const std::string& name) {
  const Value& w = g_[whole];
  if (w.kind != Kind::op || w.op->axes != AxisKind::split) return false;
  Flip part = flip;
  if (drops_axis(*w.op)) {
    auto axis = axis_of(g_, whole, flip.rank);
    if (!axis || flip.has(*axis)) return false;
    part.rank = flip.rank - 1;
    if (part.first > *axis) --part.first;
    if (part.second > *axis) --part.second;
  }
  return enter(user, part, name);
}

bool Absorber::neutral(ValueId user, ValueId of, const Flip& flip) {
  auto sizes = named_sizes(g_, user, of, flip);
  for (ValueId read : sizes.value_or(std::vector<ValueId>{})) swap(read, flip);
  return sizes.has_value();
}

bool Absorber::store_target(ValueId user, const std::vector<ValueId>& readers) const {
  if (g_[user].kind != Kind::index) return false;
  return std::ranges::any_of(readers, [&](ValueId other) {
    return g_[other].kind == Kind::update && g_[other].range == g_[user].range;
  });
}

bool Absorber::only_stored(ValueId id) const {
  if (g_[id].kind != Kind::update) return false;
  for (StatementId s = 0; s < g_.statements.size(); ++s) {
    const auto& uses = g_.statements[s].uses;
    if (s != g_[id].statement && std::ranges::find(uses, id) != uses.end()) {
      return false;
    }
  }
  return std::ranges::find(g_.sinks, id) == g_.sinks.end();
}

void Absorber::drop_copy(ValueId transpose) {
  std::vector<ValueId> readers;
  for (ValueId user : g_.users(transpose)) {
    if (!unwritten(g_, user)) readers.push_back(user);
  }
  if (readers.size() == 1 && !g_.used_by_statement(transpose) && g_[readers[0]].kind == Kind::op &&
      g_[readers[0]].op->axes == AxisKind::contiguous && !foreign(readers[0]) &&
      !asks_for_strides(readers[0])) {
    gone_.insert(readers[0]);
  }
}

}  // namespace refit
