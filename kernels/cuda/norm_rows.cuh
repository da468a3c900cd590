// Norms of many like rows of half precision: each thread goes through several rows with the weights
// or modulators of its columns in registers. Instances: norm_*.cu through norm_rows_kernel_for; the
// choice among them: norm.cu.
//
// Short rows and LayerNorm are bound by their instructions, of which finding the row, fetching and
// unpacking what all rows share are half. Traffic per element as in norm.cuh.

#pragma once

#include "kernels/cuda/device.cuh"

namespace mindiesd::kernels::cuda {

// Strides in bytes. `outer` ones, blockIdx.y, have modulators of their own.
struct NormRowsParameters {
  const void* input;
  void* output;
  const void* scale;  // or the weight; null: ones
  const void* shift;  // or the bias; null: zeros
  std::int64_t input_row, input_outer, output_row, output_outer, scale_outer, shift_outer;
  std::uint32_t rows;  // of an outer one
  std::uint32_t turns;
  int vectors;  // in a row
  float eps, per_width;
  bool one_plus;  // `scale` is added to 1
  bool rounded;   // RMSNorm: to T before the weight
};

constexpr int kNormRowsThreads = 256;
constexpr int kNormRowsWarps = 8;

// Sums over the kLanes lanes of a row, or, where kLanes is 0, over its blockDim.x / 32 warps.
// `memory`: of this turn, 0 beyond the warps.
template <int kLanes, int kCount>
__device__ __forceinline__ void sum_row(float (&values)[kCount], float* memory) {
  constexpr int kWithin = kLanes == 0 ? 32 : kLanes;
#pragma unroll
  for (int offset = kWithin / 2; offset > 0; offset /= 2) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      values[i] += __shfl_xor_sync(0xffffffffU, values[i], offset);
    }
  }
  if constexpr (kLanes == 0) {
    float* row = memory + threadIdx.y * kCount * kNormRowsWarps;
    if ((threadIdx.x & 31) == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) row[i * kNormRowsWarps + (threadIdx.x >> 5)] = values[i];
    }
    row_barrier();
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float4 low = *reinterpret_cast<const float4*>(row + i * kNormRowsWarps);
      values[i] = (low.x + low.y) + (low.z + low.w);
    }
    if (blockDim.x > 128) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float4 high = *reinterpret_cast<const float4*>(row + i * kNormRowsWarps + 4);
        values[i] += (high.x + high.y) + (high.z + high.w);
      }
    }
  }
}

// Blocks that have to fit a multiprocessor at once: bounds the registers of a thread.
constexpr int norm_rows_blocks(int vectors, int rows, bool centered) {
  const int held = vectors * rows;
  if (vectors == 1 && rows <= 2) return centered ? 5 : 6;
  if (held <= 2 || (vectors == 1 && rows == 4)) return 4;
  return held <= 4 ? 3 : 2;
}

// kLanes lanes, or 0 for warps, have a row; kVectors vectors of it are in each thread, and kRows
// rows at once.
template <typename T, int kLanes, int kVectors, int kRows, bool kCentered>
__global__ void __launch_bounds__(kNormRowsThreads, norm_rows_blocks(kVectors, kRows, kCentered))
    norm_rows_kernel(const __grid_constant__ NormRowsParameters p) {
  static_assert(sizeof(T) == 2);
  constexpr int kCount = 8;
  constexpr int kSums = kCentered ? 2 : 1;  // squares, and values
  // With one row at a time the next one is on its way meanwhile.
  constexpr bool kAhead = kRows == 1;
  constexpr bool kUnpacked = kVectors <= 2;  // there are registers for the modulators as float32
  // Two turns take turns, and each row's second sums have a place of their own.
  constexpr int kPlaces = kLanes == 0 ? kNormRowsWarps / 2 * kRows * kSums * kNormRowsWarps : 1;
  __shared__ alignas(16) float memory[2 + kRows][kPlaces];
  if constexpr (kLanes == 0) {
    for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
         i < (2 + kRows) * kPlaces; i += static_cast<int>(blockDim.x * blockDim.y)) {
      memory[0][i] = 0.0F;
    }
    __syncthreads();
  }
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = kLanes == 0 ? static_cast<int>(blockDim.x) : kLanes;
  const auto inside = [&](int v) { return v * threads + thread < p.vectors; };
  const std::uint32_t step = blockDim.y;
  std::uint32_t row = blockIdx.x * step * (p.turns * kRows) + threadIdx.y;
  wait_for_previous_kernel();
  allow_next_kernel();

  const char* input = static_cast<const char*>(p.input) + blockIdx.y * p.input_outer +
                      row * p.input_row + thread * 16;
  char* output =
      static_cast<char*>(p.output) + blockIdx.y * p.output_outer + row * p.output_row + thread * 16;
  Raw<16> raw[kRows][kVectors], next[kAhead ? kVectors : 1];
  const auto load = [&](Raw<16>* to, std::uint32_t of, const char* from) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      to[v] = {};
      if (of < p.rows && inside(v)) to[v] = load_operand<16>(from + v * threads * 16);
    }
  };
  if constexpr (kAhead) load(next, row, input);

  Raw<16> scales[kVectors], shifts[kCentered ? kVectors : 1];
  float m[kUnpacked ? kVectors : 1][kCount], a[kUnpacked && kCentered ? kVectors : 1][kCount];
  {
    float none[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) none[i] = p.one_plus ? 0.0F : 1.0F;
    const char* scale = static_cast<const char*>(p.scale) + blockIdx.y * p.scale_outer;
    const char* shift = static_cast<const char*>(p.shift) + blockIdx.y * p.shift_outer;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int at = (v * threads + thread) * 16;
      scales[v] = pack<T, 16>(none);
      if (p.scale != nullptr && inside(v)) scales[v] = load_shared_data<16>(scale + at);
      if constexpr (kCentered) {
        shifts[v] = {};
        if (p.shift != nullptr && inside(v)) shifts[v] = load_shared_data<16>(shift + at);
      }
    }
  }
  const auto modulators = [&](int v, float* multiplier, float* addend) {
    if constexpr (kUnpacked) {
      unpack<T>(scales[v], multiplier);
    } else {
      unpack_again<T>(scales[v], multiplier);
    }
    if (kCentered && p.one_plus) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) multiplier[i] += 1.0F;
    }
    if constexpr (kCentered && kUnpacked) unpack<T>(shifts[v], addend);
    if constexpr (kCentered && !kUnpacked) unpack_again<T>(shifts[v], addend);
  };
  if constexpr (kUnpacked) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) modulators(v, m[v], a[kCentered ? v : 0]);
  }

#pragma unroll 1
  for (std::uint32_t turn = 0; turn < p.turns; ++turn) {
    if constexpr (kAhead) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) raw[0][v] = next[v];
      input += step * p.input_row;
      if (turn + 1 < p.turns) load(next, row + step, input);
    } else {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        load(raw[r], row + r * step, input);
        input += step * p.input_row;
      }
    }
    float sums[kRows * kSums] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float parts[kSums][2] = {};
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float x[kCount];
        unpack<T>(raw[r][v], x);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          parts[0][i % 2] = fmaf(x[i], x[i], parts[0][i % 2]);
          if constexpr (kCentered) parts[kSums - 1][i % 2] += x[i];
        }
      }
#pragma unroll
      for (int s = 0; s < kSums; ++s) sums[r * kSums + s] = parts[s][0] + parts[s][1];
    }
    sum_row<kLanes>(sums, memory[turn % 2]);
    float factor[kRows], offset[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float variance = sums[r * kSums] * p.per_width, mean = 0.0F;
      if constexpr (kCentered) {
        mean = sums[r * kSums + 1] * p.per_width;
        variance -= mean * mean;
        bool again = !(variance >= mean * mean * 0.015625F);  // see norm_kernel
        if constexpr (kLanes != 0) again = __any_sync(0xffffffffU, again);
        if (again) {
          float deviations[1] = {0.0F};
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
            if (!inside(v)) continue;
            float x[kCount];
            unpack_again<T>(raw[r][v], x);
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
              const float deviation = x[i] - mean;
              deviations[0] = fmaf(deviation, deviation, deviations[0]);
            }
          }
          sum_row<kLanes>(deviations, memory[2 + r]);
          variance = deviations[0] * p.per_width;
        }
      }
      factor[r] = rsqrtf(variance + p.eps);
      offset[r] = -mean * factor[r];
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float x[kCount], multiplier[kCount], addend[kCount];
        unpack_again<T>(raw[r][v], x);
        if constexpr (!kUnpacked) modulators(v, multiplier, addend);
        const float* by = kUnpacked ? m[kUnpacked ? v : 0] : multiplier;
        const float* plus = kUnpacked ? a[kUnpacked && kCentered ? v : 0] : addend;
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          if constexpr (kCentered) {
            x[i] = fmaf(fmaf(x[i], factor[r], offset[r]), by[i], plus[i]);
          } else {
            x[i] *= factor[r];
          }
        }
        if constexpr (!kCentered) {
          if (p.rounded) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) x[i] = round_to(x[i], kTypeOf<T>);
          }
#pragma unroll
          for (int i = 0; i < kCount; ++i) x[i] *= by[i];
        }
        if (row + r * step < p.rows && inside(v)) {
          store_raw(output + v * threads * 16, pack<T, 16>(x));
        }
      }
      output += step * p.output_row;
    }
    row += kRows * step;
  }
}

using NormRowsKernel = void (*)(NormRowsParameters);

struct NormRowsChoice {
  bool centered;
  int lanes, vectors, rows;  // 0 lanes: whole warps

  constexpr int key() const { return ((centered ? 64 : 0) + lanes) * 64 + vectors * 8 + rows; }
};

// Null where there is no such instance.
template <typename T>
NormRowsKernel norm_rows_kernel_for(const NormRowsChoice& choice);

// The file of each half-precision type has one of these. Instances: what norm.cu chooses.
#define MINDIESD_NORM_ROWS_CASE(T, centered, lanes, vectors, rows) \
  case NormRowsChoice{centered, lanes, vectors, rows}.key():       \
    return norm_rows_kernel<T, lanes, vectors, rows, centered>;
#define MINDIESD_NORM_ROWS_INSTANCES(T)                                  \
  template <>                                                            \
  NormRowsKernel norm_rows_kernel_for<T>(const NormRowsChoice& choice) { \
    switch (choice.key()) {                                              \
      MINDIESD_NORM_ROWS_CASE(T, false, 4, 3, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 4, 4, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 4, 5, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 8, 1, 2)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 8, 4, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 16, 1, 4)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 32, 1, 4)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 32, 2, 1)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 32, 3, 1)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 32, 4, 1)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 32, 5, 1)                        \
      MINDIESD_NORM_ROWS_CASE(T, false, 0, 3, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, false, 0, 4, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 4, 3, 1)                          \
      MINDIESD_NORM_ROWS_CASE(T, true, 4, 5, 1)                          \
      MINDIESD_NORM_ROWS_CASE(T, true, 8, 1, 2)                          \
      MINDIESD_NORM_ROWS_CASE(T, true, 16, 1, 2)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 32, 1, 2)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 32, 2, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 32, 3, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 32, 5, 1)                         \
      MINDIESD_NORM_ROWS_CASE(T, true, 0, 3, 1)                          \
      default:                                                           \
        return nullptr;                                                  \
    }                                                                    \
  }

}  // namespace mindiesd::kernels::cuda
