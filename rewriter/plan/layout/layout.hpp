// Layout propagation around a call: which transposes on the way to its operands and from its result
// only serve the call, so that it can take and give the other layout.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/language/frontend.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

// A computation that becomes a call and whose layout can change as a call's can.
struct LayoutRegion {
  ValueId root = kNone;
  const Layout* layout = nullptr;
  std::map<std::string, ValueId> operands;  // by the layout's names
  std::set<ValueId> interior;               // what goes with it, the root among them
};

struct Absorption {
  bool absorbed = false;
  std::string why_not;             // when not absorbed
  std::vector<ValueId> forwarded;  // transposes (and copies for them) that go
  std::vector<AxisSwap> swapped;   // operations between whose axes change places
  uint32_t transposes = 0;
  std::vector<ValueId> calls;  // that change their layout, ascending: more than one share
};

// What the search asks of its surroundings.
struct LayoutContext {
  std::function<std::string(ValueId)> place;  // for messages: "line 12"
  // Another rule rewrites calls of this operation, so its text is not to be edited here as well.
  std::function<bool(const Operation*)> taken;
  // Whether a call of an object works along the last axis alone: `attn.norm_k(key)`.
  std::function<bool(ValueId call)> over_last_axis;
  // The layout of another call that is to be rewritten as well and can change its layout with this
  // one; null where there is none.
  std::function<const Layout*(ValueId call)> fellow;
  // The computation that a value is a part of; null where it is part of none.
  std::function<const LayoutRegion*(ValueId value)> region{};
};

// Tries to bring `call` from the layout that its operands have to `layout.target`. Every value that
// changes its layout with it is found, through branches, casts, norms, slices, concatenations and
// slice stores; the search ends at transpositions, which go or change. One reader that cannot
// follow, and nothing is absorbed. Another such call among the readers changes with it. `call` may
// be the root of a region.
Absorption absorb(const Graph& graph, ValueId call, const Layout& layout,
                  const LayoutContext& context);

// How many transpositions near the call change the order of the axes in which its layout and the
// target's differ: what there is to absorb. 0 where an operand is shown to have another rank. Of a
// region the operands are its own.
uint32_t transposes_nearby(const Graph& graph, ValueId call, const Layout& layout,
                           const LayoutRegion* region = nullptr);

}  // namespace refit
