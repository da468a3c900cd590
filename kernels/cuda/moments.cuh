// Means and sums of squared deviations of parts of some values, and how they are joined: as Chan,
// Golub and LeVeque (1979) have it, so that a mean far from zero costs no digits.

#pragma once

#include "kernels/cuda/device.cuh"

namespace mindiesd::kernels::cuda {

// Of `count` values: their mean, and the sum of squared deviations from it.
struct Moments {
  float count = 0.0F, mean = 0.0F, squares = 0.0F;

  __device__ __forceinline__ void join(const Moments& other) {
    const float total = count + other.count;
    if (count == 0.0F) {
      *this = other;
      return;
    }
    const float share = other.count * reciprocal_fast(total);
    const float apart = other.mean - mean;
    mean = fmaf(apart, share, mean);
    squares += other.squares + apart * apart * (count * share);
    count = total;
  }
  __device__ __forceinline__ Moments of_lane(int offset) const {
    return {__shfl_xor_sync(0xffffffffU, count, offset), __shfl_xor_sync(0xffffffffU, mean, offset),
            __shfl_xor_sync(0xffffffffU, squares, offset)};
  }
  // Of the values of all lanes of a warp. Both sides of an exchange join in the same order, so that
  // every lane has the same result.
  __device__ __forceinline__ void join_warp() {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const Moments other = of_lane(offset);
      const bool lower = (threadIdx.x & static_cast<unsigned>(offset)) == 0;
      Moments first = lower ? *this : other;
      first.join(lower ? other : *this);
      *this = first;
    }
  }
};

// Of all values of a block of kThreads threads, a multiple of 32, in one dimension.
template <int kThreads>
__device__ __forceinline__ void join_block(Moments& own, Moments* memory) {
  constexpr int kWarps = kThreads / 32;
  own.join_warp();
  if ((threadIdx.x & 31) == 0) memory[threadIdx.x / 32] = own;
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x & 31);
  own = lane < kWarps ? memory[lane] : Moments{};
  own.join_warp();
}

// 1 / count; of one exactly, so that equal values have a mean that is theirs.
__device__ __forceinline__ float share_of_last(int count) {
  return count == 1 ? 1.0F : reciprocal_fast(static_cast<float>(count));
}

// kCount values more, `vectors` of as many having gone before.
template <int kCount>
__device__ __forceinline__ void add_vector(Moments& own, const float (&x)[kCount], int vectors) {
  float sum = 0.0F, squares = 0.0F;
#pragma unroll
  for (const float value : x) sum += value;
  const float mean = sum * (1.0F / kCount);
#pragma unroll
  for (const float value : x) squares = fmaf(value - mean, value - mean, squares);
  const float share = share_of_last(vectors + 1);
  const float apart = mean - own.mean;
  own.mean = fmaf(apart, share, own.mean);
  own.squares += fmaf(apart * apart * kCount, 1.0F - share, squares);
}

}  // namespace mindiesd::kernels::cuda
