// RMSNorm over all heads of a token together, then the rotation of each head, in one pass (Wan's
// query and key). Instances: rotary_*.cu through rotary_heads_kernel_for; the choice:
// rotary.cu.
//
// The threads of a block share a token. The number of threads is a multiple of a head's units
// (rotary.cuh), so that a thread has the same columns of several heads, and the table's values for
// them in registers. Traffic per element: input once, output once.

#pragma once

#include "kernels/cuda/rotary.cuh"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {

struct HeadsItem {
  RowMap<kRotaryOperands> map;  // of the tokens
  const void* input;
  void* output;
  const void* cos;
  const void* sin;
  const void* weight;  // heads * width values
  DataType weight_type;
  std::uint32_t tokens;
  std::uint32_t heads;
  std::int64_t input_stride, output_stride;  // between heads
  float per_width;                           // 1 / (heads * width)
};

struct HeadsParameters {
  HeadsItem items[2];
  Divisor units;             // of a head
  std::uint32_t step_heads;  // that the threads take at once
  Table table;
  DataType table_type;
  DataType output_type;
  float eps;
  LooseTables loose;
};

template <typename T, bool kNeighbours, bool kApart, int kUnits>
__global__ void __launch_bounds__(512, kNeighbours ? 2 : 1)
    rotary_heads_kernel(const __grid_constant__ HeadsParameters p) {
  using U = Unit<T, 16, kNeighbours>;
  __shared__ float memory[2][16];
  const HeadsItem& item = p.items[blockIdx.y];
  const std::uint32_t token = blockIdx.x * blockDim.y + threadIdx.y;
  wait_for_previous_kernel();
  allow_next_kernel();
  if (token >= item.tokens) return;  // with all threads of the token
  const std::uint32_t first_head = p.units.quotient(threadIdx.x);
  const int unit = static_cast<int>(threadIdx.x - first_head * p.units.value);
  const int half = static_cast<int>(p.units.value) * U::kPairs;

  U units[kUnits];
  const std::int64_t first = item.map.offset(token, kRotaryInput);
  const T* input = static_cast<const T*>(item.input) + first;
#pragma unroll
  for (int v = 0; v < kUnits; ++v) {
    const std::uint32_t head = first_head + v * p.step_heads;
    units[v].clear();
    if (head < item.heads) units[v].load(input + head * item.input_stride, unit, half);
  }
  Coefficients<U::kPairs, kApart> table;
  const std::int64_t cos_row = item.map.offset(token, kRotaryCos);
  const std::int64_t sin_row = item.map.offset(token, kRotarySin);
  if (p.loose.loose) {
    load_coefficients(item.cos, item.sin, p.loose, cos_row, sin_row, unit * U::kPairs, table);
  } else {
    load_coefficients<T, U::kPairs, kApart, kNeighbours>(
        item.cos, item.sin, p.table, p.table_type, cos_row, sin_row, unit * U::kPairs, half, table);
  }

  float factor[1], eps = p.eps;
  const auto sum_squares = [&](float* room) {
    factor[0] = 0.0F;
#pragma unroll
    for (int v = 0; v < kUnits; ++v) factor[0] += units[v].squares();
    reduce_row<Sum>(factor, room);
  };
  sum_squares(memory[0]);
  if (kOverflows<T> && !is_finite(factor[0])) {  // see norm_kernel
    eps = eps_down(eps);
#pragma unroll
    for (int v = 0; v < kUnits; ++v) units[v].bring_down();
    sum_squares(memory[1]);
  }
  factor[0] = inverse_root<T>(factor[0] * item.per_width + eps);

  const std::int64_t output = item.map.offset(token, kRotaryOutput, first);
  // The choice of how weights are read stands around the loop, not in it: see norm.cuh.
  const auto finish = [&](const auto& load_weight) {
#pragma unroll
    for (int v = 0; v < kUnits; ++v) {
      const std::uint32_t head = first_head + v * p.step_heads;
      if (head >= item.heads) break;
      float x[U::kValues], weight[U::kValues];
      units[v].values(x);
      load_weight(std::int64_t{head} * 2 * half, weight);
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) x[i] = x[i] * factor[0] * weight[i];
#pragma unroll
      for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
      U::store(item.output, p.output_type, output + head * item.output_stride, unit, half, x);
    }
  };
  if (item.weight != nullptr && item.weight_type == kTypeOf<T>) {
    finish([&](std::int64_t at, float* weight) {
      U::load_own_weight(static_cast<const T*>(item.weight) + at, unit, half, weight);
    });
  } else {
    finish([&](std::int64_t at, float* weight) {
      if (item.weight != nullptr) {
        U::load_weight(item.weight, item.weight_type, at, unit, half, weight);
      } else {
#pragma unroll
        for (int i = 0; i < U::kValues; ++i) weight[i] = 1.0F;
      }
    });
  }
}

using HeadsKernel = void (*)(HeadsParameters);

// `units` of a thread: 2 or 4.
template <typename T>
HeadsKernel rotary_heads_kernel_for(bool neighbours, Table table, int units);

template <typename T, bool kNeighbours>
HeadsKernel rotary_heads_kernel_of(Table table, int units) {
  if (apart(table)) {
    return units == 2 ? rotary_heads_kernel<T, kNeighbours, true, 2>
                      : rotary_heads_kernel<T, kNeighbours, true, 4>;
  }
  return units == 2 ? rotary_heads_kernel<T, kNeighbours, false, 2>
                    : rotary_heads_kernel<T, kNeighbours, false, 4>;
}

#define MINDIESD_ROTARY_HEADS_INSTANCES(T_)                                          \
  template <>                                                                        \
  HeadsKernel rotary_heads_kernel_for<T_>(bool neighbours, Table table, int units) { \
    return neighbours ? rotary_heads_kernel_of<T_, true>(table, units)               \
                      : rotary_heads_kernel_of<T_, false>(table, units);             \
  }

}  // namespace mindiesd::kernels::cuda
