// Where a row lies in each of several operands, in the form that kernels take. The host makes it
// (host.h: map_of); only device code reads it.

#pragma once

#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

// Division of n < 2^31 by a constant: Granlund and Montgomery, PLDI 1994, section 4.
struct Divisor {
  std::uint32_t value = 1, multiplier = 0, shift = 0;

#ifdef __CUDACC__
  __device__ __forceinline__ std::uint32_t quotient(std::uint32_t n) const {
    return value == 1 ? n : __umulhi(n, multiplier) >> shift;
  }
#endif
};

// Sizes are outermost first, strides in elements.
template <int kOperands>
struct RowMap {
  int rank = 0;
  std::uint32_t like_first = 0;  // a bit for each operand that has the strides of operand 0
  Divisor sizes[kMaxRank];
  std::int64_t strides[kOperands][kMaxRank] = {};

#ifdef __CUDACC__
  // The same, with what offset() gave for operand 0.
  __device__ __forceinline__ std::int64_t offset(std::uint32_t row, int operand,
                                                 std::int64_t first) const {
    return (like_first >> operand & 1U) != 0 ? first : offset(row, operand);
  }
  // Of one operand; each use computes its own, which is cheaper than to keep them in registers.
  __device__ __forceinline__ std::int64_t offset(std::uint32_t row, int operand) const {
    std::int64_t result = 0;
#pragma unroll 1  // it is inlined often, and rows mostly have one dimension
    for (int d = rank - 1; d > 0; --d) {
      const std::uint32_t rest = sizes[d].quotient(row);
      result += static_cast<std::int64_t>(row - rest * sizes[d].value) * strides[operand][d];
      row = rest;
    }
    return result + static_cast<std::int64_t>(row) * strides[operand][0];
  }
#endif
};

}  // namespace mindiesd::kernels::cuda
