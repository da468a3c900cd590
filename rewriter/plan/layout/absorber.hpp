// The search behind absorb(): the values whose layout changes with the call's are collected in a
// worklist. For each, what it is made of must be able to follow (made.cpp) and whoever reads it too
// (readers.cpp); absorb.cpp drives the search and holds what both need.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/axes.hpp"
#include "rewriter/plan/layout/layout.hpp"

namespace refit {

class Absorber {
 public:
  Absorber(const Graph& g, ValueId call, const Layout& layout, const LayoutContext& context)
      : g_(g), call_(call), layout_(layout), context_(context) {
    calls_[call] = &layout;
  }
  // The result is what goes and what is edited, or the first reason why nothing is.
  Absorption run();

 private:
  // A `false` that keeps the first reason given; later ones only follow from it.
  bool no(std::string why);
  // Lets a call take part: its operands and its result enter the set of values that change.
  bool join(ValueId call, const Layout& layout);
  // The computation that a value belongs to, where one that becomes a call does.
  const LayoutRegion* region_of(ValueId id) const;
  // The operand that the layout names, of a call or of a computation that becomes one.
  ValueId operand_of(ValueId call, const std::string& name) const;
  // The call whose layout changes, this one or another that shares something with it, that a value
  // is, or is a part of; kNone where it is none.
  ValueId changes(ValueId value);
  // Works through the values that entered until none is left or one cannot follow.
  bool spread();
  // Adds a value to those that change; false where it would have to change in two ways.
  bool enter(ValueId id, const Flip& flip, const std::string& name);
  // Stands in the text of another function.
  bool foreign(ValueId id) const { return g_[id].inlined && !g_.repeats.contains(id); }
  // Whether a value is a tensor after something was stored into it through another name.
  bool stored_elsewhere(ValueId id) const;
  // Whether a transposition exchanges exactly the two axes of `flip`.
  bool is_swap(ValueId id, const Flip& flip) const;
  // The transposition goes: its readers take its operand instead.
  void forward(ValueId id);
  // The axes that the text of a value names are edited to be the other one of the two.
  void swap(ValueId id, const Flip& flip, bool of_result = false);
  // A permutation or a pattern whose result (or operand) changes: it goes, or names other axes.
  bool boundary(ValueId id, const Flip& flip, bool of_result);
  // Whether what a value is made of can be brought to the other layout; the same for what an
  // operation, a store into a slice or a subscript gives.
  bool made(ValueId id);
  bool made_by_operation(ValueId id, const Flip& flip, const std::string& name);
  bool made_by_store(ValueId id, const Flip& flip, const std::string& name);
  bool made_by_index(ValueId id, const Flip& flip, const std::string& name);
  // A `no` that says where the value comes from.
  bool stop(ValueId id, const std::string& name);
  // A call of a layer with one operand, to which the axes that change places are batch.
  bool layer(ValueId call, const Flip& flip) const;
  // The subscripts of the two axes change places, unless both axes stay whole.
  bool subscripts_follow(ValueId id, ValueId subscripts, const Flip& base);
  // Whether an operand of an elementwise operation has none of the axes that change places.
  bool below_the_axes(ValueId operand, const Flip& flip) const;
  // `.contiguous(memory_format=…)` asks for strides, which another layout does not have.
  bool asks_for_strides(ValueId id) const { return g_.argument(id, "memory_format") != kNone; }
  // A norm over exactly one axis. Of other operations along the last axis (a rotation) the further
  // operands may broadcast over the axes that change places.
  bool one_axis(ValueId id) const;
  // An element of a split tensor: the whole changes, and with it every part.
  bool part_of(ValueId id, const Flip& flip, const std::string& name);
  // Whether everything that reads a value can take it in the other layout; the same for one reader
  // and for one that is an operation.
  bool readers(ValueId id);
  bool reads(ValueId user, ValueId id, const Flip& flip, const std::string& name);
  bool read_by_operation(ValueId user, ValueId id, const Flip& flip, const std::string& name);
  // Whether a call reads the value only as one of the operands that its layout names.
  bool as_operand(ValueId id, ValueId call) const;
  // A part of a split tensor that changes; it has one axis less where `unbind` made it.
  bool split_part(ValueId user, ValueId whole, const Flip& flip, const std::string& name);
  // A reader that the order of axes does not concern, or that asks for sizes.
  bool neutral(ValueId user, ValueId of, const Flip& flip);
  // `x[…]` on the left of a store, which the store speaks for.
  bool store_target(ValueId user, const std::vector<ValueId>& readers) const;
  // The statement that uses it is the store that makes it.
  bool only_stored(ValueId id) const;
  // `.transpose(1, 2).contiguous()`: the call gives a dense result in the target layout.
  void drop_copy(ValueId transpose);

  const Graph& g_;
  ValueId call_;
  const Layout& layout_;
  const LayoutContext& context_;
  std::map<ValueId, const Layout*> calls_;  // that change, each with its layout
  std::map<ValueId, Flip> region_;  // values that change, each with the axes that change places
  std::map<ValueId, std::string> names_;  // of the operand by which a value entered, for reasons
  std::deque<ValueId> work_;              // values that entered and were not looked at yet
  std::set<ValueId> gone_;                // transpositions, and copies after them, that go
  std::set<ValueId> copies_;              // of values that change
  std::set<ValueId> boundaries_;          // permutations and patterns at which the search ended
  std::vector<AxisSwap> swapped_;         // texts that name the other axis afterwards
  uint32_t transposes_ = 0;               // that go or change
  bool foreign_ = false;                  // an edit would be in the text of another function
  std::string why_;                       // the first reason against it
};

}  // namespace refit
