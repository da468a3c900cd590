// See layout.hpp and absorber.hpp.
#include "rewriter/plan/layout/absorber.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/text/bounds.hpp"

namespace refit {

namespace {

constexpr size_t kRegionBound = 256;  // values that may change; beyond, the way is not overseen

}  // namespace

Absorption Absorber::run() {
  Absorption out;
  out.absorbed = join(call_, layout_) && spread();
  if (!out.absorbed) {
    out.why_not = why_;
    return out;
  }
  bool stored_to = std::ranges::any_of(region_, [&](const auto& entry) {
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

bool Absorber::no(std::string why) {
  if (why_.empty()) why_ = std::move(why);
  return false;
}

bool Absorber::join(ValueId call, const Layout& layout) {
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

const LayoutRegion* Absorber::region_of(ValueId id) const {
  return context_.region ? context_.region(id) : nullptr;
}

ValueId Absorber::operand_of(ValueId call, const std::string& name) const {
  const LayoutRegion* region = region_of(call);
  if (region == nullptr) return g_.argument(call, name);
  auto found = region->operands.find(name);
  return found == region->operands.end() ? kNone : found->second;
}

ValueId Absorber::changes(ValueId value) {
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

bool Absorber::spread() {
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

bool Absorber::enter(ValueId id, const Flip& flip, const std::string& name) {
  auto [at, fresh] = region_.emplace(id, flip);
  if (!fresh) {
    return at->second == flip || no(name + " would have to change in two ways");
  }
  names_.emplace(id, name);
  work_.push_back(id);
  return true;
}

bool Absorber::stored_elsewhere(ValueId id) const {
  const Value& v = g_[id];
  return v.kind == Kind::opaque && v.text == kStoredElsewhere && v.operands.size() == 1;
}

bool Absorber::is_swap(ValueId id, const Flip& flip) const {
  auto s = swapped_axes(g_, id, flip.rank);
  return s && *s == std::pair{flip.first, flip.second};
}

void Absorber::forward(ValueId id) {
  foreign_ = foreign_ || foreign(id);
  if (gone_.insert(id).second) ++transposes_;
}

void Absorber::swap(ValueId id, const Flip& flip, bool of_result) {
  for (const AxisSwap& e : swapped_) {
    if (e.value == id) return;
  }
  foreign_ = foreign_ || foreign(id);
  swapped_.push_back({id, flip.first, flip.second, flip.rank, of_result});
}

bool Absorber::boundary(ValueId id, const Flip& flip, bool of_result) {
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

Absorption absorb(const Graph& graph, ValueId call, const Layout& layout,
                  const LayoutContext& context) {
  return Absorber(graph, call, layout, context).run();
}

}  // namespace refit
