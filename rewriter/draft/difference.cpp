// See difference.hpp. Both graphs are walked side by side with a stack; pairs that were compared
// are kept, so that shared values cost nothing twice.
#include "rewriter/draft/difference.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace refit {
namespace {

using Pair = std::pair<ValueId, ValueId>;

// Whether two values do the same with what their operands give.
bool equal_heads(const Value& a, const Value& b) {
  return a.kind == b.kind && a.op == b.op && a.text == b.text && same_value(a.literal, b.literal) &&
         a.keywords == b.keywords && a.index == b.index && a.count == b.count &&
         a.operands.size() == b.operands.size();
}

class Walk {
 public:
  Walk(const Graph& one, const Graph& other) : one_(one), other_(other) {}

  bool equal(ValueId a, ValueId b) {
    std::vector<Pair> work{{a, b}};
    std::set<Pair> seen;
    while (!work.empty()) {
      const Pair pair = work.back();
      work.pop_back();
      if (pair.first == kNone && pair.second == kNone) continue;
      if (pair.first == kNone || pair.second == kNone) return false;
      if (!seen.insert(pair).second) continue;
      const Value& v = one_[pair.first];
      const Value& w = other_[pair.second];
      // What an opaque value does is not shown: two are taken for one where they say and read the
      // same.
      if (!equal_heads(v, w)) return false;
      for (std::size_t i = 0; i < v.operands.size(); ++i)
        work.emplace_back(v.operands[i], w.operands[i]);
    }
    return true;
  }

  // The innermost pair below one that differs.
  Pair innermost(Pair pair) {
    for (;;) {
      const Value& v = one_[pair.first];
      const Value& w = other_[pair.second];
      if (!equal_heads(v, w)) return pair;
      std::set<Pair> differing;
      for (std::size_t i = 0; i < v.operands.size(); ++i) {
        if (!equal(v.operands[i], w.operands[i])) differing.emplace(v.operands[i], w.operands[i]);
      }
      if (differing.size() != 1) return pair;
      const Pair next = *differing.begin();
      if (next.first == kNone || next.second == kNone) return pair;
      pair = next;
    }
  }

 private:
  const Graph& one_;
  const Graph& other_;
};

// What statements consume that neither bind a name nor return, in their order.
std::vector<ValueId> effects(const Graph& graph) {
  std::vector<ValueId> out;
  for (const Statement& statement : graph.statements) {
    if (statement.kind == StatementKind::assign || statement.kind == StatementKind::give) continue;
    out.insert(out.end(), statement.uses.begin(), statement.uses.end());
  }
  for (const AttributeWrite& write : graph.attribute_writes) out.push_back(write.value);
  return out;
}

}  // namespace

bool equal_values(const Graph& one, ValueId a, const Graph& other, ValueId b) {
  return Walk(one, other).equal(a, b);
}

Expected<Difference> find_difference(const Graph& before, const Graph& after) {
  if (before.results.size() != after.results.size()) {
    return failure("the two versions do not have as many `return` statements");
  }
  Walk walk(before, after);
  const auto alike = [&](ValueId a, ValueId b) { return walk.equal(a, b); };
  if (!std::ranges::equal(effects(before), effects(after), alike)) {
    return failure("the two versions differ in a statement that returns nothing");
  }
  std::set<Pair> found;
  for (std::size_t i = 0; i < before.results.size(); ++i) {
    const Pair pair{before.results[i], after.results[i]};
    if ((pair.first == kNone) != (pair.second == kNone)) {
      return failure("one version returns a value where the other returns none");
    }
    if (pair.first == kNone || walk.equal(pair.first, pair.second)) continue;
    found.insert(walk.innermost(pair));
  }
  if (found.size() > 1) {
    return failure("several of its `return` statements differ; keep one difference in the example");
  }
  if (found.empty()) return Difference{};
  return Difference{found.begin()->first, found.begin()->second};
}

}  // namespace refit
