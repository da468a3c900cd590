// The instances of hopper_attention.cuh: made in hopper_*_half.cu and hopper_*_bfloat16.cu, chosen
// in hopper_attention.cu.

#pragma once

#include <array>
#include <vector>

#include "kernels/cuda/hopper_tiles.cuh"

namespace mindiesd::kernels::cuda::hopper {

struct Instance {
  int width, rows, keys, threads, bytes;
  // Microseconds of a tile's block of keys, and the same where rows of operands do not begin at
  // multiples of 32 bytes.
  float block_time, ragged_time;
  Masking masking;
  void (*kernel)(HopperParameters);
};

// In the order of their widths; every element type has the same.
using Instances = std::vector<Instance>;
Instances half_instances();
Instances bfloat16_instances();
// The part of them that reads masks.
Instances half_masked_instances();
Instances bfloat16_masked_instances();

}  // namespace mindiesd::kernels::cuda::hopper
