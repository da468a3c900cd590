// See rank_parts.hpp. Each value's answer is worked out once, after those of the values that are
// made of it.
#include <algorithm>
#include <vector>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/match/rank_parts.hpp"

namespace refit {

bool is_shape(const Graph& g, ValueId id) {
  const Value& v = g[id];
  return (v.kind == Kind::attribute && v.text == "shape") ||
         (v.kind == Kind::op && v.op->axes == AxisKind::query && v.op->id.ends_with(".size") &&
          !v.operands.empty() && (v.operands.size() < 2 || v.operands[1] == kNone));
}

std::optional<int> axes_dropped(const Graph& g, ValueId subscripts) {
  const Value& at = g[subscripts];
  std::vector<ValueId> parts =
      at.kind == Kind::tuple ? at.operands : std::vector<ValueId>{subscripts};
  int dropped = 0;
  for (ValueId part : parts) {
    const Value& p = g[part];
    if (p.kind == Kind::slice) continue;
    if (p.kind != Kind::literal) return std::nullopt;
    if (p.literal.kind == Literal::Kind::integer) {
      ++dropped;
    } else if (p.literal.kind == Literal::Kind::none) {
      --dropped;
    } else if (p.literal.kind != Literal::Kind::symbol) {
      return std::nullopt;
    }
  }
  return dropped;
}

bool drops_axis(const Operation& op) {
  return std::ranges::none_of(op.parameters, [](const Parameter& p) {
    return p.name == "chunks" || p.name.starts_with("split_size") || p.name.ends_with("sections") ||
           p.name.starts_with("indices");
  });
}

std::optional<int> written_sizes(const Graph& g, ValueId id) {
  if (id == kNone) return std::nullopt;
  const Value& v = g[id];
  if (v.kind != Kind::tuple && v.kind != Kind::list) return std::nullopt;
  // A single argument that is no literal may be a sequence itself: view(shape), zeros([b, n]).
  if (v.operands.size() == 1 && g[v.operands[0]].kind != Kind::literal) {
    return written_sizes(g, v.operands[0]);
  }
  bool starred =
      std::ranges::any_of(v.operands, [&](ValueId item) { return g[item].kind == Kind::starred; });
  return starred ? std::nullopt : std::optional(static_cast<int>(v.operands.size()));
}

namespace {

// What a value has its axes from, all of them; kNone where it has them from nothing else.
ValueId same_axes(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind != Kind::op || v.operands.empty()) return kNone;
  switch (v.op->axes) {
    case AxisKind::transpose:
    case AxisKind::permute:
    case AxisKind::cast:
    case AxisKind::contiguous:
      return v.operands[0];
    default:
      return kNone;
  }
}

// The shape of a tensor or all of its strides.
bool one_for_each_axis(const Graph& g, ValueId id) {
  const Value& v = g[id];
  return is_shape(g, id) ||
         (v.kind == Kind::op && v.op->axes == AxisKind::query && v.op->id.ends_with(".stride") &&
          !v.operands.empty() && (v.operands.size() < 2 || v.operands[1] == kNone));
}

// The object of `getattr(q, "ndim")`, whose attribute may be any; kNone for other values.
ValueId looked_up_in(const Graph& g, const Value& v) {
  if (v.kind != Kind::call || v.operands.size() < 2) return kNone;
  const Value& callee = g[v.operands[0]];
  return callee.kind == Kind::unknown && callee.text == "getattr" ? v.operands[1] : kNone;
}

// The tensors whose rank decides a branch: what one side shows of them, the other may contradict.
std::set<ValueId> asked_by_conditions(const Graph& g) {
  std::set<ValueId> out, seen;
  std::vector<ValueId> work;
  for (const Statement& s : g.statements) {
    if (s.kind != StatementKind::branch) continue;
    work.insert(work.end(), s.uses.begin(), s.uses.end());
  }
  for (const Value& v : g.values) {
    if (v.kind == Kind::phi) work.push_back(v.operands[0]);
  }
  // What it is made of step by step is asked for with it: `q.clone().ndim`, `(q * 2).ndim`.
  auto ask = [&](ValueId tensor) {
    while (tensor != kNone && out.insert(tensor).second) {
      const Value& v = g[tensor];
      const bool made = v.kind == Kind::op || v.kind == Kind::index || v.kind == Kind::update;
      tensor = made && !v.operands.empty() ? v.operands[0] : kNone;
    }
  };
  for (ValueId id : g.questions) {
    const Value& v = g[id];
    const bool needs =
        v.kind == Kind::op && !v.operands.empty() &&
        (v.axes > 0 || v.op->axes == AxisKind::permute || v.op->axes == AxisKind::pattern);
    if (needs) {
      ask(v.operands[0]);
    } else {
      work.push_back(id);
    }
  }
  // Whoever reads a number of axes asks for it, whatever becomes of the answer.
  for (ValueId id = 0; id < g.values.size(); ++id) {
    const Value& v = g[id];
    if (v.kind == Kind::attribute && v.text == "ndim") ask(v.operands[0]);
    if (looked_up_in(g, v) != kNone) ask(looked_up_in(g, v));
    if (v.kind != Kind::op || v.operands.empty() || v.operands[0] == kNone) continue;
    if (v.op->axes == AxisKind::query && v.op->id.ends_with("dim")) ask(v.operands[0]);
    if (v.op->library == "builtins" && one_for_each_axis(g, v.operands[0])) {
      ask(g[v.operands[0]].operands[0]);
    }
  }
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Value& v = g[id];
    const bool counts = v.kind == Kind::attribute && v.text == "ndim";
    const bool query = v.kind == Kind::op && v.op->axes == AxisKind::query &&
                       v.op->id.find("dim") != std::string::npos;
    if (counts || query || one_for_each_axis(g, id)) {
      ask(v.operands[0]);
      continue;
    }
    // One size of a shape says nothing of how many there are.
    const bool size = v.kind == Kind::index && is_shape(g, v.operands[0]) &&
                      g[v.operands[1]].kind == Kind::literal;
    const bool computes =
        v.kind == Kind::op && v.op->library != "operator" && v.op->library != "builtins";
    if (size || computes || v.kind == Kind::element) continue;
    work.insert(work.end(), v.operands.begin(), v.operands.end());
  }
  return out;
}

class RanksRead {
 public:
  explicit RanksRead(const Graph& g) : g_(g), ranks_(g.ranks_read()) {
    if (!g.rank_asked()) g.rank_asked() = asked_by_conditions(g);
  }

  std::optional<int> of(ValueId start) {
    std::vector<ValueId> work{start};
    while (!work.empty()) {
      const ValueId id = work.back();
      Rank& rank = ranks_[id];
      if (rank.state == Rank::State::known) {
        work.pop_back();
      } else if (rank.state == Rank::State::unknown) {
        rank.state = Rank::State::asked;
        for (ValueId user : g_.users(id)) {
          auto next = through(user, id);
          if (next && ranks_[user].state == Rank::State::unknown) work.push_back(user);
        }
      } else {
        work.pop_back();
        rank = {Rank::State::known, agreed(id)};
      }
    }
    return ranks_[start].axes;
  }

 private:
  // What all the readers that show a rank agree on. A cycle shows nothing.
  std::optional<int> agreed(ValueId id) const {
    for (ValueId at = id; at != kNone; at = same_axes(g_, at)) {
      if (g_.rank_asked()->contains(at)) return std::nullopt;
    }
    std::optional<int> out;
    for (ValueId user : g_.users(id)) {
      std::optional<int> shown = by(user, id);
      if (auto more = shown ? std::nullopt : through(user, id)) {
        const auto& later = ranks_[user].axes;
        if (later) shown = *later + *more;
      }
      if (shown && out && *shown != *out) return std::nullopt;
      if (shown) out = shown;
    }
    return out;
  }

  // What a reader itself says of its operand.
  std::optional<int> by(ValueId user, ValueId id) const {
    const Value& u = g_[user];
    if (is_shape(g_, user) && u.operands[0] == id) {
      for (ValueId part : g_.users(user)) {
        const Value& p = g_[part];
        if (p.kind == Kind::element && p.count > 0) return p.count;
      }
      return std::nullopt;
    }
    if (u.kind != Kind::op || u.operands.empty() || u.operands[0] != id) return std::nullopt;
    if (u.axes > 0) return u.axes;
    if (u.op->rank && !u.op->is_class) return u.op->rank;
    if (u.op->axes == AxisKind::permute) {
      return written_sizes(g_, u.operands.size() > 1 ? u.operands[1] : kNone);
    }
    if (u.op->axes == AxisKind::pattern) {
      auto text = literal_of(g_, g_.argument(user, "pattern"));
      if (!text || text->kind != Literal::Kind::string) return std::nullopt;
      auto pattern = parse_axis_pattern(text->text);
      if (pattern) return static_cast<int>(pattern->from.size());
    }
    return std::nullopt;
  }

  // By how many axes a reader's result has fewer than its operand; nullopt where it does not say.
  std::optional<int> through(ValueId user, ValueId id) const {
    const Value& u = g_[user];
    const bool first = !u.operands.empty() && u.operands[0] == id;
    const bool split = g_[id].kind == Kind::op && g_[id].op->axes == AxisKind::split;
    const bool list = g_[id].kind == Kind::list || g_[id].kind == Kind::tuple;
    switch (u.kind) {
      case Kind::phi:
        return first ? std::nullopt : std::optional(0);
      case Kind::update:
        return first ? std::optional(0) : std::nullopt;
      case Kind::opaque:
        return u.text == kStoredElsewhere && u.operands.size() == 1 ? std::optional(0)
                                                                    : std::nullopt;
      case Kind::list:
      case Kind::tuple:
        return 0;  // for the concatenation of its items
      case Kind::element:
        return split ? std::optional(0) : std::nullopt;
      case Kind::index:
        if (!first || list) return std::nullopt;
        return split ? std::optional(0) : axes_dropped(g_, u.operands[1]);
      case Kind::call: {
        auto layer = g_.instances.find(user);
        bool keeps = u.operands.size() == 2 && u.operands[1] == id && layer != g_.instances.end() &&
                     std::ranges::all_of(layer->second, [](const Operation* op) {
                       return op->axes == AxisKind::last_dim || op->axes == AxisKind::elementwise;
                     });
        return keeps ? std::optional(0) : std::nullopt;
      }
      case Kind::op:
        return first || u.op->axes == AxisKind::elementwise ? by_operation(user, id, list)
                                                            : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  std::optional<int> by_operation(ValueId user, ValueId id, bool list) const {
    const Value& u = g_[user];
    if (list) return u.op->axes == AxisKind::concat ? std::optional(0) : std::nullopt;
    switch (u.op->axes) {
      case AxisKind::transpose:
      case AxisKind::cast:
      case AxisKind::contiguous:
      case AxisKind::last_dim:
        return 0;
      case AxisKind::split:
        return drops_axis(*u.op) ? 1 : 0;
      case AxisKind::unflatten: {
        auto n = written_sizes(g_, u.operands.size() > 2 ? u.operands[2] : kNone);
        return n ? std::optional(1 - *n) : std::nullopt;
      }
      case AxisKind::elementwise: {  // with numbers alone: what broadcasts may have more axes
        bool numbers = std::ranges::all_of(u.operands, [&](ValueId part) {
          return part == id || part == kNone || g_[part].kind == Kind::literal ||
                 g_.numbers.contains(part);
        });
        return numbers ? std::optional(0) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  const Graph& g_;
  std::vector<Rank>& ranks_;
};

}  // namespace

std::optional<int> rank_read(const Graph& graph, ValueId id) {
  const Value& v = graph[id];
  bool several = v.kind == Kind::list || v.kind == Kind::tuple ||
                 (v.kind == Kind::op && v.op->axes == AxisKind::split);
  return several ? std::nullopt : RanksRead(graph).of(id);
}

}  // namespace refit
