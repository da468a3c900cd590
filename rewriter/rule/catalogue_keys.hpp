// The keys of a catalogue file. docs/rules.md describes them.
#pragma once

#include <array>
#include <string_view>

namespace refit {

inline constexpr std::array<std::string_view, 4> kCatalogueFileKeys{"library", "targets", "also",
                                                                    "operations"};

inline constexpr std::array<std::string_view, 22> kOperationKeys{
    "id",    "names",       "methods",  "signature",   "also",  "axes",     "rank",     "one_rank",
    "dense", "result_rank", "pure",     "commutative", "view",  "in_place", "is_class", "targets",
    "axis",  "axis_if",     "autocast", "bodies",      "casts", "forward"};

}  // namespace refit
