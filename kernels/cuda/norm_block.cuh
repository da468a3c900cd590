// The block x + gate * branch, norm, scale and shift over many like rows of half precision:
// each thread goes through several rows with the gate and the modulators of its columns in
// registers, or, those of float32, in shared memory, and the next row on its way. Instances:
// norm_*.cu through norm_block_kernel_for; the choice: norm.cu.
//
// Traffic per element: input and branch once, sum and output once.

#pragma once

#include "kernels/cuda/norm_rows.cuh"

namespace mindiesd::kernels::cuda {

// Beside NormRowsParameters, with strides in bytes as there; no `sum`: it is not stored.
struct NormBlockParameters {
  NormRowsParameters rows;
  const void* branch;
  const void* gate;
  void* sum;
  std::int64_t branch_row, branch_outer, sum_row, sum_outer, gate_outer;
  bool gate_tanh;
};

// Of a block whose gate, scale and shift, of type M, lie in shared memory: vectors of 16 bytes, in
// parts, so that neighbouring threads read neighbouring ones.
template <typename T, typename M>
constexpr std::size_t norm_block_bytes(std::int64_t vectors) {
  return 3 * sizeof(M) / sizeof(T) * 16 * static_cast<std::size_t>(vectors);
}

// blockDim.x threads, whole warps, share a row, kVectors vectors of it in each. M: the type of
// gate, scale and shift, which with kShared are in the block's norm_block_bytes of shared memory,
// else in registers. kCentered: a LayerNorm, else an RMSNorm. A block has kThreads threads at most.
template <typename T, typename M, int kVectors, int kThreads, bool kShared, bool kCentered = true>
__global__ void __launch_bounds__(kThreads, kThreads > 384 ? 1 : 2)
    norm_block_kernel(const __grid_constant__ NormBlockParameters all) {
  static_assert(sizeof(T) == 2);
  constexpr int kCount = 8;
  constexpr int kParts = static_cast<int>(sizeof(M) / sizeof(T));
  constexpr int kWarps = kRowWarps<M>;
  constexpr int kPlaces = kThreads / 64 * 2 * kWarps;
  __shared__ alignas(16) float memory[4][kPlaces];
  extern __shared__ uint4 modulators[];
  const NormRowsParameters& p = all.rows;
  for (int i = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); i < 4 * kPlaces;
       i += static_cast<int>(blockDim.x * blockDim.y)) {
    memory[0][i] = 0.0F;
  }
  if constexpr (!kShared) __syncthreads();  // else below
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const auto inside = [&](int v) { return v * threads + thread < p.vectors; };
  const std::uint32_t step = blockDim.y;
  std::uint32_t row = blockIdx.x * step * p.turns + threadIdx.y;
  wait_for_previous_kernel();
  allow_next_kernel();

  const auto place = [&](const void* base, std::int64_t outer, std::int64_t row_bytes) {
    return static_cast<char*>(const_cast<void*>(base)) + blockIdx.y * outer + row * row_bytes +
           thread * 16;
  };
  const char* input = place(p.input, p.input_outer, p.input_row);
  const char* branch = place(all.branch, all.branch_outer, all.branch_row);
  char* output = place(p.output, p.output_outer, p.output_row);
  char* sum = place(all.sum, all.sum_outer, all.sum_row);
  Raw<16> next[kVectors], other[kVectors];
  const auto load = [&] {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      next[v] = other[v] = {};
      if (row < p.rows && inside(v)) {
        next[v] = load_operand<16>(input + v * threads * 16);
        other[v] = load_operand<16>(branch + v * threads * 16);
      }
    }
  };
  load();

  Held<T, M> held[3][kShared ? 1 : kVectors];  // gate, scale, shift
  const auto fetch = [&](int v, int vector, bool there) {
    held[0][v].fill(1.0F);
    held[1][v].fill(p.one_plus ? 0.0F : 1.0F);
    held[2][v].fill(0.0F);
    const void* const from[] = {all.gate, p.scale, p.shift};
    const std::int64_t outer[] = {all.gate_outer, p.scale_outer, p.shift_outer};
#pragma unroll
    for (int o = 0; o < 3; ++o) {
      const char* row = static_cast<const char*>(from[o]) + blockIdx.y * outer[o];
      if (from[o] != nullptr && there) held[o][v].load(row, vector);
    }
    if (all.gate_tanh) held[0][v].take_tanh();
    if constexpr (!kCentered) {
      if (p.factor != nullptr && there) {
        Held<T, M> factor;
        factor.load(static_cast<const char*>(p.factor), vector);
        held[1][v].multiply(factor, 1.0F);
      }
    }
  };
  if constexpr (kShared) {
    const int block_threads = threads * static_cast<int>(blockDim.y);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.y) * threads + thread; i < p.vectors;
         i += block_threads) {
      fetch(0, i, true);
#pragma unroll
      for (int part = 0; part < 3 * kParts; ++part) {
        store_raw(modulators + part * p.vectors + i, held[part / kParts][0].raw[part % kParts]);
      }
    }
    __syncthreads();
  } else {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) fetch(v, v * threads + thread, inside(v));
  }
  const auto modulator = [&](int which, int v, float* values) {
    if constexpr (kShared) {
      const int vector = inside(v) ? v * threads + thread : 0;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        unpack<M>(load_operand<16>(modulators + (which * kParts + part) * p.vectors + vector),
                  values + part * (kCount / kParts));
      }
    } else {
      held[which][v].get_again(values);
    }
  };
  const float one = p.one_plus && (kCentered || p.factor == nullptr) ? 1.0F : 0.0F;

#pragma unroll 1
  for (std::uint32_t turn = 0; turn < p.turns; ++turn) {
    const bool here = row < p.rows;
    float x[kVectors][kCount];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float y[kCount], g[kCount];
      unpack<T>(next[v], x[v]);
      unpack<T>(other[v], y);
      modulator(0, v, g);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[v][i] = fmaf(g[i], y[i], x[v][i]);
    }
    row += step;
    input += step * p.input_row;
    branch += step * all.branch_row;
    if (turn + 1 < p.turns) load();
    if (all.sum != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (here && inside(v)) store_raw(sum + v * threads * 16, pack<T, 16>(x[v]));
      }
      sum += step * all.sum_row;
    }
    float sums[2] = {}, parts[2][2] = {};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        parts[0][i % 2] = fmaf(x[v][i], x[v][i], parts[0][i % 2]);
        parts[1][i % 2] += x[v][i];
      }
    }
#pragma unroll
    for (int s = 0; s < 2; ++s) sums[s] = parts[s][0] + parts[s][1];
    sum_row<0, kWarps>(sums, memory[turn % 2]);
    float mean = kCentered ? sums[1] * p.per_width : 0.0F;
    float variance = sums[0] * p.per_width - mean * mean;
    float factor = rsqrtf(variance + p.eps), offset = -mean * factor;
    const bool fits = is_finite(sums[0]);
    if (!(fits && variance >= mean * mean * 0.015625F)) {  // see norm_kernel
      const float down = fits ? 1.0F : kDown;
      const auto sum_over_row = [&](float* room, const auto& term) {
        float sum[1] = {0.0F};
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (!inside(v)) continue;
#pragma unroll
          for (int i = 0; i < kCount; ++i) sum[0] = term(x[v][i], sum[0]);
        }
        sum_row<0, kWarps>(sum, room);
        return sum[0] * p.per_width;
      };
      if (!fits && kCentered) {
        mean = sum_over_row(memory[3], [&](float x, float sum) { return fmaf(x, down, sum); });
      }
      variance = sum_over_row(memory[2], [&](float x, float sum) {
        const float deviation = fmaf(x, down, -mean);
        return fmaf(deviation, deviation, sum);
      });
      factor = rsqrtf(variance + (fits ? p.eps : eps_down(p.eps)));
      offset = -mean * factor;
      factor *= down;
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float m[kCount], a[kCount];
      modulator(1, v, m);
      modulator(2, v, a);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x[v][i] = fmaf(fmaf(x[v][i], factor, offset), m[i] + one, a[i]);
      }
      if (here && inside(v)) store_raw(output + v * threads * 16, pack<T, 16>(x[v]));
    }
    output += step * p.output_row;
  }
}

using NormBlockKernel = void (*)(NormBlockParameters);

constexpr int kBlockVectors = 3;      // of a row in a thread
constexpr int kWideBlockVectors = 2;  // with modulators of float32
constexpr int kSharedThreads = 384;   // of a block, at most, whose modulators lie in shared memory

struct NormBlockChoice {
  bool centered;
  bool wide;    // modulators of float32
  bool shared;  // which lie in shared memory
  int threads;  // of a block
};

template <typename T>
NormBlockKernel norm_block_kernel_for(const NormBlockChoice& choice);

#define MINDIESD_NORM_BLOCK_INSTANCES(T)                                                      \
  template <>                                                                                 \
  NormBlockKernel norm_block_kernel_for<T>(const NormBlockChoice& choice) {                   \
    constexpr int kWide = kWideBlockVectors;                                                  \
    if (!choice.centered) {                                                                   \
      return choice.wide ? norm_block_kernel<T, float, kWide, kSharedThreads, true, false>    \
                         : norm_block_kernel<T, T, kBlockVectors, 256, false, false>;         \
    }                                                                                         \
    return !choice.wide            ? norm_block_kernel<T, T, kBlockVectors, 256, false>       \
           : choice.shared         ? norm_block_kernel<T, float, kWide, kSharedThreads, true> \
           : choice.threads <= 320 ? norm_block_kernel<T, float, kWide, 320, false>           \
                                   : norm_block_kernel<T, float, kWide, 512, false>;          \
  }

}  // namespace mindiesd::kernels::cuda
