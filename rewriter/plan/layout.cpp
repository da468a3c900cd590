// See layout.hpp. An operand's path is followed up through what does not care for the order of axes
// until a transpose; the result's users are followed down likewise. Every path must agree.
#include "rewriter/plan/layout.hpp"

#include <algorithm>
#include <set>

#include "rewriter/match/facts.hpp"

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::Value;
using graph::ValueId;

namespace {

constexpr int kPathBound = 64;

class Absorber {
 public:
  Absorber(const Graph& g, ValueId call, const Layout& layout)
      : g_(g), call_(call), layout_(layout) {}

  Absorption run() {
    Absorption out;
    for (const auto& [name, letters] : layout_.operands) {
      auto axes = swap_of(letters, layout_.target);
      if (!axes) return refuse("its layout and the target's differ by more than two axes");
      axes_ = *axes;
      rank_ = static_cast<int>(letters.size());
      ValueId operand = g_.argument(call_, name);
      if (operand == kNone) return refuse("`" + name + "` is not passed");
      if (!up(operand, call_, 0)) return refuse("`" + name + "` " + why_);
    }
    auto axes = swap_of(layout_.result, layout_.target);
    if (!axes) return refuse("the result's layout and the target's differ by more than two axes");
    axes_ = *axes;
    rank_ = static_cast<int>(layout_.result.size());
    if (!down(call_, 0)) return refuse("the result " + why_);
    out.absorbed = true;
    out.forwarded.assign(gone_.begin(), gone_.end());
    out.transposes = transposes_;
    return out;
  }

 private:
  static Absorption refuse(std::string why) {
    Absorption out;
    out.why_not = std::move(why);
    return out;
  }

  static std::optional<std::pair<int, int>> swap_of(const std::string& from,
                                                    const std::string& to) {
    if (from.size() != to.size()) return std::nullopt;
    std::vector<int> moved;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to[i]) moved.push_back(static_cast<int>(i));
    }
    if (moved.size() != 2) return std::nullopt;
    return std::pair{moved[0], moved[1]};
  }

  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool is_swap(ValueId id) const {
    auto s = swapped_axes(g_, id, rank_);
    return s && *s == axes_;
  }

  // A reader that the order of axes does not concern.
  bool neutral(ValueId user, ValueId of) const {
    const Value& u = g_[user];
    if (u.kind == Kind::attribute) {
      if (u.text == "dtype" || u.text == "device") return true;
      return u.text == "shape" && fixed_axes_only(user);
    }
    if (u.kind == Kind::op && u.op->axes == AxisKind::query) {
      if (u.operands.size() > 1 && u.operands[1] != kNone && u.operands[0] == of) {
        auto l = literal_of(g_, u.operands[1]);
        return l && l->kind == Literal::Kind::integer && fixed(static_cast<int>(l->integer));
      }
      return u.op->id.ends_with("dtype") || u.op->id.ends_with("device") ||
             u.op->id.ends_with("dim");
    }
    return false;
  }

  bool fixed(int axis) const {
    if (axis < 0) axis += rank_;
    return axis >= 0 && axis < rank_ && axis != axes_.first && axis != axes_.second;
  }

  bool fixed_axes_only(ValueId shape) const {
    for (ValueId user : g_.users(shape)) {
      if (unwritten(user)) continue;
      const Value& u = g_[user];
      if (u.kind != Kind::index) return false;
      auto l = literal_of(g_, u.operands[1]);
      if (!l || l->kind != Literal::Kind::integer || !fixed(static_cast<int>(l->integer))) {
        return false;
      }
    }
    return true;
  }

  // A value that only the graph knows. One that is written out runs, whether it is read or not.
  bool unwritten(ValueId id) const { return !g_.live()[id] && g_[id].range.size() == 0; }

  bool only_serves(ValueId id, ValueId reader) {
    if (g_.used_by_statement(id)) return no("is also used by another statement");
    for (ValueId user : g_.users(id)) {
      if (user == reader || unwritten(user) || path_.contains(user) || neutral(user, id)) continue;
      return no("is also read by something else");
    }
    return true;
  }

  // Whether a call between the copy and the attention takes what the copy was made of.
  bool written_between(ValueId source, ValueId copy) const {
    std::set<ValueId> storage;
    for (ValueId at = source; at != kNone && storage.insert(at).second;) {
      const Value& v = g_[at];
      bool follows = v.kind == Kind::index || v.kind == Kind::element ||
                     v.kind == Kind::attribute || (v.kind == Kind::op && v.op->view);
      at = follows && !v.operands.empty() ? v.operands[0] : kNone;
    }
    for (ValueId id = copy; id < call_; ++id) {
      if (g_[id].kind != Kind::call) continue;
      for (ValueId operand : g_[id].operands) {
        if (storage.contains(operand)) return true;
        if (operand != kNone && g_[operand].kind == Kind::attribute &&
            storage.contains(g_.owner(operand))) {
          return true;
        }
      }
    }
    return false;
  }

  // From an operand up to its transposes.
  bool up(ValueId id, ValueId reader, int depth) {
    if (depth > kPathBound) return no("has too long a path");
    if (path_.contains(id)) return true;
    if (!only_serves(id, reader)) return false;
    const Value& v = g_[id];
    // What a helper's text does cannot be taken out of its call.
    if (v.inlined) return no("is transposed inside a helper");
    if (v.kind == Kind::op && is_swap(id)) {
      path_.insert(id);
      gone_.insert(id);
      ++transposes_;
      return true;
    }
    if (v.kind == Kind::op && v.op->axes == AxisKind::contiguous) {
      if (written_between(v.operands[0], id))
        return no("is a copy of what a later call may change");
      path_.insert(id);
      gone_.insert(id);
      return up(v.operands[0], id, depth + 1);
    }
    if (v.kind == Kind::op && v.op->axes == AxisKind::cast) {
      path_.insert(id);
      return up(v.operands[0], id, depth + 1);
    }
    if (v.kind == Kind::phi && v.range.size() == 0) {
      path_.insert(id);
      return up(v.operands[1], id, depth + 1) && up(v.operands[2], id, depth + 1);
    }
    return no("does not come straight from a transpose");
  }

  // From the result down to the transposes that undo the layout.
  bool down(ValueId id, int depth) {
    if (depth > kPathBound) return no("has too long a path");
    if (g_.used_by_statement(id)) return no("is used as it is");
    bool any = false;
    for (ValueId user : g_.users(id)) {
      if (unwritten(user) || neutral(user, id)) continue;
      const Value& u = g_[user];
      if (u.inlined) return no("is read inside a helper");
      if (u.kind == Kind::op && is_swap(user) && u.operands[0] == id) {
        if (gone_.insert(user).second) ++transposes_;
        drop_copy(user);
        any = true;
        continue;
      }
      if (u.kind == Kind::op && u.op->axes == AxisKind::cast && u.operands[0] == id) {
        if (!down(user, depth + 1)) return false;
        any = true;
        continue;
      }
      return no("is not only transposed back");
    }
    return any || no("is not transposed back");
  }

  // `.transpose(1, 2).contiguous()`: the call gives a dense result in the target layout.
  void drop_copy(ValueId transpose) {
    std::vector<ValueId> readers;
    for (ValueId user : g_.users(transpose)) {
      if (!unwritten(user)) readers.push_back(user);
    }
    if (readers.size() == 1 && !g_.used_by_statement(transpose) &&
        g_[readers[0]].kind == Kind::op && g_[readers[0]].op->axes == AxisKind::contiguous) {
      gone_.insert(readers[0]);
    }
  }

  const Graph& g_;
  ValueId call_;
  const Layout& layout_;
  std::pair<int, int> axes_{};
  int rank_ = 0;
  std::set<ValueId> path_, gone_;
  uint32_t transposes_ = 0;
  std::string why_;
};

}  // namespace

Absorption absorb(const Graph& graph, ValueId call, const Layout& layout) {
  return Absorber(graph, call, layout).run();
}

}  // namespace refit
