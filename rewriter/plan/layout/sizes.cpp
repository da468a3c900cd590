// Reads of a tensor's metadata while two of its axes change places. Entry point: named_sizes.
#include "rewriter/plan/layout/axes.hpp"

namespace refit {

bool unwritten(const Graph& g, ValueId id) {
  std::vector<ValueId> work{id};
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    if (g.live()[at] || g[at].range.size() != 0) return false;
    for (ValueId user : g.users(at)) work.push_back(user);
  }
  return true;
}

namespace {

// `b, n, s, d = x.shape` names every size; `x.shape[1]` one of them.
std::optional<std::vector<ValueId>> named_in_shape(const Graph& g, ValueId shape,
                                                   const Flip& flip) {
  if (g.used_by_statement(shape)) return std::nullopt;
  std::vector<ValueId> out;
  bool unpacked = false;
  for (ValueId user : g.users(shape)) {
    const Value& u = g[user];
    if (u.kind == Kind::element && u.count == flip.rank) {
      unpacked = true;
      continue;
    }
    if (unwritten(g, user)) continue;
    if (u.kind != Kind::index || g[shape].kind != Kind::attribute) return std::nullopt;
    auto axis = integer_of(g, u.operands[1]);
    if (!axis) return std::nullopt;
    if (*axis < 0) *axis += flip.rank;
    if (*axis < 0 || *axis >= flip.rank) return std::nullopt;
    if (flip.has(*axis)) out.push_back(user);
  }
  if (unpacked) out.push_back(shape);
  return out;
}

}  // namespace

std::optional<std::vector<ValueId>> named_sizes(const Graph& g, ValueId user, ValueId of,
                                                const Flip& flip) {
  std::vector<ValueId> none;
  const Value& u = g[user];
  if (u.kind == Kind::attribute) {
    if (u.text == "dtype" || u.text == "device" || u.text == "ndim") return none;
    return u.text == "shape" ? named_in_shape(g, user, flip) : std::nullopt;
  }
  if (u.kind != Kind::op || u.operands.empty() || u.operands[0] != of) return std::nullopt;
  if (u.op->id == "operator.is_" || u.op->id == "operator.is_not") return none;
  if (u.op->axes != AxisKind::query) return std::nullopt;
  if (u.op->axis.empty()) {
    bool neither = u.op->id.ends_with("dtype") || u.op->id.ends_with("device") ||
                   u.op->id.ends_with("dim") || u.op->id.ends_with("numel");
    return neither ? std::optional(none) : std::nullopt;
  }
  if (is_shape(g, user)) return named_in_shape(g, user, flip);
  auto axis = axis_of(g, user, flip.rank);
  if (!axis) return std::nullopt;
  return flip.has(*axis) ? std::vector<ValueId>{user} : none;
}

}  // namespace refit
