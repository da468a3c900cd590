// The keys of a catalogue file. docs/rules.md describes them.
#pragma once

#include <array>
#include <string_view>

namespace refit {

inline constexpr std::array<std::string_view, 4> kCatalogueFileKeys{"library", "targets", "also",
                                                                    "operations"};

inline constexpr std::array<std::string_view, 32> kOperationKeys{
    "id",       "names",    "methods",      "signature", "also",          "axes",
    "rank",     "strides",  "told_strides", "superset",  "reads_strides", "strides_vary",
    "vectors",  "one_rank", "result_rank",  "pure",      "commutative",   "view",
    "in_place", "is_class", "targets",      "axis",      "axis_if",       "autocast",
    "bodies",   "casts",    "forward",      "joins",     "one_of",        "broadcasts",
    "repeats",  "trusted"};

}  // namespace refit
