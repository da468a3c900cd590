// Evidence about values: see facts.hpp. The rank of each value of a graph is worked out once.
#include "rewriter/match/facts.hpp"

#include <algorithm>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/match/rank_parts.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kSizeParts = 256;  // parts that the sizes of one view are put together from

class Ranks {
 public:
  explicit Ranks(const Graph& g) : g_(g) {}

  // Operands before what is made of them, by an explicit stack: chains are as long as functions.
  std::optional<int> of(ValueId start) {
    if (start == kNone) return std::nullopt;
    std::vector<Rank>& ranks = g_.ranks();
    std::vector<ValueId> work{start};
    while (!work.empty()) {
      ValueId id = work.back();
      if (ranks[id].state == Rank::State::known) {
        work.pop_back();
        continue;
      }
      if (ranks[id].state == Rank::State::unknown) {
        ranks[id].state = Rank::State::asked;
        for (ValueId operand : g_[id].operands) {
          if (operand != kNone && ranks[operand].state == Rank::State::unknown) {
            work.push_back(operand);
          }
        }
        continue;
      }
      work.pop_back();
      auto result = compute(id);
      if (!result) result = rank_read(g_, id);
      ranks[id] = {Rank::State::known, result};
    }
    return ranks[start].axes;
  }

 private:
  // A cycle shows nothing.
  std::optional<int> operand(ValueId id) const {
    return id == kNone ? std::nullopt : g_.ranks()[id].axes;
  }

  std::optional<int> compute(ValueId id) {
    const Value& v = g_[id];
    if (g_.numbers.contains(id)) return 0;
    if (v.kind == Kind::phi) {
      auto a = operand(v.operands[1]), b = operand(v.operands[2]);
      // One branch speaks for its sibling: both feed the same code.
      if (a && b && *a != *b) return std::nullopt;
      return a ? a : b;
    }
    bool later = v.kind == Kind::opaque && v.text == kStoredElsewhere;
    if (v.kind == Kind::update || (later && v.operands.size() == 1)) {
      return operand(v.operands[0]);
    }
    const Value* base = v.operands.empty() || v.operands[0] == kNone ? nullptr : &g_[v.operands[0]];
    bool one_part = v.kind == Kind::element || (v.kind == Kind::index && base->kind == Kind::op &&
                                                base->op->axes == AxisKind::split);
    if (one_part) {
      const Value& whole = *base;
      if (whole.kind == Kind::op && whole.op->axes == AxisKind::split) {
        auto r = operand(whole.operands[0]);
        if (!r) return r;
        return drops_axis(*whole.op) ? *r - 1 : *r;
      }
      return v.kind == Kind::element && is_shape(g_, v.operands[0]) ? std::optional(0)
                                                                    : std::nullopt;
    }
    if (v.kind == Kind::index) {
      auto whole = operand(v.operands[0]);
      auto dropped = axes_dropped(g_, v.operands[1]);
      if (is_shape(g_, v.operands[0]) && dropped == 1) return 0;  // one size
      return whole && dropped ? std::optional(*whole - *dropped) : std::nullopt;
    }
    if (v.kind == Kind::op && v.op->result_rank) return v.op->result_rank;
    if ((v.kind == Kind::op || v.kind == Kind::call) && v.axes > 0) return v.axes;
    if (v.kind == Kind::op && v.op->broadcasts) {
      const bool vectors =  // whose axis goes
          std::ranges::any_of(v.operands, [&](ValueId part) { return operand(part) < 2; });
      return vectors ? std::nullopt : larger_rank(v);
    }
    if (v.kind == Kind::op && v.op->one_rank && !v.op->is_class && !v.operands.empty()) {
      return operand(v.operands[0]);
    }
    if (v.kind == Kind::call && v.operands.size() == 2) {
      auto layer = g_.instances.find(id);
      bool keeps = layer != g_.instances.end() &&
                   std::ranges::all_of(layer->second, [](const Operation* op) {
                     return op->axes == AxisKind::last_dim || op->axes == AxisKind::elementwise;
                   });
      return keeps ? operand(v.operands[1]) : std::nullopt;
    }
    if (v.kind != Kind::op || v.operands.empty()) return std::nullopt;
    return of_operation(id);
  }

  // Broadcasting gives the larger rank; known only where all tensor operands are known.
  std::optional<int> larger_rank(const Value& v) const {
    std::optional<int> best;
    for (ValueId part : v.operands) {
      if (part == kNone || g_[part].kind == Kind::literal) continue;
      auto r = operand(part);
      if (!r) return std::nullopt;
      best = best ? std::max(*best, *r) : *r;
    }
    return best;
  }

  // The rank that an operation gives, by how it treats the axes of its first operand.
  std::optional<int> of_operation(ValueId id) {
    const Value& v = g_[id];
    ValueId first = v.operands[0];
    switch (v.op->axes) {
      case AxisKind::view:
        return sizes(v.operands.size() > 1 ? v.operands[1] : kNone);
      case AxisKind::permute: {
        auto n = sizes(v.operands.size() > 1 ? v.operands[1] : kNone);
        return n ? n : operand(first);
      }
      case AxisKind::transpose:
      case AxisKind::cast:
      case AxisKind::contiguous:
      case AxisKind::last_dim:
        return operand(first);
      case AxisKind::elementwise:
        return larger_rank(v);
      case AxisKind::concat: {
        const Value& list = g_[first];
        if (list.kind != Kind::list && list.kind != Kind::tuple) return std::nullopt;
        for (ValueId item : list.operands) {
          auto r = operand(item);
          if (r) return r;  // the others must have the same for the call to be valid
        }
        return std::nullopt;
      }
      case AxisKind::along: {
        // Without an axis it may flatten.
        ValueId axis = g_.argument(id, v.op->axis);
        bool named = axis == kNone || g_[axis].literal.kind != Literal::Kind::none ||
                     g_[axis].kind != Kind::literal;
        for (const Parameter& p : parameters_of(v)) {
          if (axis == kNone && p.name == v.op->axis && p.default_value) {
            named = p.default_value->kind == Literal::Kind::integer;
          }
        }
        return named ? operand(first) : std::nullopt;
      }
      case AxisKind::pattern: {
        auto text = literal_of(g_, g_.argument(id, "pattern"));
        if (!text || text->kind != Literal::Kind::string) return std::nullopt;
        auto pattern = parse_axis_pattern(text->text);
        return pattern ? std::optional(static_cast<int>(pattern->to.size())) : std::nullopt;
      }
      case AxisKind::unflatten: {
        auto r = operand(first);
        auto n = sizes(v.operands.size() > 2 ? v.operands[2] : kNone);
        return r && n ? std::optional<int>(*r - 1 + *n) : std::nullopt;
      }
      case AxisKind::flatten: {
        auto r = operand(first);
        auto start = axis(id, "start_dim", r), end = axis(id, "end_dim", r);
        if (!start || !end || *end < *start) return std::nullopt;
        return *r == 0 ? 1 : *r - (*end - *start);
      }
      default: {  // `torch.zeros(b, n, s)`: made from its sizes
        const auto& parameters = parameters_of(v);
        bool made = !parameters.empty() && parameters[0].name == "size";
        return made ? sizes(first) : std::nullopt;
      }
    }
  }

  // How many sizes are written one by one, `*x.shape[:2]` among them: that is a rank.
  std::optional<int> sizes(ValueId id) {
    if (id == kNone) return std::nullopt;
    const Value& v = g_[id];
    if (v.kind != Kind::tuple && v.kind != Kind::list) return std::nullopt;
    // A single argument that is no literal may be a sequence itself: view(shape), zeros([b, n]).
    if (v.operands.size() == 1 && g_[v.operands[0]].kind != Kind::literal &&
        g_[v.operands[0]].kind != Kind::starred) {
      return part_of_sizes(v.operands[0]);
    }
    return part_of_sizes(id);
  }

  // How many sizes a sequence of them has: one that is written out, a shape, a slice of one, or two
  // of them joined.
  std::optional<int> part_of_sizes(ValueId whole) {
    int count = 0, steps = 0;
    std::vector<ValueId> work{whole};
    while (!work.empty()) {
      const ValueId id = work.back();
      const Value& v = g_[id];
      work.pop_back();
      if (++steps > kSizeParts) {
        reached(Bound::size_parts, g_[whole].range.begin);
        return std::nullopt;
      }
      if (v.kind == Kind::tuple || v.kind == Kind::list) {
        for (ValueId item : v.operands) {
          const bool several = g_[item].kind == Kind::starred;
          if (several) work.push_back(g_[item].operands[0]);
          count += several ? 0 : 1;
        }
        continue;
      }
      if (v.kind == Kind::op && v.op->id == "operator.add" && v.operands.size() == 2) {
        work.insert(work.end(), v.operands.begin(), v.operands.end());
        continue;
      }
      auto some = sizes_of_shape(id);
      if (!some) return std::nullopt;
      count += *some;
    }
    return count;
  }

  // How many sizes `x.shape` or a slice of it has.
  std::optional<int> sizes_of_shape(ValueId id) const {
    const Value& v = g_[id];
    if (is_shape(g_, id)) return operand(v.operands[0]);
    if (v.kind != Kind::index || !is_shape(g_, v.operands[0])) return std::nullopt;
    const Value& slice = g_[v.operands[1]];
    auto rank = operand(g_[v.operands[0]].operands[0]);
    if (!rank || slice.kind != Kind::slice || slice.operands[2] != kNone) return std::nullopt;
    auto bound = [&](ValueId at, int otherwise) -> std::optional<int> {
      if (at == kNone) return otherwise;
      auto written = literal_of(g_, at);
      if (!written || written->kind != Literal::Kind::integer) return std::nullopt;
      auto place = static_cast<int>(std::clamp<int64_t>(written->integer, -*rank, *rank));
      return place < 0 ? place + *rank : place;
    };
    auto begin = bound(slice.operands[0], 0), end = bound(slice.operands[1], *rank);
    if (!begin || !end) return std::nullopt;
    return std::max(0, *end - *begin);
  }

  // A parameter that names an axis, counted from the front.
  std::optional<int> axis(ValueId id, std::string_view parameter, std::optional<int> rank) const {
    if (!rank) return std::nullopt;
    std::optional<Literal> given = literal_of(g_, g_.argument(id, parameter));
    for (const Parameter& p : parameters_of(g_[id])) {
      if (!given && g_.argument(id, parameter) == kNone && p.name == parameter) {
        given = p.default_value;
      }
    }
    if (!given || given->kind != Literal::Kind::integer) return std::nullopt;
    auto axis = static_cast<int>(given->integer);
    return axis < 0 ? axis + *rank : axis;
  }

  const Graph& g_;
};

}  // namespace

std::optional<int> rank_of(const Graph& graph, ValueId id) { return Ranks(graph).of(id); }

std::optional<Literal> literal_of(const Graph& graph, ValueId id) {
  if (id == kNone) return std::nullopt;
  const Value& v = graph[id];
  if (v.kind == Kind::literal) return v.literal;
  if (v.kind == Kind::symbol) {
    return Literal::symbol(v.text);
  }
  if (v.kind == Kind::tuple || v.kind == Kind::list) {
    Literal out;
    out.kind = Literal::Kind::tuple;
    for (ValueId item : v.operands) {
      auto inner = literal_of(graph, item);
      if (!inner) return std::nullopt;
      out.items.push_back(std::move(*inner));
    }
    return out;
  }
  return std::nullopt;
}

namespace {

// Whether every value that may stand at inference passes a test of literals: of
// `p if self.training else 0.0` only the last.
bool at_inference(const Graph& graph, ValueId id, bool (*test)(const Literal&)) {
  if (id == kNone) return false;
  const Value& v = graph[id];
  if (v.kind == Kind::literal) return test(v.literal);
  if (v.kind != Kind::phi) return false;
  ValueId condition = v.operands[0];
  bool negated = false;
  if (graph[condition].kind == Kind::op && graph[condition].op->id == "operator.not_") {
    negated = true;
    condition = graph[condition].operands[0];
  }
  const Value& c = graph[condition];
  bool training = c.kind == Kind::attribute && c.text == "training";
  if (training) return at_inference(graph, v.operands[negated ? 1 : 2], test);
  return at_inference(graph, v.operands[1], test) && at_inference(graph, v.operands[2], test);
}

bool is_zero(const Literal& literal) { return same_value(literal, Literal::whole(0)); }

bool is_nonzero(const Literal& literal) {
  if (literal.kind == Literal::Kind::boolean) return literal.boolean;
  return (literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real) &&
         !is_zero(literal);
}

}  // namespace

bool zero_at_inference(const Graph& graph, ValueId id) { return at_inference(graph, id, is_zero); }

bool nonzero_at_inference(const Graph& graph, ValueId id) {
  return at_inference(graph, id, is_nonzero);
}

bool is_boolean(const Graph& graph, ValueId id) {
  if (id == kNone) return false;
  const Value& v = graph[id];
  if (v.kind == Kind::phi)
    return is_boolean(graph, v.operands[1]) && is_boolean(graph, v.operands[2]);
  if (v.kind == Kind::index) return is_boolean(graph, v.operands[0]);
  if (v.kind != Kind::op) return false;
  static constexpr std::string_view kComparisons[] = {"operator.lt", "operator.le", "operator.eq",
                                                      "operator.ne", "operator.ge", "operator.gt"};
  for (std::string_view c : kComparisons) {
    if (v.op->id == c) return true;
  }
  if (v.op->id == "operator.invert") return is_boolean(graph, v.operands[0]);
  if (v.op->axes == AxisKind::cast) {
    for (ValueId operand : v.operands) {
      if (operand != kNone && graph[operand].kind == Kind::symbol &&
          graph[operand].text.ends_with(".bool")) {
        return true;
      }
    }
    return v.op->id.ends_with(".bool");
  }
  if (v.op->view && !v.operands.empty()) return is_boolean(graph, v.operands[0]);
  return false;
}

std::optional<std::pair<int, int>> swapped_axes(const Graph& graph, ValueId id, int rank) {
  const Value& v = graph[id];
  if (v.kind != Kind::op || v.op->axes != AxisKind::transpose || v.operands.size() < 3) {
    return std::nullopt;
  }
  int axes[2];
  for (int i = 0; i < 2; ++i) {
    auto l = literal_of(graph, v.operands[static_cast<size_t>(i) + 1]);
    if (!l || l->kind != Literal::Kind::integer) return std::nullopt;
    auto axis = static_cast<int>(l->integer);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
    axes[i] = axis;
  }
  return std::minmax(axes[0], axes[1]);
}

}  // namespace refit
