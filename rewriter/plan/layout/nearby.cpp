// Transpositions around a call that change the order of the two axes in which its layout and the
// target's differ, whether they can go or not. Entry point: transposes_nearby.
#include <algorithm>
#include <deque>
#include <set>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/axes.hpp"
#include "rewriter/plan/layout/layout.hpp"

namespace refit {

namespace {

constexpr int kNearby = 12;  // steps; what stands further away belongs to other code

bool turns(const Value& v) {
  return v.kind == Kind::op && (v.op->axes == AxisKind::transpose ||
                                v.op->axes == AxisKind::permute || v.op->axes == AxisKind::pattern);
}

// For every axis of what a permutation gives, the axis of its operand that it is; empty where it is
// not written out.
std::vector<int> order_of(const Graph& g, ValueId id, int rank) {
  const Value& v = g[id];
  if (v.op->axes == AxisKind::transpose) {
    auto swapped = swapped_axes(g, id, rank);
    if (!swapped || swapped->second >= rank) return {};
    std::vector<int> out;
    for (int axis = 0; axis < rank; ++axis) out.push_back(axis);
    std::swap(out[static_cast<size_t>(swapped->first)], out[static_cast<size_t>(swapped->second)]);
    return out;
  }
  auto dims = v.operands.size() > 1 ? literal_of(g, v.operands[1]) : std::nullopt;
  if (!dims) return {};
  const Literal* list = &*dims;
  if (list->items.size() == 1) list = &list->items.front();
  std::vector<int> out;
  for (const Literal& item : list->items) {
    if (item.kind != Literal::Kind::integer) return {};
    auto axis = static_cast<int>(item.integer);
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank) return {};
    out.push_back(axis);
  }
  return static_cast<int>(out.size()) == rank ? out : std::vector<int>{};
}

class Nearby {
 public:
  Nearby(const Graph& g, ValueId call, const Layout& layout, const LayoutRegion* region)
      : g_(g), call_(call), layout_(layout), region_(region) {}

  uint32_t count() {
    for (const auto& [name, letters] : layout_.operands) {
      ValueId operand = region_ != nullptr ? region_->operands.at(name) : g_.argument(call_, name);
      auto axes = swap_of(letters, layout_.target);
      auto rank = rank_of(g_, operand);
      const auto letters_count = static_cast<int>(letters.size());
      // What has no such axes has no such layout.
      if (!axes || (rank && *rank != letters_count)) return 0;
      Flip flip{axes->first, axes->second, letters_count};
      before({operand, flip, 0});
    }
    auto axes = swap_of(layout_.result, layout_.target);
    if (axes) {
      Flip flip{axes->first, axes->second, static_cast<int>(layout_.result.size())};
      after({call_, flip, 0});
    }
    return static_cast<uint32_t>(found_.size());
  }

 private:
  struct Step {
    ValueId id;
    std::optional<Flip> flip;  // nullopt: which axes they are here is not known
    int depth;
  };

  // Whether a permutation brings the two axes into another order; of one whose axes are not known
  // it is assumed.
  bool reverses(ValueId id, const std::optional<Flip>& flip, bool backwards,
                std::optional<Flip>* beyond) const {
    beyond->reset();
    // A permutation of fewer axes has not both of them.
    const int rank = static_cast<int>(layout_.target.size());
    if (!flip) return g_[id].axes == 0 || g_[id].axes >= rank;
    if (g_[id].op->axes == AxisKind::pattern) return true;
    auto order = order_of(g_, id, flip->rank);
    if (order.empty()) return true;
    auto place = [&](int axis) {
      if (backwards) return order[static_cast<size_t>(axis)];
      return static_cast<int>(std::ranges::find(order, axis) - order.begin());
    };
    int a = place(flip->first), b = place(flip->second);
    *beyond = Flip{std::min(a, b), std::max(a, b), flip->rank};
    return a > b;
  }

  // Whether a value has the axes of its first operand, as far as its kind says.
  bool same_axes(const Value& v) const {
    if (v.kind == Kind::op) {
      bool moved = v.op->axes == AxisKind::opaque && v.op->view;
      return !moved && !(v.op->axes == AxisKind::split && drops_axis(*v.op));
    }
    const Value& whole = g_[v.operands[0]];
    return whole.kind == Kind::op && whole.op->axes == AxisKind::split && !drops_axis(*whole.op);
  }

  void before(Step start) {
    std::deque<Step> work{start};
    while (!work.empty()) {
      auto [id, flip, depth] = work.front();
      work.pop_front();
      if (id == kNone || depth > kNearby || !seen_.insert(id).second) continue;
      const Value& v = g_[id];
      if (turns(v)) {
        std::optional<Flip> beyond;
        if (reverses(id, flip, true, &beyond)) {
          found_.insert(id);
        } else if (!v.operands.empty()) {
          work.push_back({v.operands[0], beyond, depth + 1});
        }
        continue;
      }
      bool same = v.kind == Kind::phi || v.kind == Kind::list || v.kind == Kind::tuple ||
                  v.kind == Kind::call || v.kind == Kind::update;
      if (same) {
        for (ValueId operand : v.operands) work.push_back({operand, flip, depth + 1});
      } else if ((v.kind == Kind::op || v.kind == Kind::index || v.kind == Kind::element) &&
                 !v.operands.empty()) {
        // Before a view there are no heads yet.
        bool made = v.kind == Kind::op &&
                    (v.op->axes == AxisKind::view || v.op->axes == AxisKind::unflatten ||
                     v.op->axes == AxisKind::flatten);
        if (!made) work.push_back({v.operands[0], same_axes(v) ? flip : std::nullopt, depth + 1});
      }
    }
  }

  void after(Step start) {
    std::deque<Step> work{start};
    std::set<ValueId> seen;
    while (!work.empty()) {
      auto [id, flip, depth] = work.front();
      work.pop_front();
      if (depth > kNearby || !seen.insert(id).second) continue;
      for (ValueId user : g_.users(id)) {
        const Value& u = g_[user];
        if (turns(u)) {
          std::optional<Flip> beyond;
          if (reverses(user, flip, false, &beyond)) {
            found_.insert(user);
          } else {
            work.push_back({user, beyond, depth + 1});
          }
          continue;
        }
        bool follows = u.kind == Kind::phi ||
                       (u.kind == Kind::op &&
                        (u.op->axes == AxisKind::cast || u.op->axes == AxisKind::contiguous ||
                         u.op->axes == AxisKind::elementwise));
        if (follows) work.push_back({user, flip, depth + 1});
      }
    }
  }

  const Graph& g_;
  ValueId call_;
  const Layout& layout_;
  const LayoutRegion* region_;
  std::set<ValueId> found_, seen_;
};

}  // namespace

uint32_t transposes_nearby(const Graph& graph, ValueId call, const Layout& layout,
                           const LayoutRegion* region) {
  return Nearby(graph, call, layout, region).count();
}

}  // namespace refit
