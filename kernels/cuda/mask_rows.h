// What back ends need that do not read every mask: its copy with aligned rows; and, for one that
// only adds biases, the mask as a bias, causality and windows as one band, and the rows that come
// out wrong. Entry points: copy_mask, mask_as_bias, band_of, mend_rows.

#pragma once

#include <array>
#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

// Copies the problem's mask, whose values keep their type. `sizes`: those of [batch, head, query],
// 1 where the mask repeats. `strides`, in elements: multiples of 16 bytes, as is `copy`. What lies
// between the rows becomes zeros.
LaunchStatus copy_mask(const Attention& problem, void* copy,
                       const std::array<std::int64_t, 3>& sizes,
                       const std::array<std::int64_t, 3>& strides, void* stream);

// Writes the problem's mask into `bias`, which is dense in its last dimension: True as 0 and False
// as -infinity for a boolean mask, else the mask's own values. `type`: float16 or bfloat16 (then
// the mask is boolean or of that type), or the mask's own. `sizes`: those of [batch, head, query,
// key], 1 where the mask repeats. `strides`: rows may be padded; what lies between them becomes
// -infinity.
LaunchStatus mask_as_bias(const Attention& problem, void* bias, DataType type,
                          const std::array<std::int64_t, 4>& sizes,
                          const std::array<std::int64_t, 4>& strides, void* stream);

// The keys that query i may see beside the mask: i - before to i + after.
struct Band {
  static constexpr std::int64_t kOpen = std::int64_t{1} << 40;  // farther than any key
  std::int64_t before = kOpen, after = kOpen;

  bool ends() const { return after < kOpen; }
  bool begins() const { return before < kOpen; }
};

// Causality and window of a problem together.
Band band_of(const Attention& problem);

// Writes the output's rows of queries that see no key, zeros, and of those for which the mask has
// nothing above -2e38 in the band (the lowest numbers of float32 and bfloat16), which cuDNN takes
// for no key: the mean of the values that have the largest of them. Sizes as above; the mask is
// there.
LaunchStatus mend_rows(const Attention& problem, const std::array<std::int64_t, 4>& sizes,
                       void* stream);

}  // namespace mindiesd::kernels::cuda
