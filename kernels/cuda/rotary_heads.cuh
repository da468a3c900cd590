// RMSNorm over all heads of a token together, then the rotation of each head, in one pass (Wan's
// query and key). Instances: rotary_heads_*.cu through rotary_heads_kernel_for; the choice:
// rotary.cu.
//
// The threads of a block share a token. The number of threads is a multiple of a head's units
// (rotary.cuh), so that a thread has the same columns of several heads, and the table's values for
// them in registers. Traffic per element: input once, output once.

#pragma once

#include "kernels/cuda/rotary.cuh"

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
  DataType table_type;
  DataType output_type;
  float eps;
};

template <typename T, bool kNeighbours, Table kTable, int kUnits>
__global__ void __launch_bounds__(512)
    rotary_heads_kernel(const __grid_constant__ HeadsParameters p) {
  using U = Unit<T, 16, kNeighbours>;
  __shared__ float memory[16];
  const HeadsItem& item = p.items[blockIdx.y];
  const std::uint32_t token = blockIdx.x * blockDim.y + threadIdx.y;
  wait_for_previous_kernel();
  allow_next_kernel();
  if (token >= item.tokens) return;  // with all threads of the token
  const std::uint32_t first_head = p.units.quotient(threadIdx.x);
  const int unit = static_cast<int>(threadIdx.x - first_head * p.units.value);
  const int half = static_cast<int>(p.units.value) * U::kPairs;

  U units[kUnits];
  const T* input = static_cast<const T*>(item.input) + item.map.offset(token, kRotaryInput);
#pragma unroll
  for (int v = 0; v < kUnits; ++v) {
    const std::uint32_t head = first_head + v * p.step_heads;
    units[v].clear();
    if (head < item.heads) units[v].load(input + head * item.input_stride, unit, half);
  }
  Coefficients<U::kPairs, kTable> table;
  load_coefficients<U::kPairs, kTable, kNeighbours>(
      item.cos, item.sin, p.table_type, item.map.offset(token, kRotaryCos),
      item.map.offset(token, kRotarySin), unit * U::kPairs, half, table);

  float factor[1] = {0.0F};
#pragma unroll
  for (int v = 0; v < kUnits; ++v) factor[0] += units[v].squares();
  reduce_row<Sum>(factor, memory);
  factor[0] = inverse_root<T>(factor[0] * item.per_width + p.eps);

  const auto finish = [&](const auto& weigh) {
    const std::int64_t output = item.map.offset(token, kRotaryOutput);
#pragma unroll
    for (int v = 0; v < kUnits; ++v) {
      const std::uint32_t head = first_head + v * p.step_heads;
      if (head >= item.heads) break;
      float x[U::kValues];
      units[v].values(x);
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) x[i] *= factor[0];
      weigh(std::int64_t{head} * 2 * half, x);
#pragma unroll
      for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
      U::store(item.output, p.output_type, output + head * item.output_stride, unit, half, x);
    }
  };
  if (item.weight == nullptr) {
    finish([](std::int64_t, float*) {});
  } else if (item.weight_type == kTypeOf<T>) {
    finish([&](std::int64_t at, float* x) {
      float weight[U::kValues];
      U::load_own_weight(static_cast<const T*>(item.weight) + at, unit, half, weight);
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) x[i] *= weight[i];
    });
  } else {
    finish([&](std::int64_t at, float* x) {
      float weight[U::kValues];
      U::load_weight(item.weight, item.weight_type, at, unit, half, weight);
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) x[i] *= weight[i];
    });
  }
}

using HeadsKernel = void (*)(HeadsParameters);

// `units` of a thread: 1, 2, 4, or, neighbours alone, 8.
template <typename T>
HeadsKernel rotary_heads_kernel_for(bool neighbours, Table table, int units);

template <typename T, bool kNeighbours, Table kTable>
HeadsKernel rotary_heads_kernel_of(int units) {
  if constexpr (kNeighbours) {
    if (units == 8) return rotary_heads_kernel<T, kNeighbours, kTable, 8>;
  }
  return units == 1   ? rotary_heads_kernel<T, kNeighbours, kTable, 1>
         : units == 2 ? rotary_heads_kernel<T, kNeighbours, kTable, 2>
                      : rotary_heads_kernel<T, kNeighbours, kTable, 4>;
}

#define MINDIESD_ROTARY_HEADS_INSTANCES(T_)                                                  \
  template <>                                                                                \
  HeadsKernel rotary_heads_kernel_for<T_>(bool neighbours, Table table, int units) {         \
    if (!neighbours) {                                                                       \
      return table == Table::kFull ? rotary_heads_kernel_of<T_, false, Table::kFull>(units)  \
                                   : rotary_heads_kernel_of<T_, false, Table::kHalf>(units); \
    }                                                                                        \
    switch (table) {                                                                         \
      case Table::kFull:                                                                     \
        return rotary_heads_kernel_of<T_, true, Table::kFull>(units);                        \
      case Table::kHalf:                                                                     \
        return rotary_heads_kernel_of<T_, true, Table::kHalf>(units);                        \
      case Table::kComplex:                                                                  \
        return rotary_heads_kernel_of<T_, true, Table::kComplex>(units);                     \
      default:                                                                               \
        return rotary_heads_kernel_of<T_, true, Table::kMatrix>(units);                      \
    }                                                                                        \
  }

}  // namespace mindiesd::kernels::cuda
