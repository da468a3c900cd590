// The bounds at which a search gives up, and the count of how often each did. Whoever ends a search
// at one says so with `reached`; the run collects that by file and the report names it. Entry
// points: BoundsScope, where a file is worked on, and reached, where a search ends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace refit {

enum class Bound : uint8_t {
  alias_rounds,       // packages that hand a callee's name on
  attribute_text,     // nesting of what an attribute of a class is shown to be
  helper_calls,       // calls inside calls of helpers that are seen through
  helper_nesting,     // nesting of the expression in which a helper is called
  header_rounds,      // parses of a C++ file, each with more folders of the tree's headers
  inactive_readings,  // of a C++ file, each with other branches of its conditions
  layout_region,      // values whose layout would change together
  match_steps,        // of one pattern against one value
  nearest_steps,      // of the comparison that a refusal's message quotes
  normal_form,        // rewrites of one value by the isomorphisms
  fed_values,         // values behind an anchor's operand
  branch_values,      // of a callee that differs from branch to branch
  retries,            // recognised computations of one file that are tried singly
  rounds,             // times that a file's new text is planned again
  same_values,        // pairs of values that are compared
  spelling,           // nesting of an expression that is written out again
  storage_roots,      // values that one may share storage with
  size_parts,         // parts that the sizes of one view are put together from
  store_chain,        // stores into one tensor, one after the other
  value_kind,         // values that one is made of, asked for what it is
};

inline constexpr size_t kBounds = static_cast<size_t>(Bound::value_kind) + 1;

// As the report names it: "match_steps".
std::string_view name_of(Bound bound);

struct BoundReached {
  uint64_t times = 0;
  uint32_t first = 0;  // the lowest byte offset in the file, or its line; whoever keeps it says
};
using BoundsReached = std::array<BoundReached, kBounds>;

bool any_reached(const BoundsReached& bounds);

// Adds `more` to a sum; `first` becomes the lower of the two.
void add_reached(BoundReached& sum, const BoundReached& more);

// As long as it lives, what its thread reaches is counted here and not in the scope around it.
class BoundsScope {
 public:
  explicit BoundsScope(BoundsReached& log) : BoundsScope(&log, nullptr) {}
  // For a text that was made of the file: `place` gives the file's offset for one of that text, and
  // the scope around this one counts it.
  using Place = std::function<uint32_t(uint32_t)>;
  explicit BoundsScope(Place place) : BoundsScope(nullptr, std::move(place)) {}
  ~BoundsScope();
  BoundsScope(const BoundsScope&) = delete;
  BoundsScope& operator=(const BoundsScope&) = delete;

  void count(Bound bound, uint32_t at);

 private:
  BoundsScope(BoundsReached* log, Place place);

  BoundsReached* log_;
  Place place_;
  BoundsScope* outer_;
};

// A search ended at a bound, and might have found more. `at`: the byte offset of what it was about,
// 0 where that has no place of its own. Outside of any scope it counts nothing.
void reached(Bound bound, uint32_t at);

}  // namespace refit
