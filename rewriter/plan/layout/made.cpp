// Whether what a value is made of can follow into the other layout. Entry point: Absorber::made.
#include "rewriter/plan/layout/absorber.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refit {

bool Absorber::made(ValueId id) {
  const Value& v = g_[id];
  const Flip flip = region_.at(id);
  const std::string name = names_.at(id);
  switch (v.kind) {
    case Kind::phi:
      return enter(v.operands[1], flip, name) && enter(v.operands[2], flip, name);
    case Kind::update:
      return made_by_store(id, flip, name);
    case Kind::index:
      return made_by_index(id, flip, name);
    case Kind::element:
      return part_of(id, flip, name) || stop(id, name);
    case Kind::opaque:  // the same tensor later
      return stored_elsewhere(id) ? enter(v.operands[0], flip, name) : stop(id, name);
    case Kind::call:
      return layer(id, flip) ? enter(v.operands[1], flip, name) : stop(id, name);
    case Kind::op:
      return made_by_operation(id, flip, name);
    default:
      return stop(id, name);
  }
}

bool Absorber::made_by_operation(ValueId id, const Flip& flip, const std::string& name) {
  const Value& v = g_[id];
  if (v.operands.empty() || v.operands[0] == kNone) return stop(id, name);
  if (foreign(id) || asks_for_strides(id)) return stop(id, name);
  ValueId first = v.operands[0];
  switch (v.op->axes) {
    case AxisKind::transpose:
      if (!is_swap(id, flip)) return stop(id, name);
      forward(id);
      return true;
    case AxisKind::permute:
    case AxisKind::pattern:
      return boundary(id, flip, true) || stop(id, name);
    case AxisKind::contiguous:
      copies_.insert(id);
      return enter(first, flip, name);
    case AxisKind::cast:
      return enter(first, flip, name);
    case AxisKind::last_dim:
      if (flip.second == flip.rank - 1 || !one_axis(id)) return stop(id, name);
      return enter(first, flip, name);
    case AxisKind::along:
    case AxisKind::split: {
      if (context_.taken(v.op)) {
        return no(fmt::format("{} goes through a call that is rewritten itself ({})", name,
                              context_.place(id)));
      }
      auto axis = axis_of(g_, id, flip.rank);
      if (!axis) return stop(id, name);
      if (flip.has(*axis)) {
        if (v.op->axes == AxisKind::split && drops_axis(*v.op)) return stop(id, name);
        swap(id, flip);
      }
      return enter(first, flip, name);
    }
    case AxisKind::concat: {
      const Value& list = g_[first];
      auto axis = axis_of(g_, id, flip.rank);
      if (!axis || (list.kind != Kind::list && list.kind != Kind::tuple)) return stop(id, name);
      if (flip.has(*axis)) swap(id, flip);
      for (ValueId item : list.operands) {
        if (g_[item].kind == Kind::starred || !enter(item, flip, name)) return stop(id, name);
      }
      return true;
    }
    case AxisKind::elementwise: {
      // Random numbers are drawn in the order of the axes.
      if (!v.op->pure && !v.op->in_place) return stop(id, name);
      for (ValueId operand : v.operands) {
        if (operand == kNone || g_[operand].kind == Kind::literal) continue;
        if (below_the_axes(operand, flip)) continue;
        if (rank_of(g_, operand) != flip.rank || !enter(operand, flip, name)) return stop(id, name);
      }
      return true;
    }
    default:
      return stop(id, name);
  }
}

bool Absorber::made_by_store(ValueId id, const Flip& flip, const std::string& name) {
  const Value& v = g_[id];
  auto axes = indexed_axes(g_, v.operands[1], flip.rank);
  if (!axes || !subscripts_follow(id, v.operands[1], flip)) return stop(id, name);
  if (!enter(v.operands[0], flip, name)) return false;
  // What is stored has the layout too, unless a number picks from one of the axes.
  auto part = through(*axes, flip);
  if (!part || g_[v.operands[2]].kind == Kind::literal) return true;
  // One that broadcasts has its axes elsewhere.
  if (rank_of(g_, v.operands[2]) != part->rank) return stop(id, name);
  return enter(v.operands[2], *part, name);
}

bool Absorber::made_by_index(ValueId id, const Flip& flip, const std::string& name) {
  const Value& v = g_[id];
  if (g_[v.operands[0]].kind == Kind::op && g_[v.operands[0]].op->axes == AxisKind::split) {
    return part_of(id, flip, name) || stop(id, name);
  }
  auto whole = rank_of(g_, v.operands[0]);
  if (!whole) return stop(id, name);
  auto axes = indexed_axes(g_, v.operands[1], *whole);
  if (!axes || static_cast<int>(axes->size()) != flip.rank) return stop(id, name);
  int a = (*axes)[static_cast<size_t>(flip.first)];
  int b = (*axes)[static_cast<size_t>(flip.second)];
  if (a < 0 || b < 0) return stop(id, name);
  Flip base{std::min(a, b), std::max(a, b), *whole};
  return (subscripts_follow(id, v.operands[1], base) && enter(v.operands[0], base, name)) ||
         stop(id, name);
}

bool Absorber::stop(ValueId id, const std::string& name) {
  return no(
      fmt::format("{} does not come straight from a transpose ({})", name, context_.place(id)));
}

bool Absorber::layer(ValueId call, const Flip& flip) const {
  const Value& v = g_[call];
  return !foreign(call) && v.operands.size() == 2 && v.operands[1] != kNone &&
         g_[v.operands[1]].kind != Kind::starred && flip.second != flip.rank - 1 &&
         context_.over_last_axis(call);
}

bool Absorber::subscripts_follow(ValueId id, ValueId subscripts, const Flip& base) {
  if (whole_axis(g_, subscripts, base.first, base.rank) &&
      whole_axis(g_, subscripts, base.second, base.rank)) {
    return true;
  }
  swap(id, base);
  return true;
}

bool Absorber::below_the_axes(ValueId operand, const Flip& flip) const {
  auto rank = rank_of(g_, operand);
  return rank && (*rank == 0 || (*rank == 1 && !flip.has(flip.rank - 1)));
}

bool Absorber::one_axis(ValueId id) const {
  ValueId shape = g_.argument(id, "normalized_shape");
  if (shape == kNone) return false;
  const Value& v = g_[shape];
  return (v.kind == Kind::tuple || v.kind == Kind::list) && v.operands.size() == 1 &&
         g_[v.operands[0]].kind != Kind::starred;
}

bool Absorber::part_of(ValueId id, const Flip& flip, const std::string& name) {
  ValueId whole = g_[id].operands[0];
  const Value& w = g_[whole];
  if (w.kind != Kind::op || w.op->axes != AxisKind::split) return false;
  Flip base = flip;
  if (drops_axis(*w.op)) {
    base.rank = flip.rank + 1;
    auto axis = axis_of(g_, whole, base.rank);
    if (!axis) return false;
    if (base.first >= *axis) ++base.first;
    if (base.second >= *axis) ++base.second;
  }
  return enter(whole, base, name);
}

}  // namespace refit
