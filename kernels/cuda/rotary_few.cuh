// The rotation of few rows, alone or each after its RMSNorm: launches of a few microseconds, most
// of which is waiting. Instances: rotary_*.cu through rotary_few_kernel_for; the choice:
// rotary_few.cu.
//
// A row has lanes of its own, each with one unit (rotary.cuh), so that rows spread over all
// multiprocessors. Where everything lies follows from parameters that fill few lines of the
// constant cache; then all loads are under way at once: what they bring is unpacked, by its type,
// only after the last of them and the row's sum.
// Traffic per element: input once, output once; tables once for each row, out of the caches.

#pragma once

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

// Strides are in elements: between samples, tokens and heads.
struct FewItem {
  const void* input;
  const void* cos;  // or the matrix, or the complex table
  const void* sin;  // or the second half of a unit's part of that
  const void* weight;
  void* output;
  std::uint32_t rows;
  Divisor heads, tokens;
  std::int32_t input_steps[3], output_steps[3], cos_steps[2], sin_steps[2];
  bool float_weight;  // else of the operands' type
};

struct FewParameters {
  FewItem items[2];
  std::uint32_t first_blocks;  // are of the first item
  std::uint32_t units;         // of a row
  std::uint32_t pair_step;     // table values from one pair to the next
  std::uint32_t next;          // and between the parts that a unit reads of a table
  Table table;
  DataType output_type;
  bool norm, float_tables;
  float eps, per_width;
};

// kCount values of type T or float32, as they lie in memory.
template <typename T, int kCount>
struct RawMixed {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(T));
  std::uint32_t words[kCount];

  template <int kAll>
  __device__ __forceinline__ void load_bytes(const char* from) {
    constexpr int kVector = kAll < 16 ? kAll : 16;
#pragma unroll
    for (int i = 0; i < kAll / kVector; ++i) {
      const Raw<kVector> raw = load_shared_data<kVector>(from + i * kVector);
#pragma unroll
      for (int w = 0; w < kVector / 4; ++w) words[i * (kVector / 4) + w] = raw.words[w];
    }
  }
  __device__ __forceinline__ void load(const char* from, bool floats) {
    if (sizeof(T) == 4 || floats) {
      load_bytes<4 * kCount>(from);
    } else {
      load_bytes<kBytes>(from);
    }
  }
  __device__ __forceinline__ void get(bool floats, float* values) const {
    if (sizeof(T) == 4 || floats) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) values[i] = __uint_as_float(words[i]);
    } else {
      Raw<kBytes> raw;
#pragma unroll
      for (int i = 0; i < kBytes / 4; ++i) raw.words[i] = words[i];
      unpack<T>(raw, values);
    }
  }
};

// kBytes in a vector. blockDim.x, a power of two up to 32, are the lanes of a row.
template <typename T, int kBytes, bool kNeighbours, bool kApart>
__global__ void __launch_bounds__(kRotaryThreads)
    rotary_few_kernel(const __grid_constant__ FewParameters p) {
  using U = Unit<T, kBytes, kNeighbours>;
  constexpr int kPairs = U::kPairs;
  constexpr int kTables = kApart ? 4 : 2;
  const bool second = blockIdx.x >= p.first_blocks;
  const FewItem& item = p.items[second ? 1 : 0];
  const std::uint32_t index =
      (blockIdx.x - (second ? p.first_blocks : 0)) * blockDim.y + threadIdx.y;
  const bool active = threadIdx.x < p.units && index < item.rows;
  const int unit = static_cast<int>(threadIdx.x);
  const int half = static_cast<int>(p.units) * kPairs;
  const std::uint32_t token = item.heads.quotient(index);
  const auto head = static_cast<std::int32_t>(index - token * item.heads.value);
  const auto sample = static_cast<std::int32_t>(item.tokens.quotient(token));
  const auto row = static_cast<std::int32_t>(token - sample * item.tokens.value);
  const auto at = [&](const std::int32_t* steps) {
    return std::int64_t{sample} * steps[0] + std::int64_t{row} * steps[1];
  };
  const T* input = static_cast<const T*>(item.input) + at(item.input_steps) +
                   std::int64_t{head} * item.input_steps[2];
  std::int64_t output = at(item.output_steps) + std::int64_t{head} * item.output_steps[2];
  const std::int64_t table_bytes = p.float_tables ? 4 : sizeof(T);
  const std::int64_t pair = unit * kPairs * static_cast<int>(p.pair_step);
  const char* cos = static_cast<const char*>(item.cos) + (at(item.cos_steps) + pair) * table_bytes;
  const char* sin = static_cast<const char*>(item.sin) + (at(item.sin_steps) + pair) * table_bytes;
  const std::int64_t next = p.next * table_bytes;
  const bool weighted = item.weight != nullptr;
  const bool float_weight = item.float_weight;
  const int weight_bytes = float_weight ? 4 : static_cast<int>(sizeof(T));
  const char* weight = static_cast<const char*>(item.weight) + unit * U::kCount * weight_bytes;
  void* to = item.output;
  // Computed here, not in each branch that uses them.
  asm volatile("" : "+l"(input), "+l"(output), "+l"(cos), "+l"(sin), "+l"(weight), "+l"(to));
  wait_for_previous_kernel();
  allow_next_kernel();

  U x;
  RawMixed<T, kPairs> tables[kTables];
  RawMixed<T, U::kCount> weights[U::kParts];
  x.clear();
  if (active) {
    x.load(input, unit, half);
    if (p.norm && weighted) {
#pragma unroll
      for (int i = 0; i < U::kParts; ++i) {
        weights[i].load(weight + i * half * weight_bytes, float_weight);
      }
    }
    tables[0].load(cos, p.float_tables);
    if constexpr (kApart) tables[1].load(cos + next, p.float_tables);
    tables[kTables / 2].load(sin, p.float_tables);
    if constexpr (kApart) tables[3].load(sin + next, p.float_tables);
  }

  float factor = 1.0F;
  if (p.norm) {
    const auto sum_squares = [&] {
      float sum = x.squares();
#pragma unroll
      for (unsigned offset = 16; offset > 0; offset /= 2) {
        if (offset < blockDim.x) sum += __shfl_xor_sync(0xffffffffU, sum, offset);
      }
      return sum;
    };
    float eps = p.eps;
    float sum = sum_squares();
    if (kOverflows<T> && !__all_sync(0xffffffffU, is_finite(sum))) {  // see norm_kernel
      if (!is_finite(sum)) {
        eps = eps_down(eps);
        x.bring_down();
      }
      sum = sum_squares();
    }
    factor = inverse_root<T>(sum * p.per_width + eps);
  }
  if (!active) return;

  float values[U::kValues];
  x.values(values);
#pragma unroll
  for (float& value : values) value *= factor;
  if (p.norm && weighted) {
    float of[U::kValues];
#pragma unroll
    for (int i = 0; i < U::kParts; ++i) weights[i].get(float_weight, of + i * U::kCount);
#pragma unroll
    for (int i = 0; i < U::kValues; ++i) values[i] *= of[i];
  }
  Coefficients<kPairs, kApart> table;
  float of[kTables * kPairs];
#pragma unroll
  for (int i = 0; i < kTables; ++i) tables[i].get(p.float_tables, of + i * kPairs);
#pragma unroll
  for (int j = 0; j < kPairs; ++j) {
    if constexpr (kApart && kNeighbours) {
      const bool matrix = p.table == Table::kMatrix;
      table.ca[j] = matrix ? of[4 * j] : of[2 * j];
      table.sa[j] = matrix ? -of[4 * j + 1] : of[2 * kPairs + 2 * j];
      table.sb[j] = matrix ? of[4 * j + 2] : of[2 * kPairs + 2 * j + 1];
      table.cb[j] = matrix ? of[4 * j + 3] : of[2 * j + 1];
    } else if constexpr (kApart) {
      table.ca[j] = of[j];
      table.cb[j] = of[kPairs + j];
      table.sa[j] = of[2 * kPairs + j];
      table.sb[j] = of[3 * kPairs + j];
    } else {
      const bool complex = kNeighbours && p.table == Table::kComplex;
      table.ca[j] = complex ? of[2 * j] : of[j];
      table.sa[j] = complex ? of[2 * j + 1] : of[kPairs + j];
    }
  }
#pragma unroll
  for (int j = 0; j < kPairs; ++j) table.rotate(j, values[U::a(j)], values[U::b(j)]);
  U::store(to, p.output_type, output, unit, half, values);
}

using RotaryFewKernel = void (*)(FewParameters);

// Halves of half precision have vectors of 8 bytes.
template <typename T>
RotaryFewKernel rotary_few_kernel_for(bool neighbours, bool apart);

#define MINDIESD_ROTARY_FEW_INSTANCES(T_)                                  \
  template <>                                                              \
  RotaryFewKernel rotary_few_kernel_for<T_>(bool neighbours, bool apart) { \
    constexpr int kBytes = sizeof(T_) == 2 ? 8 : 16;                       \
    if (neighbours) {                                                      \
      return apart ? rotary_few_kernel<T_, 16, true, true>                 \
                   : rotary_few_kernel<T_, 16, true, false>;               \
    }                                                                      \
    return apart ? rotary_few_kernel<T_, kBytes, false, true>              \
                 : rotary_few_kernel<T_, kBytes, false, false>;            \
  }

}  // namespace mindiesd::kernels::cuda
