// What the kernels of the norm family share: the operands of a launch, the bounds of a block, and
// the factor of a branch's own RMSNorm. No entry point of its own.

#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/norm_task.h"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {

struct NormParameters {
  RowMap<kNormOperands> map;
  const void* input;
  const void* branch;
  void* output;
  void* sum;
  DataType branch_type, output_type, sum_type;
  Modulation gate, scale, shift;
  const void* weight;
  const void* bias;
  DataType weight_type, bias_type;
  DataType normalized, product;
  const void* branch_weight;
  DataType branch_weight_type;
  float branch_eps;
  bool branch_norm;  // the branch has an RMSNorm of its own
  bool gate_tanh;
  bool one_plus;   // norm_kernel: `scale` is added to 1
  bool both;       // norm_kernel with kOther: weight and bias come before scale and shift
  bool centered;   // general_norm_kernel: a LayerNorm
  bool zero_mean;  // norm_kernel with kCentered and kOther: an RMSNorm
  std::uint32_t rows;
  int vectors;  // in a row
  float eps;
  float per_width;  // 1 / width
};

// The most threads of a block: as many as leave each the registers that its vectors need.
constexpr int norm_threads(int vectors) { return vectors == 5 ? 256 : vectors > 2 ? 512 : 1024; }

// Blocks that have to fit a multiprocessor at once: bounds the registers of a thread.
constexpr int norm_blocks(int bytes, int vectors, bool centered) {
  if (vectors == 8) return bytes == 2 && !centered ? 2 : 1;
  return vectors == 5 ? 3 : vectors == 3 || vectors == 4 ? 2 : 1;
}

// The factor of the branch's own RMSNorm. `values(v, y)` gives a thread's vectors, zeros beyond the
// row; `memory`: two times 32 floats.
template <typename T, int kVectors, bool kOverflow, typename Values>
__device__ __forceinline__ float branch_factor(const NormParameters& p, const Values& values,
                                               float* memory) {
  const auto squares = [&](float down, float* room) {
    float sum[1] = {0.0F};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float y[16 / sizeof(T)];
      values(v, y);
#pragma unroll
      for (float& value : y) {
        value *= down;
        sum[0] = fmaf(value, value, sum[0]);
      }
    }
    reduce_row<Sum>(sum, room);
    return sum[0] * p.per_width;
  };
  const float mean = squares(1.0F, memory);
  if constexpr (kOverflow) {
    const bool fits = is_finite(mean);
    if (!(blockDim.x < 32 ? __all_sync(0xffffffffU, fits) : fits)) {  // see norm_kernel
      const float small = squares(kDown, memory + 32);
      if (!fits) return kDown / sqrtf(small + eps_down(p.branch_eps));
    }
  }
  return sizeof(T) == 4 ? 1.0F / sqrtf(mean + p.branch_eps) : rsqrtf(mean + p.branch_eps);
}

}  // namespace mindiesd::kernels::cuda
