// Norms of many short rows of half precision whose vectors are no power of two (widths 72 and 80).
// Instances: norm_*.cu through norm_short_kernel_for; the choice: norm_plan.h.
//
// A warp has as many whole rows side by side as fit its lanes, a vector in each: 27 or 30 lanes
// work, and what they read and write is dense, where norm_rows.cuh would leave 7 or 6 of 16 idle.
// The rows' sums meet in shared memory, where each lane adds up those of one row. Traffic per
// element as in norm.cuh.

#pragma once

#include "kernels/cuda/norm_rows.cuh"

namespace mindiesd::kernels::cuda {

template <int kCount>
struct alignas(4 * kCount) RowMoments {
  float of[kCount];
};

constexpr int kShortWarps = 2;  // of a block

// kVectors vectors are a row; a lane has one of each of kTurns rows. blockDim is (32, kShortWarps);
// NormRowsParameters::turns and vectors do not count.
template <typename T, int kVectors, int kTurns, bool kCentered>
__global__ void __launch_bounds__(32 * kShortWarps, kTurns > 4  ? 12
                                                    : kCentered ? 16
                                                                : 20)
    norm_short_kernel(const __grid_constant__ NormRowsParameters p) {
  static_assert(sizeof(T) == 2);
  constexpr int kCount = 8;
  constexpr int kSums = kCentered ? 2 : 1;  // squares, and values
  constexpr int kAtOnce = 32 / kVectors;
  constexpr int kRows = kAtOnce * kTurns;
  static_assert(kRows <= 32);
  using Moments = RowMoments<kSums>;
  __shared__ Moments parts_of[kShortWarps][kRows * kVectors];
  __shared__ Moments rows_of[kShortWarps][kRows];
  Moments* const parts = parts_of[threadIdx.y];
  Moments* const rows = rows_of[threadIdx.y];
  const int lane = static_cast<int>(threadIdx.x);
  const int lane_row = lane / kVectors;
  const int column = lane % kVectors;
  const bool active = lane_row < kAtOnce;
  const std::uint32_t first = (blockIdx.x * kShortWarps + threadIdx.y) * kRows + lane_row;
  const auto inside = [&](int t) { return active && first + t * kAtOnce < p.rows; };
  wait_for_previous_kernel();
  allow_next_kernel();

  Raw<16> raw[kTurns];
  {
    const char* input = static_cast<const char*>(p.input) + blockIdx.y * p.input_outer +
                        first * p.input_row + column * 16;
#pragma unroll
    for (int t = 0; t < kTurns; ++t) {
      raw[t] = {};
      if (inside(t)) raw[t] = load_operand<16>(input + t * kAtOnce * p.input_row);
    }
  }
  float m[kCount], a[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    m[i] = p.one_plus ? 0.0F : 1.0F;
    a[i] = 0.0F;
  }
  if (p.scale != nullptr) {
    const char* scale = static_cast<const char*>(p.scale) + blockIdx.y * p.scale_outer;
    unpack<T>(load_shared_data<16>(scale + column * 16), m);
  }
  if (kCentered && p.shift != nullptr) {
    const char* shift = static_cast<const char*>(p.shift) + blockIdx.y * p.shift_outer;
    unpack<T>(load_shared_data<16>(shift + column * 16), a);
  }
  if (kCentered && p.one_plus) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) m[i] += 1.0F;
  }

  // Sum i of the lane's row, of all that its lanes left.
  const auto total = [&](int i) {
    float sum[2] = {};
#pragma unroll
    for (int c = 0; c < kVectors; ++c) sum[c % 2] += parts[lane * kVectors + c].of[i];
    return sum[0] + sum[1];
  };
  const bool mine = lane < kRows;
  const auto row_squares = [&] {
#pragma unroll
    for (int t = 0; t < kTurns; ++t) {
      float x[kCount];
      unpack<T>(raw[t], x);
      Moments part = {};
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        part.of[0] = fmaf(x[i], x[i], part.of[0]);
        if constexpr (kCentered) part.of[kSums - 1] += x[i];
      }
      if (active) parts[t * kAtOnce * kVectors + lane] = part;
    }
    __syncwarp();
    return mine ? total(0) : 0.0F;
  };
  const float squares = row_squares();
  float variance = squares * p.per_width, mean = 0.0F, eps = p.eps;
  if constexpr (kCentered) {
    mean = mine ? total(1) * p.per_width : 0.0F;
    variance -= mean * mean;
  }
  // See norm_kernel.
  bool plain = !kCentered || variance >= mean * mean * 0.015625F;
  if constexpr (kOverflows<T>) plain = plain && is_finite(variance);
  if ((kCentered || kOverflows<T>) && !__all_sync(0xffffffffU, plain)) {
    const bool fits = is_finite(squares);
    if (kOverflows<T> && !__all_sync(0xffffffffU, fits)) {
      if (!fits) eps = eps_down(eps);
      if (mine) rows[lane].of[0] = squares;
      __syncwarp();
#pragma unroll
      for (int t = 0; t < kTurns; ++t) {
        if (active && !is_finite(rows[t * kAtOnce + lane_row].of[0])) bring_raw_down<T>(raw[t]);
      }
      __syncwarp();
      variance = row_squares() * p.per_width;
      if constexpr (kCentered) mean = mine ? total(1) * p.per_width : 0.0F;
    }
    if constexpr (kCentered) {
      if (mine) rows[lane].of[0] = mean;
      __syncwarp();
#pragma unroll
      for (int t = 0; t < kTurns; ++t) {
        float x[kCount], deviations = 0.0F;
        unpack_again<T>(raw[t], x);
        const float middle = active ? rows[t * kAtOnce + lane_row].of[0] : 0.0F;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          deviations = fmaf(x[i] - middle, x[i] - middle, deviations);
        }
        if (active) parts[t * kAtOnce * kVectors + lane].of[0] = deviations;
      }
      __syncwarp();
      variance = mine ? total(0) * p.per_width : 0.0F;
    }
  }
  if (mine) {
    const float factor = rsqrtf(variance + eps);
    rows[lane].of[0] = factor;
    if constexpr (kCentered) rows[lane].of[kSums - 1] = -mean * factor;
  }
  __syncwarp();
  if (!active) return;

  char* output = static_cast<char*>(p.output) + blockIdx.y * p.output_outer + first * p.output_row +
                 column * 16;
#pragma unroll
  for (int t = 0; t < kTurns; ++t) {
    const Moments row = rows[t * kAtOnce + lane_row];
    float x[kCount];
    unpack_again<T>(raw[t], x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kCentered) {
        x[i] = fmaf(fmaf(x[i], row.of[0], row.of[kSums - 1]), m[i], a[i]);
      } else {
        x[i] *= row.of[0];
      }
    }
    if constexpr (!kCentered) {
      if (p.rounded) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i] = round_to(x[i], kTypeOf<T>);
      }
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] *= m[i];
    }
    if (inside(t)) store_raw(output + t * kAtOnce * p.output_row, pack<T, 16>(x));
  }
}

// The rows of which a lane has a vector.
constexpr int kShortTurns = 4;

// For rows of 9 or 10 vectors.
template <typename T>
NormRowsKernel norm_short_kernel_for(bool centered, int vectors);

template <typename T, int kVectors>
NormRowsKernel norm_short_kernel_of(bool centered) {
  return centered ? norm_short_kernel<T, kVectors, kShortTurns, true>
                  : norm_short_kernel<T, kVectors, kShortTurns, false>;
}

#define MINDIESD_NORM_SHORT_INSTANCES(T)                                \
  template <>                                                           \
  NormRowsKernel norm_short_kernel_for<T>(bool centered, int vectors) { \
    return vectors == 9 ? norm_short_kernel_of<T, 9>(centered)          \
                        : norm_short_kernel_of<T, 10>(centered);        \
  }

}  // namespace mindiesd::kernels::cuda
