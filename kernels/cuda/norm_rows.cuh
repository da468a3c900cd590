// Norms of many like rows of half precision: each thread goes through several rows with the weights
// or modulators of its columns, which have the rows' type or float32, in registers. Instances:
// norm_*.cu through norm_rows_kernel_for; the choice among them: norm_plan.h.
//
// Short rows and LayerNorm are bound by their instructions, of which finding the row, fetching and
// unpacking what all rows share are half. Traffic per element as in norm.cuh.

#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {

// Strides in bytes. `outer` ones, blockIdx.y, have modulators of their own.
struct NormRowsParameters {
  const void* input;
  void* output;
  const void* scale;   // or the weight; null: ones
  const void* shift;   // or the bias; null: zeros
  const void* factor;  // RMSNorm: null, or the weight beside the scale
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

// Sums over the kLanes lanes of a row, or, where kLanes is 0, over its blockDim.x / 32 warps, of
// which there are at most kWarps. `memory`: of this turn, 0 beyond the warps.
template <int kLanes, int kWarps = kNormRowsWarps, int kCount>
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
    float* row = memory + threadIdx.y * kCount * kWarps;
    if ((threadIdx.x & 31) == 0) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) row[i * kWarps + (threadIdx.x >> 5)] = values[i];
    }
    row_barrier();
#pragma unroll
    for (int i = 0; i < kCount; ++i) values[i] = 0.0F;
#pragma unroll
    for (int four = 0; four < kWarps / 4; ++four) {
      if (four > 0 && blockDim.x <= 128 * four) break;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float4 part = *reinterpret_cast<const float4*>(row + i * kWarps + 4 * four);
        values[i] += (part.x + part.y) + (part.z + part.w);
      }
    }
  }
}

// Blocks that have to fit a multiprocessor at once: bounds the registers of a thread. `wide`: with
// modulators of float32, beside which there is room for no more than two vectors.
constexpr int norm_rows_blocks(int vectors, int rows, bool centered, bool wide) {
  const int held = vectors * rows;
  if (wide) return vectors == 1 ? 4 : 3;
  if (vectors == 1 && rows <= 2) return centered ? 5 : 6;
  if (held <= 2 || (vectors == 1 && rows == 4)) return 4;
  return held <= (centered ? 3 : 4) ? 3 : 2;
}

// The most warps of a row: beside modulators of float32 a thread has fewer vectors of it.
template <typename M>
constexpr int kRowWarps = sizeof(M) == 4 ? 16 : kNormRowsWarps;

// kLanes lanes, or 0 for warps, have a row; kVectors vectors of it are in each thread, and kRows
// rows at once. M: the type of scale and shift. A block has kThreads threads at most.
template <typename T, typename M, int kLanes, int kVectors, int kRows, bool kCentered, int kThreads>
__global__ void __launch_bounds__(kThreads, kThreads > kNormRowsThreads
                                                ? 1
                                                : norm_rows_blocks(kVectors, kRows, kCentered,
                                                                   sizeof(M) == 4))
    norm_rows_kernel(const __grid_constant__ NormRowsParameters p) {
  static_assert(sizeof(T) == 2);
  constexpr int kWarps = kRowWarps<M>;
  constexpr int kCount = 8;
  constexpr int kSums = kCentered ? 2 : 1;  // squares, and values
  // With one row at a time the next one is on its way meanwhile.
  constexpr bool kAhead = kRows == 1;
  // There are registers for the modulators as float32.
  constexpr bool kUnpacked = kVectors <= 2 && !(kCentered && kVectors == 2 && sizeof(M) == 2);
  static_assert(kUnpacked || sizeof(M) == 2);
  // Two turns take turns, and each row's later sums have places of their own.
  constexpr int kPlaces = kLanes == 0 ? kNormRowsWarps / 2 * kRows * kSums * kWarps : 1;
  __shared__ alignas(16) float memory[2 + 2 * kRows][kPlaces];
  if constexpr (kLanes == 0) {
    for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
         i < (2 + 2 * kRows) * kPlaces; i += static_cast<int>(blockDim.x * blockDim.y)) {
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

  Held<T, M> scales[kVectors], shifts[kCentered ? kVectors : 1];
  float m[kUnpacked ? kVectors : 1][kCount], a[kUnpacked && kCentered ? kVectors : 1][kCount];
  {
    const char* scale = static_cast<const char*>(p.scale) + blockIdx.y * p.scale_outer;
    const char* shift = static_cast<const char*>(p.shift) + blockIdx.y * p.shift_outer;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = v * threads + thread;
      scales[v].fill(p.one_plus ? 0.0F : 1.0F);
      if (p.scale != nullptr && inside(v)) scales[v].load(scale, vector);
      if constexpr (kCentered) {
        shifts[v].fill(0.0F);
        if (p.shift != nullptr && inside(v)) shifts[v].load(shift, vector);
      }
    }
  }
  if constexpr (!kCentered) {
    // What the scale is to be multiplied with; their product is kept in the scale's type.
    if (p.one_plus || p.factor != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const int vector = v * threads + thread;
        Held<T, M> factor;
        factor.fill(1.0F);
        if (p.factor != nullptr && inside(v)) {
          factor.load(static_cast<const char*>(p.factor), vector);
        }
        scales[v].multiply(factor, p.one_plus ? 1.0F : 0.0F);
      }
    }
  }
  const auto modulators = [&](int v, float* multiplier, float* addend) {
    if constexpr (kUnpacked) {
      scales[v].get(multiplier);
    } else {
      scales[v].get_again(multiplier);
    }
    if (kCentered && p.one_plus) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) multiplier[i] += 1.0F;
    }
    if constexpr (kCentered && kUnpacked) shifts[v].get(addend);
    if constexpr (kCentered && !kUnpacked) shifts[v].get_again(addend);
  };
  if constexpr (kUnpacked) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) modulators(v, m[v], a[kCentered ? v : 0]);
  }

  const auto all_of_warp = [&](bool fact) {
    return kLanes != 0 ? __all_sync(0xffffffffU, fact) != 0 : fact;
  };

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
    sum_row<kLanes, kWarps>(sums, memory[turn % 2]);
    float factor[kRows], offset[kRows];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      float variance = sums[r * kSums] * p.per_width, mean = 0.0F;
      bool plain = !kOverflows<T> || is_finite(sums[r * kSums]);
      if constexpr (kCentered) {
        mean = sums[r * kSums + 1] * p.per_width;
        variance -= mean * mean;
        plain = plain && variance >= mean * mean * 0.015625F;
      }
      factor[r] = rsqrtf(variance + p.eps);
      offset[r] = -mean * factor[r];
      if (all_of_warp(plain)) continue;
      // See norm_kernel: of the deviations, and of the row brought down where it does not fit.
      const bool fits = !kOverflows<T> || is_finite(sums[r * kSums]);
      const float down = fits ? 1.0F : kDown;
      const auto sum_over_row = [&](float* room, const auto& term) {
        float sum[1] = {0.0F};
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (!inside(v)) continue;
          float x[kCount];
          unpack_again<T>(raw[r][v], x);
#pragma unroll
          for (int i = 0; i < kCount; ++i) sum[0] = term(x[i], sum[0]);
        }
        sum_row<kLanes, kWarps>(sum, room);
        return sum[0] * p.per_width;
      };
      if constexpr (kCentered && kOverflows<T>) {
        if (!all_of_warp(fits)) {
          mean = sum_over_row(memory[2 + kRows + r],
                              [&](float x, float sum) { return fmaf(x, down, sum); });
        }
      }
      variance = sum_over_row(memory[2 + r], [&](float x, float sum) {
        const float deviation = fmaf(x, down, -mean);
        return fmaf(deviation, deviation, sum);
      });
      factor[r] = rsqrtf(variance + (fits ? p.eps : eps_down(p.eps)));
      offset[r] = -mean * factor[r];
      factor[r] *= down;
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
  bool wide = false;         // the modulators have type float32
  int threads = kNormRowsThreads;

  constexpr int key() const {
    return ((((threads / kNormRowsThreads * 2 + (wide ? 1 : 0)) * 2 + (centered ? 1 : 0)) * 64 +
             lanes) *
                8 +
            vectors) *
               8 +
           rows;
  }
};

// Null where there is no such instance.
template <typename T>
NormRowsKernel norm_rows_kernel_for(const NormRowsChoice& choice);

// The file of each half-precision type has one of these. Instances: what norm.cu chooses.
#define MINDIESD_NORM_ROWS_CASE(T, centered, lanes, vectors, rows) \
  case NormRowsChoice{centered, lanes, vectors, rows}.key():       \
    return norm_rows_kernel<T, T, lanes, vectors, rows, centered, kNormRowsThreads>;
// With modulators of float32.
#define MINDIESD_NORM_ROWS_WIDE(T, lanes, vectors, rows, threads)           \
  case NormRowsChoice{true, lanes, vectors, rows, true, threads}.key():     \
    return norm_rows_kernel<T, float, lanes, vectors, rows, true, threads>; \
  case NormRowsChoice{false, lanes, vectors, rows, true, threads}.key():    \
    return norm_rows_kernel<T, float, lanes, vectors, rows, false, threads>;
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
      MINDIESD_NORM_ROWS_CASE(T, false, 0, 2, 1)                         \
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
      MINDIESD_NORM_ROWS_CASE(T, true, 0, 2, 1)                          \
      MINDIESD_NORM_ROWS_CASE(T, true, 0, 3, 1)                          \
      MINDIESD_NORM_ROWS_CASE(T, true, 0, 4, 1)                          \
      MINDIESD_NORM_ROWS_WIDE(T, 16, 1, 2, 256)                          \
      MINDIESD_NORM_ROWS_WIDE(T, 32, 1, 2, 256)                          \
      MINDIESD_NORM_ROWS_WIDE(T, 32, 2, 1, 256)                          \
      MINDIESD_NORM_ROWS_WIDE(T, 0, 2, 1, 256)                           \
      MINDIESD_NORM_ROWS_WIDE(T, 0, 2, 1, 512)                           \
      default:                                                           \
        return nullptr;                                                  \
    }                                                                    \
  }

}  // namespace mindiesd::kernels::cuda
