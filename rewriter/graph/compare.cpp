// See compare.hpp. The walk goes on past what does not agree, so that the pattern with the most in
// common can be told from the others; recursion follows the pattern and is bounded.
#include "rewriter/graph/compare.hpp"

#include <algorithm>
#include <map>

#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kStepBound = 4000;
constexpr int kTextDepth = 6;

class Comparer {
 public:
  Comparer(const Graph& pattern, const Graph& subject) : pattern_(pattern), subject_(subject) {}

  Comparison walk(ValueId p, ValueId s, std::map<std::string, ValueId>& holes) {
    Comparison out;
    if (p == kNone) return out;
    if (++steps_ > kStepBound) {
      if (steps_ == kStepBound + 1) {
        reached(Bound::nearest_steps, s == kNone ? 0 : subject_[s].range.begin);
      }
      return out;
    }
    const Value& pv = pattern_[p];
    if (pv.kind == Kind::hole) {
      out.parts = 1;
      bool agrees = s != kNone;
      if (agrees && pv.text != "_") {
        auto [known, fresh] = holes.emplace(pv.text, s);
        agrees = fresh || subject_.same(known->second, s);
      }
      return agrees ? with(out) : without(out, p, s);
    }
    out.parts = 1;
    if (s == kNone) return without(weighed(p), p, s);
    const Value& sv = subject_[s];
    bool literal = pv.kind != Kind::literal || same_value(pv.literal, sv.literal);
    bool text = pv.kind != Kind::attribute && pv.kind != Kind::symbol ? true : pv.text == sv.text;
    if (pv.kind != sv.kind || pv.op != sv.op || pv.index != sv.index || !literal || !text) {
      return without(weighed(p), p, s);
    }
    out.agreeing = 1;
    std::map<std::string, ValueId> straight = holes;
    Comparison best = operands(p, s, false, straight);
    if (pv.kind == Kind::op && pv.op->commutative && pv.operands.size() > 1 &&
        best.wanted != kNone) {
      std::map<std::string, ValueId> crossed = holes;
      Comparison other = operands(p, s, true, crossed);
      if (other.agreeing > best.agreeing) {
        best = other;
        straight = std::move(crossed);
      }
    }
    holes = std::move(straight);
    best.agreeing += 1;
    best.parts += 1;
    return best;
  }

 private:
  static Comparison with(Comparison c) {
    c.agreeing = c.parts;
    return c;
  }
  static Comparison without(Comparison c, ValueId p, ValueId s) {
    c.agreeing = 0;
    c.wanted = p;
    c.instead = s;
    return c;
  }

  // All parts of a pattern below a value.
  Comparison weighed(ValueId p) {
    Comparison out;
    std::vector<ValueId> work{p};
    while (!work.empty() && out.parts < 200) {
      ValueId at = work.back();
      work.pop_back();
      if (at == kNone) continue;
      ++out.parts;
      work.insert(work.end(), pattern_[at].operands.begin(), pattern_[at].operands.end());
    }
    return out;
  }

  Comparison operands(ValueId p, ValueId s, bool crossed, std::map<std::string, ValueId>& holes) {
    Comparison out;
    const Value& pv = pattern_[p];
    const Value& sv = subject_[s];
    for (size_t i = 0; i < std::max(pv.operands.size(), sv.operands.size()); ++i) {
      size_t j = crossed && i < 2 ? 1 - i : i;
      ValueId po = i < pv.operands.size() ? pv.operands[i] : kNone;
      ValueId so = j < sv.operands.size() ? sv.operands[j] : kNone;
      if (po == kNone && so == kNone) continue;
      Comparison part;
      if (defaulted(pv, i, po, so)) {
        part.parts = part.agreeing = 1;
      } else if (po == kNone) {
        part.parts = 1;
        part = without(part, p, s);
      } else {
        part = walk(po, so, holes);
      }
      out.parts += part.parts;
      out.agreeing += part.agreeing;
      if (out.wanted == kNone && part.wanted != kNone) {
        out.wanted = part.wanted;
        out.instead = part.instead;
        // Nothing stands there: the whole says more.
        if (out.instead == kNone) {
          out.wanted = p;
          out.instead = s;
        }
      }
    }
    return out;
  }

  // One side is not passed, and the other is what it is then.
  bool defaulted(const Value& pv, size_t i, ValueId po, ValueId so) const {
    if (pv.kind != Kind::op || (po == kNone) == (so == kNone)) return false;
    const auto& parameters = parameters_of(pv);
    if (i >= parameters.size() || !parameters[i].default_value) return false;
    const Value& given = po != kNone ? pattern_[po] : subject_[so];
    if (given.kind == Kind::hole) return given.text == "_";
    return given.kind == Kind::literal && same_value(given.literal, *parameters[i].default_value);
  }

  const Graph& pattern_;
  const Graph& subject_;
  int steps_ = 0;
};

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

std::string written(const Graph& g, ValueId id, int depth) {
  static const std::map<std::string_view, std::string_view> kInfix = {
      {"operator.add", " + "},     {"operator.sub", " - "},      {"operator.mul", " * "},
      {"operator.truediv", " / "}, {"operator.matmul", " @ "},   {"operator.pow", " ** "},
      {"operator.lt", " < "},      {"operator.gt", " > "},       {"operator.eq", " == "},
      {"operator.is_", " is "},    {"operator.contains", " in "}};
  if (id == kNone) return "";
  const Value& v = g[id];
  if (depth == 0) return "…";
  auto inner = [&](ValueId part) { return written(g, part, depth - 1); };
  auto list = [&](size_t from) {
    std::string out;
    for (size_t i = from; i < v.operands.size(); ++i) {
      if (v.operands[i] == kNone) continue;
      if (!out.empty()) out += ", ";
      bool named = v.kind == Kind::op && i > 1 && i < parameters_of(v).size();
      if (named) out += parameters_of(v)[i].name + "=";
      out += inner(v.operands[i]);
    }
    return out;
  };
  switch (v.kind) {
    case Kind::hole:
      return "$" + v.text;
    case Kind::literal:
      if (v.literal.kind == Literal::Kind::none) return "None";
      if (v.literal.kind == Literal::Kind::boolean) return v.literal.boolean ? "True" : "False";
      return to_string(v.literal);
    case Kind::parameter:
    case Kind::unknown:
      return v.text;
    case Kind::symbol:
      return v.text;
    case Kind::attribute:
      return v.operands.empty() ? v.text : inner(v.operands[0]) + "." + v.text;
    case Kind::index:
      return inner(v.operands[0]) + "[" + inner(v.operands[1]) + "]";
    case Kind::op: {
      auto infix = kInfix.find(v.op->id);
      if (infix != kInfix.end() && v.operands.size() > 1) {
        return "(" + inner(v.operands[0]) + std::string(infix->second) + inner(v.operands[1]) + ")";
      }
      if (v.op->id == "operator.neg") return "-" + inner(v.operands[0]);
      if (v.op->axes == AxisKind::cast && v.operands.size() > 1) {
        return inner(v.operands[0]) + ".to(" + inner(v.operands[1]) + ")";
      }
      if (!v.op->methods.empty() && !v.operands.empty() && v.operands[0] != kNone) {
        return inner(v.operands[0]) + "." + v.op->methods.front() + "(" + list(1) + ")";
      }
      return last_part(v.op->id) + "(" + list(0) + ")";
    }
    case Kind::call:
      return inner(v.operands[0]) + "(" + list(1) + ")";
    case Kind::phi:
      return inner(v.operands[1]) + " if " + inner(v.operands[0]) + " else " + inner(v.operands[2]);
    case Kind::tuple:
    case Kind::list:
      return "(" + list(0) + ")";
    case Kind::opaque:
      for (std::string_view begin : {kInLoop, kAfterLoop}) {
        if (v.text.starts_with(begin)) return v.text.substr(begin.size());
      }
      return "…";
    default:
      return "…";
  }
}

}  // namespace

Comparison compare(const Graph& pattern, ValueId root, const Graph& subject, ValueId at) {
  std::map<std::string, ValueId> holes;
  return Comparer(pattern, subject).walk(root, at, holes);
}

std::string spelt_out(const Graph& graph, ValueId id) {
  std::string text = written(graph, id, kTextDepth);
  if (text.starts_with("(") && text.ends_with(")")) {
    int depth = 0;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      depth += (text[i] == '(') - (text[i] == ')');
      if (depth == 0) return text;
    }
    return text.substr(1, text.size() - 2);
  }
  return text;
}

}  // namespace refit
