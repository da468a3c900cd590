// Evidence about what a value is: a number, a tensor, a cast, of which rank by its readers. See
// facts.hpp. Searches are bounded and say no beyond it.
#include <algorithm>
#include <unordered_set>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/match/rank_parts.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr size_t kValueBound = 1024;
constexpr size_t kNearby = 64;  // values behind one; an operation behind more is another matter

// The values behind one, the nearest first, each once; more than the bound shows nothing.
class Walk {
 public:
  Walk(const Graph& graph, ValueId start)
      : graph_(graph), start_(start), work_{start}, seen_{start} {}

  void reach(ValueId id) {
    if (id != kNone && seen_.insert(id).second) work_.push_back(id);
  }
  std::optional<ValueId> next() {
    if (next_ == work_.size()) return std::nullopt;
    if (bounded()) {
      reached(Bound::value_kind, graph_.place(start_).begin);
      return std::nullopt;
    }
    return work_[next_++];
  }
  bool bounded() const { return seen_.size() > kValueBound; }

 private:
  const Graph& graph_;
  ValueId start_;
  std::vector<ValueId> work_;
  size_t next_ = 0;
  std::unordered_set<ValueId> seen_;
};

bool numeric(const Literal& literal) {
  return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real;
}

// One entry of a shape.
bool is_size(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::element) return is_shape(g, v.operands[0]);
  if (v.kind == Kind::index) {
    const Value& at = g[v.operands[1]];
    return at.kind == Kind::literal && numeric(at.literal) && is_shape(g, v.operands[0]);
  }
  return v.kind == Kind::op && v.op->axes == AxisKind::query && v.op->id.ends_with(".size");
}

std::optional<int64_t> integer(const Graph& g, ValueId id) {
  auto literal = literal_of(g, id);
  if (!literal || literal->kind != Literal::Kind::integer) return std::nullopt;
  return literal->integer;
}

}  // namespace

bool is_scalar(const Graph& g, ValueId id, const std::function<bool(ValueId)>& attribute) {
  Walk walk(g, id);
  while (auto at = walk.next()) {
    const Value& v = g[*at];
    if (v.number) continue;
    if (v.kind == Kind::literal || v.kind == Kind::parameter) {
      if (!numeric(v.literal)) return false;
    } else if (v.kind == Kind::attribute) {
      if (!attribute(*at)) return false;
    } else if (v.kind == Kind::phi) {
      walk.reach(v.operands[1]);
      walk.reach(v.operands[2]);
    } else if (v.kind == Kind::op && v.op->axes == AxisKind::elementwise) {
      // Also `d ** -0.5`, whose normal form is an operation of tensors.
      for (ValueId operand : v.operands) walk.reach(operand);
    } else if (!is_size(g, *at) && !(v.kind == Kind::op && v.op->library == "math")) {
      return false;
    }
  }
  return !walk.bounded();
}

bool has_one_size(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::tuple || v.kind == Kind::list) {
    return v.operands.size() == 1 && g[v.operands[0]].kind != Kind::starred;
  }
  if (v.kind == Kind::literal) return v.literal.items.size() == 1;
  if (v.kind != Kind::index || !is_shape(g, v.operands[0])) return false;
  const Value& at = g[v.operands[1]];
  return at.kind == Kind::slice && at.operands[1] == kNone && at.operands[2] == kNone &&
         at.operands[0] != kNone && integer(g, at.operands[0]) == -1;
}

// The class of what a parameter is declared as (graph.hpp: Value::literal).
constexpr std::string_view kTensor = "torch.Tensor";

bool is_tensor_or_none(const Graph& g, ValueId id) {
  Walk walk(g, id);
  while (auto at = walk.next()) {
    const Value& v = g[*at];
    if (v.kind == Kind::phi) {
      walk.reach(v.operands[1]);
      walk.reach(v.operands[2]);
    } else if (v.kind == Kind::literal) {
      if (v.literal.kind != Literal::Kind::none) return false;
    } else if (v.kind == Kind::parameter) {
      bool tensor = v.literal.kind == Literal::Kind::symbol && v.literal.text == kTensor;
      if (!tensor) return false;
    } else if (v.kind == Kind::index) {
      walk.reach(v.operands[0]);
    } else if (v.kind == Kind::op && v.op->library == "operator") {
      for (ValueId operand : v.operands) {
        if (operand != kNone && g[operand].kind != Kind::literal) walk.reach(operand);
      }
    } else if (v.kind != Kind::op || v.op->is_class || v.op->axes == AxisKind::query ||
               v.op->library != "torch") {
      return false;
    }
  }
  return !walk.bounded();
}

std::optional<std::string> cast_type(const Graph& g, ValueId id) {
  if (id == kNone || g[id].kind != Kind::op || g[id].op->axes != AxisKind::cast) return {};
  for (size_t i = 1; i < g[id].operands.size(); ++i) {
    ValueId operand = g[id].operands[i];
    if (operand != kNone && g[operand].kind == Kind::symbol) return g[operand].text;
  }
  return {};
}

bool is_cast(const Graph& g, ValueId id) {
  Walk walk(g, id);
  while (auto at = walk.next()) {
    const Value& v = g[*at];
    if (v.kind == Kind::phi) {
      walk.reach(v.operands[1]);
      walk.reach(v.operands[2]);
    } else if (v.kind == Kind::index || v.kind == Kind::element) {
      walk.reach(v.operands[0]);
    } else if (v.kind == Kind::op && v.op->axes == AxisKind::cast) {
      bool fixed = std::any_of(v.operands.begin() + 1, v.operands.end(), [&](ValueId operand) {
        return operand != kNone && g[operand].kind == Kind::symbol;
      });
      if (fixed) return true;
      walk.reach(v.operands[0]);
    } else if (v.kind == Kind::op && (v.op->view || v.op->library == "operator")) {
      for (ValueId operand : v.operands) walk.reach(operand);
    }
  }
  return walk.bounded();
}

bool uses_operation(const Graph& g, ValueId id,
                    const std::function<bool(const Operation&)>& wanted) {
  Walk walk(g, id);
  for (size_t looked_at = 0; looked_at <= kNearby; ++looked_at) {
    auto at = walk.next();
    if (!at) return false;
    const Value& v = g[*at];
    if (v.kind == Kind::op && wanted(*v.op)) return true;
    for (ValueId operand : v.operands) walk.reach(operand);
  }
  return false;
}

bool read_as_rank(const Graph& g, ValueId id, int rank) {
  for (ValueId user : g.users(id)) {
    const Value& u = g[user];
    if (is_shape(g, user)) {  // `b, s, n, d = x.shape`
      for (ValueId part : g.users(user)) {
        if (g[part].kind == Kind::element && g[part].count == rank) return true;
      }
    }
    if (u.kind == Kind::index && u.operands[0] == id && g[u.operands[1]].kind == Kind::tuple) {
      const auto& parts = g[u.operands[1]].operands;
      bool plain = std::ranges::all_of(parts, [&](ValueId part) {
        return g[part].kind == Kind::slice || integer(g, part).has_value();
      });
      if (plain && static_cast<int>(parts.size()) == rank) return true;
    }
    if (u.kind != Kind::op || u.operands.empty() || u.operands[0] != id) continue;
    if (u.op->axes == AxisKind::pattern) {
      const auto text = literal_of(g, g.argument(user, "pattern"));
      const auto pattern = text && text->kind == Literal::Kind::string
                               ? parse_axis_pattern(text->text)
                               : std::nullopt;
      if (pattern && static_cast<int>(pattern->from.size()) == rank) return true;
    }
    if (u.op->axes == AxisKind::permute && u.operands.size() > 1 && u.operands[1] != kNone &&
        static_cast<int>(g[u.operands[1]].operands.size()) == rank) {
      return true;
    }
    if (u.op->axes == AxisKind::transpose) {
      for (size_t i = 1; i < 3 && i < u.operands.size(); ++i) {
        auto axis = integer(g, u.operands[i]);
        if (axis && *axis == rank - 1) return true;
      }
    }
    // A sibling branch does the same to what is shown to have that rank.
    for (ValueId join : g.users(user)) {
      if (g[join].kind != Kind::phi) continue;
      ValueId other = g[join].operands[1] == user ? g[join].operands[2] : g[join].operands[1];
      const Value& o = g[other];
      if (o.kind != Kind::op || o.op != u.op || o.operands.size() != u.operands.size()) continue;
      bool alike = true;
      for (size_t i = 1; i < o.operands.size(); ++i) {
        alike = alike && (o.operands[i] == u.operands[i] ||
                          (o.operands[i] != kNone && u.operands[i] != kNone &&
                           g.same(o.operands[i], u.operands[i])));
      }
      const Value& source = g[o.operands[0]];
      auto shown = source.kind == Kind::op && source.op->result_rank ? source.op->result_rank
                                                                     : rank_of(g, o.operands[0]);
      if (alike && shown == rank) return true;
    }
  }
  return false;
}

}  // namespace refit
