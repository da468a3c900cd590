// Reductions over the threads that share a row. Entry points: reduce_row, row_barrier.

#pragma once

#include "kernels/cuda/device.cuh"

namespace mindiesd::kernels::cuda {

struct Sum {
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
  static __device__ __forceinline__ float nothing() { return 0.0F; }
};
// The maximum as torch has it: a NaN stays.
struct Maximum {
  static __device__ __forceinline__ float of(float a, float b) { return max_nan(a, b); }
  static __device__ __forceinline__ float nothing() { return -__int_as_float(0x7f800000); }
};
// Where a NaN need not be kept, because it reaches the result by another way.
struct NumberMaximum {
  static __device__ __forceinline__ float of(float a, float b) { return fmaxf(a, b); }
  static __device__ __forceinline__ float nothing() { return Maximum::nothing(); }
};

// Rows of a block do not wait for each other: a barrier for the threads of each. One whose number
// is computed reserves all 16 of a block, so that a multiprocessor, which has 64, takes four
// blocks. That is as well: with a number in an instruction of its own for each row, and so up to
// eight blocks, LayerNorm was 1 to 4 % slower on an H200, softmax of 8,192 columns 2 %, and nothing
// faster.
__device__ __forceinline__ void row_barrier() {
  asm volatile("bar.sync %0, %1;" ::"r"(threadIdx.y + 1), "r"(blockDim.x) : "memory");
}

// Reduces kCount values over the blockDim.x threads that share threadIdx.y: a power of two up to
// 32, or a multiple of 32, of which a block has at most 15. Every thread gets the results.
// `memory`: kCount * warps floats, not in use by an earlier reduction that some thread may still be
// reading.
template <typename Op, int kCount>
__device__ __forceinline__ void reduce_row(float (&values)[kCount], float* memory) {
  if (blockDim.x < 32) {
    for (int offset = static_cast<int>(blockDim.x) / 2; offset > 0; offset /= 2) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] = Op::of(values[i], __shfl_xor_sync(0xffffffffU, values[i], offset));
      }
    }
    return;
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = Op::of(values[i], __shfl_xor_sync(0xffffffffU, values[i], offset));
    }
  }
  if (blockDim.x == 32) return;
  const int warp = static_cast<int>(threadIdx.x) >> 5;
  const int warps = static_cast<int>(blockDim.x) >> 5;
  float* row = memory + threadIdx.y * warps * kCount;
  if ((threadIdx.x & 31) == 0) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) row[i * warps + warp] = values[i];
  }
  row_barrier();
  const int lane = static_cast<int>(threadIdx.x) & 31;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    values[i] = lane < warps ? row[i * warps + lane] : Op::nothing();
  }
  if (warps > 8) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = Op::of(values[i], __shfl_xor_sync(0xffffffffU, values[i], 16));
      values[i] = Op::of(values[i], __shfl_xor_sync(0xffffffffU, values[i], 8));
    }
  }
#pragma unroll
  for (int offset = 4; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] = Op::of(values[i], __shfl_xor_sync(0xffffffffU, values[i], offset));
    }
  }
  // Lanes beyond the first eight hold nothing of up to eight warps: they take what the first has.
  if (warps <= 8) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = __shfl_sync(0xffffffffU, values[i], 0);
  }
}

}  // namespace mindiesd::kernels::cuda
