// See strides.hpp.
#include "rewriter/match/strides.hpp"

#include <algorithm>
#include <unordered_set>

#include "rewriter/graph/storage.hpp"
#include "rewriter/match/facts.hpp"

namespace refit {

namespace {

constexpr int kDepth = 64;         // operations behind a result
constexpr size_t kReaders = 1024;  // values that are made from one

bool holds(const std::vector<ValueId>& values, ValueId id) {
  return std::ranges::find(values, id) != values.end();
}

// A copy into another order than the usual one.
bool asks_for_format(const Graph& g, ValueId id) {
  return g.argument(id, "memory_format") != kNone;
}

// A layer whose result lies as what it is called with.
bool as_operand(const Operation* layer) {
  return layer->axes == AxisKind::elementwise || layer->strides == kAsOperand;
}

// In every version of its library.
bool always_dense(const Operation& op) { return op.strides == "dense" && !op.strides_vary; }

class Leading {
 public:
  Leading(const Graph& g, const std::vector<ValueId>* reads, const std::vector<ValueId>* vectors)
      : g_(g), reads_(reads), vectors_(vectors) {}

  Leader of(ValueId id, int depth = 0) const {
    if (id == kNone || depth > kDepth) return {};
    if (reads_ != nullptr && holds(*reads_, id)) return {Leader::Kind::value, id};
    const Value& v = g_[id];
    switch (v.kind) {
      case Kind::op:
        return v.operands.empty() ? Leader{} : of_operation(id, v, depth);
      case Kind::index:
      case Kind::element:
      case Kind::update:
        return of(v.operands[0], depth + 1);
      case Kind::phi: {
        // What is made of a tensor or None is made of the tensor, or raises.
        if (is_none(v.operands[1])) return of(v.operands[2], depth + 1);
        if (is_none(v.operands[2])) return of(v.operands[1], depth + 1);
        const Leader a = of(v.operands[1], depth + 1), b = of(v.operands[2], depth + 1);
        if (a == b) return a;
        return lies_dense(a) && lies_dense(b) ? kDense : Leader{};
      }
      case Kind::call:
        return of_layer(id, v, depth);
      default:
        return {};
    }
  }

 private:
  static constexpr Leader kDense{Leader::Kind::dense, kNone};

  bool is_none(ValueId id) const {
    return id != kNone && g_[id].kind == Kind::literal &&
           g_[id].literal.kind == Literal::Kind::none;
  }

  // A value that leads may be shown to be contiguous.
  bool lies_dense(const Leader& led) const {
    return led.kind == Leader::Kind::dense ||
           (reads_ != nullptr && led.kind == Leader::Kind::value && made_dense(g_, led.value));
  }

  // What leads a result is taken as the library's newest version has it.
  bool shown_dense(const Operation& op) const {
    return reads_ != nullptr ? op.strides == "dense" : always_dense(op);
  }

  Leader of_operation(ValueId id, const Value& v, int depth) const {
    if (v.op->strides == "dense") return shown_dense(*v.op) ? kDense : Leader{};
    if (asks_for_format(g_, id)) return {};
    if (!v.op->strides.empty()) return of(g_.argument(id, v.op->strides), depth + 1);
    switch (v.op->axes) {
      case AxisKind::contiguous:
        return kDense;
      case AxisKind::reduce:
        return {Leader::Kind::root, kNone};
      case AxisKind::elementwise:
        return of_elements(v, depth);
      case AxisKind::cast:
      case AxisKind::split:
      case AxisKind::flatten:
      case AxisKind::unflatten:
      case AxisKind::view:
        return of(v.operands[0], depth + 1);
      default:
        // Pairs as complex numbers, and parts of a regrouping, lie as they did.
        return v.op->view && v.op->axes != AxisKind::transpose && v.op->axes != AxisKind::permute
                   ? of(v.operands[0], depth + 1)
                   : Leader{};
    }
  }

  // A vector, cast or with axes of one place beside its own, orders nothing either.
  bool is_vector(ValueId id) const {
    if (vectors_ == nullptr) return false;
    while (!holds(*vectors_, id)) {
      const Value& v = g_[id];
      const bool part =
          v.kind == Kind::index || (v.kind == Kind::op && v.op != nullptr && !v.operands.empty() &&
                                    (v.op->axes == AxisKind::cast || v.op->axes == AxisKind::view));
      if (!part) return false;
      id = v.operands[0];
    }
    return true;
  }

  // Without reads nothing tells which operand is broadcast: all must agree.
  Leader of_elements(const Value& v, int depth) const {
    std::optional<Leader> all;
    for (const ValueId operand : v.operands) {
      if (operand == kNone || is_vector(operand) ||
          is_scalar(g_, operand, [this](ValueId a) { return g_.numbers.contains(a); })) {
        continue;
      }
      const Leader own = of(operand, depth + 1);
      if (reads_ != nullptr) return own;
      if (all && !(*all == own)) return {};
      all = own;
    }
    return all.value_or(Leader{});
  }

  // A layer, of which every class gives the same: of a contiguous operand also one class a
  // contiguous result and another one that lies as the operand.
  Leader of_layer(ValueId id, const Value& v, int depth) const {
    auto layer = g_.instances.find(id);
    if (layer == g_.instances.end() || v.operands.size() < 2) return {};
    const auto& made_of = layer->second;
    // A call that is handed the layer calls one that gives back what it is given.
    const bool handed = reads_ != nullptr && holds(*reads_, v.operands[0]);
    auto dense = [&](const Operation* op) {
      const bool gives_back = op->view && op->axes == AxisKind::elementwise;
      return shown_dense(*op) || (handed && gives_back && made_of.size() > 1);
    };
    if (std::ranges::all_of(made_of, dense)) return kDense;
    const bool known = std::ranges::all_of(made_of, [&](const Operation* op) {
      return dense(op) || as_operand(op) || (op->strides == "dense" && op->strides_vary);
    });
    if (!known) return {};
    const Leader led = of(v.operands[1], depth + 1);
    if (std::ranges::all_of(made_of, as_operand)) return led;
    return lies_dense(led) ? kDense : Leader{};
  }

  const Graph& g_;
  const std::vector<ValueId>* reads_;
  const std::vector<ValueId>* vectors_;
};

// The readers of a value, and of what lies as it does.
class Readers {
 public:
  Readers(const Graph& g, ValueId start, int lowered) : g_(g), lowered_(lowered) { reach(start); }

  bool tell() {
    while (!work_.empty()) {
      const ValueId id = work_.back();
      work_.pop_back();
      if (seen_.size() > kReaders || g_.used_by_statement(id) || holds(g_.sinks, id)) return true;
      for (const ValueId user : g_.users(id)) {
        if (tells(user, id)) return true;
      }
    }
    return false;
  }

 private:
  void reach(ValueId id) {
    if (seen_.insert(id).second) work_.push_back(id);
  }

  bool tells(ValueId user, ValueId of) {
    const Value& u = g_[user];
    switch (u.kind) {
      case Kind::op:
        return operation_tells(user, u, of);
      case Kind::phi:
        if (u.operands[0] != of) reach(user);
        return false;
      case Kind::index:
      case Kind::element:
      case Kind::tuple:
      case Kind::list:
        reach(user);
        return false;
      case Kind::update:
        if (u.operands[0] == of) reach(user);
        return u.operands[2] == of && keeps_object(g_, u);
      case Kind::attribute:
        return u.text != "shape" && u.text != "dtype" && u.text != "device" && u.text != "ndim";
      case Kind::call:
        return layer_tells(user, u);
      default:
        return true;
    }
  }

  bool operation_tells(ValueId user, const Value& u, ValueId of) {
    if (u.op->reads_strides || u.op->in_place) return true;
    if (always_dense(*u.op) || u.op->axes == AxisKind::reduce) return false;
    if (u.op->strides.find(' ') != std::string::npos) return true;  // it gives several values
    if (!u.op->strides.empty() && !u.op->strides_vary) {
      if (g_.argument(user, u.op->strides) == of) reach(user);
      return false;
    }
    switch (u.op->axes) {
      case AxisKind::contiguous:
        return asks_for_format(g_, user);
      case AxisKind::query:
        return false;
      case AxisKind::view:
      case AxisKind::flatten:
      case AxisKind::pattern:
        if (auto rank = rank_of(g_, user); rank && *rank < lowered_) return false;
        reach(user);
        return false;
      case AxisKind::opaque:
        if (!u.op->view) return true;
        [[fallthrough]];
      default:
        reach(user);
        return false;
    }
  }

  bool layer_tells(ValueId user, const Value& u) {
    auto layer = g_.instances.find(user);
    if (layer == g_.instances.end()) return true;
    const auto& made_of = layer->second;
    if (std::ranges::all_of(made_of, [](const auto* op) { return always_dense(*op); })) {
      return false;
    }
    if (!std::ranges::all_of(made_of, [](const auto* op) {
          return as_operand(op) || op->strides_vary || always_dense(*op);
        })) {
      return true;
    }
    reach(user);
    return u.operands.size() > 2;
  }

  const Graph& g_;
  const int lowered_;
  std::vector<ValueId> work_;
  std::unordered_set<ValueId> seen_;
};

}  // namespace

Leader leader(const Graph& g, ValueId id, const std::vector<ValueId>& reads,
              const std::vector<ValueId>& vectors) {
  return Leading(g, &reads, &vectors).of(id);
}

Leader next_leader(const Graph& g, ValueId id, const std::vector<ValueId>& reads,
                   const std::vector<ValueId>& vectors) {
  while (g[id].kind == Kind::op && g[id].op->axes == AxisKind::cast) id = g[id].operands[0];
  const Value& v = g[id];
  const bool two =
      v.kind == Kind::op && v.op->axes == AxisKind::elementwise && v.operands.size() > 1;
  return two ? Leading(g, &reads, &vectors).of(v.operands[1]) : Leader{};
}

bool strides_matter(const Graph& g, ValueId id, int lowered) {
  return Readers(g, id, lowered).tell();
}

bool made_dense(const Graph& g, ValueId id) {
  return Leading(g, nullptr, nullptr).of(id).kind == Leader::Kind::dense;
}

}  // namespace refit
