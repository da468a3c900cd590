// The instances of hopper_attention.cuh: made in hopper_attention_*.cu, chosen in
// hopper_attention.cu.

#pragma once

#include <array>

#include "kernels/cuda/hopper_tiles.cuh"

namespace mindiesd::kernels::cuda::hopper {

struct Instance {
  int width, rows, keys, threads, bytes;
  // Microseconds of a tile's block of keys, and the same where rows of operands do not begin at
  // multiples of 32 bytes.
  float block_time, ragged_time;
  void (*kernel)(HopperParameters);
};

// In the order of their widths; every element type has the same.
inline constexpr int kInstances = 11;
using Instances = std::array<Instance, kInstances>;
const Instances& half_instances();
const Instances& bfloat16_instances();

}  // namespace mindiesd::kernels::cuda::hopper
