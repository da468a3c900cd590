// See layout.hpp. The values whose layout changes with the call's are collected in a worklist: for
// each, what it is made of must be able to follow (`made`) and whoever reads it too (`readers`).
#include "rewriter/plan/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout_axes.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::StatementId;
using graph::Value;
using graph::ValueId;

namespace {
constexpr size_t kRegionBound = 256;

class Absorber {
 public:
  Absorber(const Graph& g, ValueId call, const Layout& layout, const LayoutContext& context)
      : g_(g), call_(call), layout_(layout), context_(context) {
    calls_[call] = &layout;
  }

  Absorption run() {
    Absorption out;
    out.absorbed = join(call_, layout_) && spread();
    if (!out.absorbed) {
      out.why_not = why_;
      return out;
    }
    bool stored_to = std::any_of(region_.begin(), region_.end(), [&](const auto& entry) {
      return g_[entry.first].kind == Kind::update || stored_elsewhere(entry.first);
    });
    for (ValueId copy : copies_) {
      // Without the transpose before it, it may not copy: a store or a call that writes would reach
      // what it was made of.
      if (stored_to || written_between(g_, g_[copy].operands[0], copy, calls_.rbegin()->first)) {
        out.absorbed = false;
        out.why_not = fmt::format("{} is a copy of what is written to later ({})", names_.at(copy),
                                  context_.place(copy));
        return out;
      }
      gone_.insert(copy);
    }
    if (ValueId turn = uneven_turn(g_, gone_, swapped_); turn != kNone) {
      out.absorbed = false;
      out.why_not =
          fmt::format("the text that makes it makes other values too ({})", context_.place(turn));
      return out;
    }
    std::erase_if(gone_, [&](ValueId id) { return g_.repeats.contains(id); });
    std::erase_if(swapped_, [&](const AxisSwap& e) { return g_.repeats.contains(e.value); });
    out.forwarded.assign(gone_.begin(), gone_.end());
    out.swapped = std::move(swapped_);
    out.transposes = transposes_;
    for (const auto& [call, layout] : calls_) out.calls.push_back(call);
    return out;
  }

 private:
  bool no(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }

  // The operands and the result of a call change.
  bool join(ValueId call, const Layout& layout) {
    for (const auto& [name, letters] : layout.operands) {
      auto axes = swap_of(letters, layout.target);
      if (!axes) return no("its layout and the target's differ by more than two axes");
      ValueId operand = operand_of(call, name);
      if (operand == kNone) return no("`" + name + "` is not passed");
      Flip flip{axes->first, axes->second, static_cast<int>(letters.size())};
      if (!enter(operand, flip, "`" + name + "`")) return false;
    }
    auto axes = swap_of(layout.result, layout.target);
    if (!axes) return no("the result's layout and the target's differ by more than two axes");
    return enter(call, {axes->first, axes->second, static_cast<int>(layout.result.size())},
                 "the result");
  }

  // The computation that a value belongs to, where one that becomes a call does.
  const LayoutRegion* region_of(ValueId id) const {
    return context_.region ? context_.region(id) : nullptr;
  }

  ValueId operand_of(ValueId call, const std::string& name) const {
    const LayoutRegion* region = region_of(call);
    if (region == nullptr) return g_.argument(call, name);
    auto found = region->operands.find(name);
    return found == region->operands.end() ? kNone : found->second;
  }

  // The call whose layout changes, this one or another that shares something with it, that a value
  // is, or is a part of; kNone where it is none.
  ValueId changes(ValueId value) {
    const LayoutRegion* region = region_of(value);
    const ValueId call = region != nullptr ? region->root : value;
    if (calls_.contains(call)) return call;
    const Layout* layout = region != nullptr ? region->layout
                           : context_.fellow ? context_.fellow(call)
                                             : nullptr;
    if (layout == nullptr) return kNone;
    calls_[call] = layout;
    return join(call, *layout) ? call : kNone;
  }

  bool spread() {
    while (!work_.empty()) {
      ValueId id = work_.front();
      work_.pop_front();
      if (region_.size() > kRegionBound) {
        reached(Bound::layout_region, g_[call_].range.begin);
        return no("too much code depends on the layout");
      }
      if (changes(id) == kNone && !made(id)) return false;
      if (!readers(id)) return false;
    }
    if (foreign_) return no("part of the way stands in a helper's own text");
    // A transposition between two values that both change stays as it is; none is foreseen.
    for (ValueId id : gone_) {
      if (region_.contains(id) && region_.contains(g_[id].operands[0])) {
        return no("a transposition stands between two values that change");
      }
    }
    for (const auto& [call, layout] : calls_) {
      const LayoutRegion* region = region_of(call);
      if (region == nullptr) continue;
      for (ValueId part : region->interior) {
        if (part != call && (region_.contains(part) || gone_.contains(part))) {
          return no("a part of the computation would have to change by itself");
        }
      }
    }
    return transposes_ > 0 || no("nothing around it is transposed");
  }

  bool enter(ValueId id, const Flip& flip, const std::string& name) {
    auto [at, fresh] = region_.emplace(id, flip);
    if (!fresh) {
      return at->second == flip || no(name + " would have to change in two ways");
    }
    names_.emplace(id, name);
    work_.push_back(id);
    return true;
  }

  // Stands in the text of another function.
  bool foreign(ValueId id) const { return g_[id].inlined && !g_.repeats.contains(id); }

  bool stored_elsewhere(ValueId id) const {
    const Value& v = g_[id];
    return v.kind == Kind::opaque && v.text == graph::kStoredElsewhere && v.operands.size() == 1;
  }

  bool is_swap(ValueId id, const Flip& flip) const {
    auto s = swapped_axes(g_, id, flip.rank);
    return s && *s == std::pair{flip.first, flip.second};
  }

  void forward(ValueId id) {
    foreign_ = foreign_ || foreign(id);
    if (gone_.insert(id).second) ++transposes_;
  }

  void swap(ValueId id, const Flip& flip, bool of_result = false) {
    for (const AxisSwap& e : swapped_) {
      if (e.value == id) return;
    }
    foreign_ = foreign_ || foreign(id);
    swapped_.push_back({id, flip.first, flip.second, flip.rank, of_result});
  }

  // A permutation or a pattern whose result (or operand) changes: it goes, or names other axes.
  bool boundary(ValueId id, const Flip& flip, bool of_result) {
    const Value& v = g_[id];
    // One between two values that both change would have to change twice.
    if (!boundaries_.insert(id).second) return false;
    if (v.op->axes == AxisKind::pattern) {
      auto text = literal_of(g_, g_.argument(id, "pattern"));
      if (!text || text->kind != Literal::Kind::string) return false;
      std::string changed = swap_axes(text->text, of_result, flip.first, flip.second);
      auto pattern = parse_axis_pattern(changed);
      if (!pattern) return false;
      ++transposes_;
      if (pattern->from == pattern->to) {
        gone_.insert(id);
      } else {
        swap(id, flip, of_result);
      }
      return true;
    }
    if (v.op->axes != AxisKind::permute) return false;
    ++transposes_;
    swap(id, flip, of_result);
    return true;
  }

  // Whether what a value is made of can be brought to the other layout.
  bool made(ValueId id) {
    const Value& v = g_[id];
    const Flip flip = region_.at(id);
    const std::string name = names_.at(id);
    auto stop = [&] {
      return no(
          fmt::format("{} does not come straight from a transpose ({})", name, context_.place(id)));
    };
    switch (v.kind) {
      case Kind::phi:
        return enter(v.operands[1], flip, name) && enter(v.operands[2], flip, name);
      case Kind::update: {
        auto axes = indexed_axes(g_, v.operands[1], flip.rank);
        if (!axes || !subscripts_follow(id, v.operands[1], flip)) return stop();
        if (!enter(v.operands[0], flip, name)) return false;
        // What is stored has the layout too, unless a number picks from one of the axes.
        auto part = through(*axes, flip);
        if (!part || g_[v.operands[2]].kind == Kind::literal) return true;
        // One that broadcasts has its axes elsewhere.
        if (rank_of(g_, v.operands[2]) != part->rank) return stop();
        return enter(v.operands[2], *part, name);
      }
      case Kind::index: {
        if (g_[v.operands[0]].kind == Kind::op && g_[v.operands[0]].op->axes == AxisKind::split) {
          return part_of(id, flip, name) || stop();
        }
        auto whole = rank_of(g_, v.operands[0]);
        if (!whole) return stop();
        auto axes = indexed_axes(g_, v.operands[1], *whole);
        if (!axes || static_cast<int>(axes->size()) != flip.rank) return stop();
        int a = (*axes)[static_cast<size_t>(flip.first)];
        int b = (*axes)[static_cast<size_t>(flip.second)];
        if (a < 0 || b < 0) return stop();
        Flip base{std::min(a, b), std::max(a, b), *whole};
        return (subscripts_follow(id, v.operands[1], base) && enter(v.operands[0], base, name)) ||
               stop();
      }
      case Kind::element:
        return part_of(id, flip, name) || stop();
      case Kind::opaque:  // the same tensor later
        return stored_elsewhere(id) ? enter(v.operands[0], flip, name) : stop();
      case Kind::call:
        return layer(id, flip) ? enter(v.operands[1], flip, name) : stop();
      case Kind::op:
        break;
      default:
        return stop();
    }
    if (v.operands.empty() || v.operands[0] == kNone) return stop();
    if (foreign(id) || asks_for_strides(id)) return stop();
    ValueId first = v.operands[0];
    switch (v.op->axes) {
      case AxisKind::transpose:
        if (!is_swap(id, flip)) return stop();
        forward(id);
        return true;
      case AxisKind::permute:
      case AxisKind::pattern:
        return boundary(id, flip, true) || stop();
      case AxisKind::contiguous:
        copies_.insert(id);
        return enter(first, flip, name);
      case AxisKind::cast:
        return enter(first, flip, name);
      case AxisKind::last_dim:
        if (flip.second == flip.rank - 1 || !one_axis(id)) return stop();
        return enter(first, flip, name);
      case AxisKind::along:
      case AxisKind::split: {
        if (context_.taken(v.op)) {
          return no(fmt::format("{} goes through a call that is rewritten itself ({})", name,
                                context_.place(id)));
        }
        auto axis = axis_of(g_, id, flip.rank);
        if (!axis) return stop();
        if (flip.has(*axis)) {
          if (v.op->axes == AxisKind::split && drops_axis(*v.op)) return stop();
          swap(id, flip);
        }
        return enter(first, flip, name);
      }
      case AxisKind::concat: {
        const Value& list = g_[first];
        auto axis = axis_of(g_, id, flip.rank);
        if (!axis || (list.kind != Kind::list && list.kind != Kind::tuple)) return stop();
        if (flip.has(*axis)) swap(id, flip);
        for (ValueId item : list.operands) {
          if (g_[item].kind == Kind::starred || !enter(item, flip, name)) return stop();
        }
        return true;
      }
      case AxisKind::elementwise: {
        // Random numbers are drawn in the order of the axes.
        if (!v.op->pure && !v.op->in_place) return stop();
        for (ValueId operand : v.operands) {
          if (operand == kNone || g_[operand].kind == Kind::literal) continue;
          if (below_the_axes(operand, flip)) continue;
          if (rank_of(g_, operand) != flip.rank || !enter(operand, flip, name)) return stop();
        }
        return true;
      }
      default:
        return stop();
    }
  }

  // A call of a layer with one operand, to which the axes that change places are batch.
  bool layer(ValueId call, const Flip& flip) const {
    const Value& v = g_[call];
    return !foreign(call) && v.operands.size() == 2 && v.operands[1] != kNone &&
           g_[v.operands[1]].kind != Kind::starred && flip.second != flip.rank - 1 &&
           context_.over_last_axis(call);
  }

  // The subscripts of the two axes change places, unless both axes stay whole.
  bool subscripts_follow(ValueId id, ValueId subscripts, const Flip& base) {
    if (whole_axis(g_, subscripts, base.first, base.rank) &&
        whole_axis(g_, subscripts, base.second, base.rank)) {
      return true;
    }
    swap(id, base);
    return true;
  }

  // Whether an operand of an elementwise operation has none of the axes that change places.
  bool below_the_axes(ValueId operand, const Flip& flip) const {
    auto rank = rank_of(g_, operand);
    return rank && (*rank == 0 || (*rank == 1 && !flip.has(flip.rank - 1)));
  }

  // `.contiguous(memory_format=…)` asks for strides, which another layout does not have.
  bool asks_for_strides(ValueId id) const { return g_.argument(id, "memory_format") != kNone; }

  // A norm over exactly one axis. Of other operations along the last axis (a rotation) the further
  // operands may broadcast over the axes that change places.
  bool one_axis(ValueId id) const {
    ValueId shape = g_.argument(id, "normalized_shape");
    if (shape == kNone) return false;
    const Value& v = g_[shape];
    return (v.kind == Kind::tuple || v.kind == Kind::list) && v.operands.size() == 1 &&
           g_[v.operands[0]].kind != Kind::starred;
  }

  // An element of a split tensor: the whole changes, and with it every part.
  bool part_of(ValueId id, const Flip& flip, const std::string& name) {
    ValueId whole = g_[id].operands[0];
    const Value& w = g_[whole];
    if (w.kind != Kind::op || w.op->axes != AxisKind::split) return false;
    Flip base = flip;
    if (drops_axis(*w.op)) {
      base.rank = flip.rank + 1;
      auto axis = axis_of(g_, whole, base.rank);
      if (!axis) return false;
      if (base.first >= *axis) ++base.first;
      if (base.second >= *axis) ++base.second;
    }
    return enter(whole, base, name);
  }

  // Whether everything that reads a value can take it in the other layout.
  bool readers(ValueId id) {
    const Flip flip = region_.at(id);
    const std::string name = names_.at(id);
    if (g_.used_by_statement(id) && !only_stored(id)) {
      return no(name +
                (calls_.contains(id) ? " is used as it is" : " is also used by another statement"));
    }
    const auto users = g_.users(id);
    std::vector<ValueId> readers(users.begin(), users.end());
    for (ValueId user : readers) {
      if (unwritten(g_, user) || gone_.contains(user) || store_target(user, readers)) continue;
      if (ValueId call = changes(user); call != kNone) {
        if (!as_operand(id, call)) return no(name + " is passed twice");
        continue;
      }
      if (why_.empty() && reads(user, id, flip, name)) continue;
      if (!why_.empty()) return false;
      return no(
          fmt::format("{} {} ({} reads it)", name,
                      calls_.contains(id) ? "is not only transposed back" : "is also read as it is",
                      context_.place(user)));
    }
    return true;
  }

  bool as_operand(ValueId id, ValueId call) const {
    if (const LayoutRegion* region = region_of(call)) {
      return std::any_of(region->operands.begin(), region->operands.end(),
                         [&](const auto& operand) { return operand.second == id; });
    }
    size_t times = 0, places = 0;
    for (ValueId operand : g_[call].operands) times += operand == id ? 1 : 0;
    for (const auto& [name, letters] : calls_.at(call)->operands)
      places += g_.argument(call, name) == id ? 1 : 0;
    return times == places;
  }

  bool reads(ValueId user, ValueId id, const Flip& flip, const std::string& name) {
    const Value& u = g_[user];
    if (neutral(user, id, flip)) return true;
    switch (u.kind) {
      case Kind::phi:
        return u.operands[0] != id && enter(user, flip, name);
      case Kind::list:
      case Kind::tuple: {
        for (ValueId reader : g_.users(user)) {
          if (unwritten(g_, reader)) continue;
          const Value& r = g_[reader];
          if (r.kind != Kind::op || r.op->axes != AxisKind::concat || r.operands[0] != user ||
              !enter(reader, flip, name)) {
            return false;
          }
        }
        return !g_.used_by_statement(user);
      }
      case Kind::index: {
        if (u.operands[0] != id) return false;
        if (g_[id].kind == Kind::op && g_[id].op->axes == AxisKind::split) {
          return split_part(user, id, flip, name);
        }
        auto axes = indexed_axes(g_, u.operands[1], flip.rank);
        if (!axes) return false;
        if (auto part = through(*axes, flip)) return enter(user, *part, name);
        // A number picks from one of the two axes: what it gives has no layout.
        return subscripts_follow(user, u.operands[1], flip);
      }
      case Kind::element:
        return split_part(user, id, flip, name);
      case Kind::opaque:
        return stored_elsewhere(user) && enter(user, flip, name);
      case Kind::call:
        return u.operands[0] != id && layer(user, flip) && enter(user, flip, name);
      case Kind::update: {
        if (u.operands[0] == id) return enter(user, flip, name);
        if (u.operands[2] != id) return false;
        auto rank = rank_of(g_, u.operands[0]);
        auto axes = rank ? indexed_axes(g_, u.operands[1], *rank) : std::nullopt;
        if (!axes || static_cast<int>(axes->size()) != flip.rank) return false;
        int a = (*axes)[static_cast<size_t>(flip.first)];
        int b = (*axes)[static_cast<size_t>(flip.second)];
        return a >= 0 && b >= 0 && enter(user, {std::min(a, b), std::max(a, b), *rank}, name);
      }
      case Kind::op:
        break;
      default:
        return false;
    }
    if (u.operands.empty() || foreign(user)) return false;
    bool first = u.operands[0] == id;
    switch (u.op->axes) {
      case AxisKind::transpose:
        if (!first || !is_swap(user, flip)) return false;
        forward(user);
        drop_copy(user);
        return true;
      case AxisKind::permute:
      case AxisKind::pattern:
        return first && boundary(user, flip, false);
      case AxisKind::elementwise:
        return enter(user, flip, name);
      case AxisKind::cast:
      case AxisKind::contiguous:
      case AxisKind::last_dim:
      case AxisKind::along:
      case AxisKind::split:
        return first && enter(user, flip, name);
      default:
        return false;
    }
  }

  bool split_part(ValueId user, ValueId whole, const Flip& flip, const std::string& name) {
    const Value& w = g_[whole];
    if (w.kind != Kind::op || w.op->axes != AxisKind::split) return false;
    Flip part = flip;
    if (drops_axis(*w.op)) {
      auto axis = axis_of(g_, whole, flip.rank);
      if (!axis || flip.has(*axis)) return false;
      part.rank = flip.rank - 1;
      if (part.first > *axis) --part.first;
      if (part.second > *axis) --part.second;
    }
    return enter(user, part, name);
  }

  // A reader that the order of axes does not concern, or that asks for sizes.
  bool neutral(ValueId user, ValueId of, const Flip& flip) {
    auto sizes = named_sizes(g_, user, of, flip);
    for (ValueId read : sizes.value_or(std::vector<ValueId>{})) swap(read, flip);
    return sizes.has_value();
  }

  // `x[…]` on the left of a store, which the store speaks for.
  bool store_target(ValueId user, const std::vector<ValueId>& readers) const {
    if (g_[user].kind != Kind::index) return false;
    return std::any_of(readers.begin(), readers.end(), [&](ValueId other) {
      return g_[other].kind == Kind::update && g_[other].range == g_[user].range;
    });
  }

  // The statement that uses it is the store that makes it.
  bool only_stored(ValueId id) const {
    if (g_[id].kind != Kind::update) return false;
    for (StatementId s = 0; s < g_.statements.size(); ++s) {
      const auto& uses = g_.statements[s].uses;
      if (s != g_[id].statement && std::find(uses.begin(), uses.end(), id) != uses.end()) {
        return false;
      }
    }
    return std::find(g_.sinks.begin(), g_.sinks.end(), id) == g_.sinks.end();
  }

  // `.transpose(1, 2).contiguous()`: the call gives a dense result in the target layout.
  void drop_copy(ValueId transpose) {
    std::vector<ValueId> readers;
    for (ValueId user : g_.users(transpose)) {
      if (!unwritten(g_, user)) readers.push_back(user);
    }
    if (readers.size() == 1 && !g_.used_by_statement(transpose) &&
        g_[readers[0]].kind == Kind::op && g_[readers[0]].op->axes == AxisKind::contiguous &&
        !foreign(readers[0]) && !asks_for_strides(readers[0])) {
      gone_.insert(readers[0]);
    }
  }

  const Graph& g_;
  ValueId call_;
  const Layout& layout_;
  const LayoutContext& context_;
  std::map<ValueId, const Layout*> calls_;
  std::map<ValueId, Flip> region_;
  std::map<ValueId, std::string> names_;
  std::deque<ValueId> work_;
  std::set<ValueId> gone_, copies_, boundaries_;
  std::vector<AxisSwap> swapped_;
  uint32_t transposes_ = 0;
  bool foreign_ = false;  // an edit would be in the text of another function
  std::string why_;
};

}  // namespace

Absorption absorb(const Graph& graph, ValueId call, const Layout& layout,
                  const LayoutContext& context) {
  return Absorber(graph, call, layout, context).run();
}

}  // namespace refit
