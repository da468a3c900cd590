// What a back end that only adds biases needs around it: the mask as a bias, and zeros where a
// query sees no key. Entry points: mask_as_bias, clear_blind_rows.

#pragma once

#include <array>
#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

// Writes the problem's mask into `bias`, which is dense in its last dimension: True as 0 and False
// as -infinity for a boolean mask, else the mask's own values. `type`: float16 or bfloat16 (then
// the mask is boolean or of that type), or the mask's own. `sizes`: those of [batch, head, query,
// key], 1 where the mask repeats. `strides`: rows may be padded; what lies between them becomes
// -infinity.
LaunchStatus mask_as_bias(const Attention& problem, void* bias, DataType type,
                          const std::array<std::int64_t, 4>& sizes,
                          const std::array<std::int64_t, 4>& strides, void* stream);

// Writes zeros to the output's rows for which the mask keeps no key: all of it False or -infinity.
// Sizes as above.
LaunchStatus clear_blind_rows(const Attention& problem, const std::array<std::int64_t, 4>& sizes,
                              void* stream);

}  // namespace mindiesd::kernels::cuda
