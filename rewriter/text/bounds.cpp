// Counts by thread, so that nothing is shared while files are worked on. See bounds.hpp.
#include "rewriter/text/bounds.hpp"

#include <algorithm>
#include <utility>

namespace refit {

namespace {

// In the order of Bound.
constexpr std::array<std::string_view, kBounds> kNames = {
    "alias_rounds",      "attribute_text", "helper_calls", "helper_nesting", "header_rounds",
    "inactive_readings", "layout_region",  "match_steps",  "nearest_steps",  "normal_form",
    "fed_values",        "branch_values",  "retries",      "rounds",         "same_values",
    "spelling",          "storage_roots",  "size_parts",   "store_chain",    "value_kind",
};

thread_local BoundsScope* scope = nullptr;

}  // namespace

std::string_view name_of(Bound bound) { return kNames[static_cast<size_t>(bound)]; }

bool any_reached(const BoundsReached& bounds) {
  return std::any_of(bounds.begin(), bounds.end(),
                     [](const BoundReached& one) { return one.times != 0; });
}

void add_reached(BoundReached& sum, const BoundReached& more) {
  if (more.times == 0) return;
  sum.first = sum.times == 0 ? more.first : std::min(sum.first, more.first);
  sum.times += more.times;
}

BoundsScope::BoundsScope(BoundsReached* log, Place place)
    : log_(log), place_(std::move(place)), outer_(std::exchange(scope, this)) {}

BoundsScope::~BoundsScope() { scope = outer_; }

void BoundsScope::count(Bound bound, uint32_t at) {
  if (place_) at = place_(at);
  if (log_ != nullptr) {
    add_reached((*log_)[static_cast<size_t>(bound)], {1, at});
  } else if (outer_ != nullptr) {
    outer_->count(bound, at);
  }
}

void reached(Bound bound, uint32_t at) {
  if (scope != nullptr) scope->count(bound, at);
}

}  // namespace refit
