// The instances of hopper_attention.cuh and hopper_wide.cuh: made in hopper_*_half.cu,
// hopper_*_bfloat16.cu and hopper_wide.cu, chosen in hopper_attention.cu.

#pragma once

#include <array>
#include <vector>

#include "kernels/cuda/hopper_tiles.cuh"

namespace mindiesd::kernels::cuda::hopper {

// The most columns of a head that hopper_attention.cuh computes.
inline constexpr int kNarrow = 256;

// A tile of hopper_wide.cuh: queries, keys of a block, and values that come together, at most 16
// KiB.
inline constexpr int kWideRows = 64, kWideKeys = 128;
constexpr int wide_value_rows(int width) { return 16 * (512 / width); }

struct Instance {
  int width, rows, keys, threads, bytes;
  // Microseconds of a tile's block of keys, and the same where rows of operands do not begin at
  // multiples of 32 bytes.
  float block_time, ragged_time;
  bool wide;  // of hopper_wide.cuh, whose blocks of threads can share a tile's keys
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
// The part of them for wide heads.
Instances half_wide_instances();
Instances bfloat16_wide_instances();

}  // namespace mindiesd::kernels::cuda::hopper
