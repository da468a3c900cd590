// Unification of a pattern graph with a subject graph: see unify.hpp. Recursion follows the
// pattern, whose depth its author chose; the number of steps is bounded.
#include "rewriter/graph/unify.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr int kStepBound = 20000;

class Unifier {
 public:
  Unifier(const Graph& pattern, const Graph& subject) : pattern_(pattern), subject_(subject) {}

  bool bounded() const { return steps_ > kStepBound; }

  bool matches(ValueId root, ValueId at, Bindings& b) {
    const Moment before = now(b);
    if (unify(root, at, b)) return true;
    back_to(before, b);
    return false;
  }

 private:
  bool unify(ValueId p, ValueId s, Bindings& b) {
    if (p == kNone || s == kNone) return p == s;
    if (++steps_ > kStepBound) {
      if (steps_ == kStepBound + 1) reached(Bound::match_steps, subject_[s].range.begin);
      return false;
    }
    const Value& pv = pattern_[p];
    if (pv.kind == Kind::hole) {
      if (subject_[s].kind == Kind::starred) return false;  // any number of operands, not one
      if (pv.text == "_") return true;
      auto at = b.holes.find(pv.text);
      if (at == b.holes.end()) {
        holes_.push_back(b.holes.emplace(pv.text, s).first);
        return true;
      }
      if (subject_.same(at->second, s)) return true;
      if (!subject_.same(before_stores(at->second), before_stores(s))) return false;
      b.stored_between = true;
      return true;
    }
    auto named =
        std::find_if(seen_.rbegin(), seen_.rend(), [p](const auto& met) { return met.first == p; });
    if (named != seen_.rend() && named->second != s && !subject_.same(named->second, s))
      return false;
    const Value& sv = subject_[s];
    // A list of operands may be written as a tuple.
    bool sequences = (pv.kind == Kind::tuple || pv.kind == Kind::list) &&
                     (sv.kind == Kind::tuple || sv.kind == Kind::list);
    if ((pv.kind != sv.kind && !sequences) || pv.op != sv.op || pv.index != sv.index ||
        pv.count != sv.count) {
      return false;
    }
    switch (pv.kind) {
      case Kind::literal:
        if (!same_value(pv.literal, sv.literal) &&
            !(pv.literal.kind == Literal::Kind::string &&
              sv.literal.kind == Literal::Kind::string &&
              same_equation(pv.literal.text, sv.literal.text))) {
          return false;
        }
        break;
      case Kind::unknown:  // a name of Python's own: `float`
        if (pv.text != sv.text || !sv.literal.text.empty()) return false;
        break;
      case Kind::symbol:
      case Kind::attribute:
        if (pv.text != sv.text) return false;
        break;
      case Kind::op:
        return operation(p, s, b);
      case Kind::call:
        if (pv.keywords != sv.keywords) return false;
        break;
      case Kind::index:
      case Kind::slice:
      case Kind::tuple:
      case Kind::list:
      case Kind::starred:
      case Kind::element:
      case Kind::phi:
      case Kind::update:
        break;
      default:
        return false;
    }
    if (pv.operands.size() != sv.operands.size()) return false;
    return operands(p, s, false, b);
  }

  // What was bound until a moment, to go back to.
  struct Moment {
    size_t holes, interior, seen;
    bool stored_between;
  };
  Moment now(const Bindings& b) const {
    return {holes_.size(), interior_.size(), seen_.size(), b.stored_between};
  }
  void back_to(const Moment& moment, Bindings& b) {
    for (; holes_.size() > moment.holes; holes_.pop_back()) b.holes.erase(holes_.back());
    for (; interior_.size() > moment.interior; interior_.pop_back()) {
      b.interior.erase(interior_.back());
    }
    seen_.resize(moment.seen);
    b.stored_between = moment.stored_between;
  }
  bool met(ValueId p, ValueId s, Bindings& b) {
    auto [at, fresh] = b.interior.insert(s);
    if (fresh) interior_.push_back(at);
    seen_.emplace_back(p, s);
    return true;
  }

  bool operands(ValueId p, ValueId s, bool swapped, Bindings& b) {
    const Moment before = now(b);
    const Value& pv = pattern_[p];
    const Value& sv = subject_[s];
    for (size_t i = 0; i < pv.operands.size(); ++i) {
      size_t j = swapped && i < 2 ? 1 - i : i;
      if (!unify(pv.operands[i], sv.operands[j], b)) {
        back_to(before, b);
        return false;
      }
    }
    return met(p, s, b);
  }

  ValueId before_stores(ValueId id) const {
    while (subject_[id].kind == Kind::opaque && subject_[id].text == kStoredElsewhere) {
      id = subject_[id].operands[0];
    }
    return id;
  }

  // A parameter that was not passed equals its default.
  bool with_defaults(ValueId p, ValueId s, Bindings& b) {
    const Value& pv = pattern_[p];
    const Value& sv = subject_[s];
    const auto& parameters = parameters_of(pv);
    for (size_t i = 0; i < parameters.size(); ++i) {
      ValueId po = i < pv.operands.size() ? pv.operands[i] : kNone;
      ValueId so = i < sv.operands.size() ? sv.operands[i] : kNone;
      if (po == kNone && so == kNone) continue;
      if (po != kNone && so != kNone) {
        if (!unify(po, so, b)) return false;
        continue;
      }
      const auto& fallback = parameters[i].default_value;
      if (!fallback) return false;
      if (po != kNone && pattern_[po].kind == Kind::hole) {
        if (pattern_[po].text == "_") continue;
        return false;  // a hole needs a value to stand for
      }
      const Value& given = po != kNone ? pattern_[po] : subject_[so];
      if (given.kind != Kind::literal || !same_value(given.literal, *fallback)) return false;
    }
    return true;
  }

  bool operation(ValueId p, ValueId s, Bindings& b) {
    const Value& pv = pattern_[p];
    const Moment before = now(b);
    if (with_defaults(p, s, b)) return met(p, s, b);
    back_to(before, b);
    if (!pv.op->commutative || pv.operands.size() < 2) return false;
    const Value& sv = subject_[s];
    if (sv.operands.size() != pv.operands.size()) return false;
    return operands(p, s, true, b);
  }

  const Graph& pattern_;
  const Graph& subject_;
  // Shared pattern values meet one subject value; of several entries the last counts.
  std::vector<std::pair<ValueId, ValueId>> seen_;
  // What was added to the bindings, in that order.
  std::vector<decltype(Bindings::holes)::iterator> holes_;
  std::vector<decltype(Bindings::interior)::iterator> interior_;
  int steps_ = 0;
};

}  // namespace

bool match_value(const Graph& pattern, ValueId root, const Graph& subject, ValueId at,
                 Bindings& bindings, bool* bounded) {
  Unifier unifier(pattern, subject);
  const bool ok = unifier.matches(root, at, bindings);
  if (bounded != nullptr && unifier.bounded()) *bounded = true;
  return ok;
}

}  // namespace refit
