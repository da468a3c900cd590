// The vectorised rotation, alone or after an RMSNorm over each row. Instances: rotary_*.cu through
// rotary_kernel_for; the choice among them and the plain kernel: rotary.cu.
//
// A thread works on a unit: one vector of neighbours, or two vectors half a row apart. Where rows
// share their table row (the heads of a token), a thread takes kRows of them with the table's
// values in registers, so that the tables cost a fraction of the caches' bandwidth. Its rows lie as
// far apart as there are groups of them, so that neighbouring threads read neighbouring rows.
//
// Traffic per element: input once, output once, tables once for all rows that share them.

#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/row_reduce.cuh"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

enum RotaryOperand { kRotaryInput, kRotaryOutput, kRotaryCos, kRotarySin, kRotaryOperands };

// How the coefficients of pair j lie in memory.
enum class Table {
  kFull,     // cos and sin have a value for each element
  kHalf,     // and for each pair
  kComplex,  // cos and sin of a pair side by side
  kMatrix,   // m00, m01, m10, m11
};

// Tables that no vector reads: of any step, type and alignment. Coefficient j of a row lies
// `pair[t]` elements behind that of pair j - 1, and where both elements of a pair have their own,
// that of the second `next[t]` behind the first's. Tables are small against what they turn and a
// thread reads them once for all of its rows, so that one element at a time costs nothing from two
// rows on.
struct LooseTables {
  bool loose = false;
  bool negative = false;   // the first element's sine, as matrices have it
  DataType types[2] = {};  // of cosines and sines
  std::int64_t pair[2] = {}, next[2] = {};
};

// One operand: query or key. Rows are `outer` ones, each with a table row of its own, times
// `shared` ones that use the same.
struct RotaryItem {
  RowMap<kRotaryOperands> map;  // of the outer rows
  const void* input;
  void* output;
  const void* cos;  // or the matrix, or the complex table
  const void* sin;
  const void* weight;
  DataType weight_type;
  std::uint32_t outer;
  std::uint32_t shared;
  std::int64_t input_stride, output_stride;  // between shared rows
  Divisor groups;                            // of kRows shared rows
};

struct RotaryParameters {
  RotaryItem items[2];
  Divisor units;  // of a row
  Table table;
  DataType table_type;
  DataType output_type;
  float eps, per_width;
  // After a norm: a row has as many threads as units, else the next power of two.
  bool dense;
  // Where a block has rows of both items, which read the same tables, how many of each; else 0.
  std::uint32_t own_rows[2];
  std::uint32_t warp_rows;  // rotary_packed_kernel: of a warp at once
  // After a norm. Samples that share their tables make two dimensions of the outer rows: the input,
  // whose rows lie evenly apart, needs one, and both tables one place. Behind all else: kernels
  // without a norm were 1 to 2 % slower where these stood between what they read.
  RowMap<1> input_maps[2];
  bool tables_alike[2];
  LooseTables loose;
};

// Whether each element of a pair has coefficients of its own: what the kernels are compiled for.
// How they lie in memory is decided at run time, once a thread.
constexpr bool apart(Table table) { return table == Table::kFull || table == Table::kMatrix; }

// The coefficients of kPairs pairs: a' = ca a - sa b, b' = cb b + sb a.
template <int kPairs, bool kApart>
struct Coefficients {
  float ca[kPairs], sa[kPairs];
  float cb[kApart ? kPairs : 1], sb[kApart ? kPairs : 1];

  __device__ __forceinline__ void rotate(int j, float& a, float& b) const {
    const float c = kApart ? cb[kApart ? j : 0] : ca[j];
    const float s = kApart ? sb[kApart ? j : 0] : sa[j];
    const float turned = ca[j] * a - sa[j] * b;
    b = c * b + s * a;
    a = turned;
  }
};

// Coefficients of kPairs pairs from pair `first` on, of each pair's elements one or both.
template <int kPairs, bool kBoth>
__device__ __forceinline__ void load_loose(const void* base, DataType type, std::int64_t row,
                                           std::int64_t step, std::int64_t next, int first,
                                           float* a, float* b) {
  const auto load = [&](auto* from) {
    from += row + first * step;
#pragma unroll
    for (int j = 0; j < kPairs; ++j, from += step) {
      a[j] = static_cast<float>(*from);
      if constexpr (kBoth) b[j] = static_cast<float>(from[next]);
    }
  };
  switch (type) {
    case DataType::kFloat32:
      return load(static_cast<const float*>(base));
    case DataType::kFloat64:
      return load(static_cast<const double*>(base));
    case DataType::kFloat16:
      return load(static_cast<const __half*>(base));
    default:
      return load(static_cast<const __nv_bfloat16*>(base));
  }
}

template <int kPairs, bool kApart>
__device__ __forceinline__ void load_coefficients(const void* cos, const void* sin,
                                                  const LooseTables& loose, std::int64_t cos_row,
                                                  std::int64_t sin_row, int pair,
                                                  Coefficients<kPairs, kApart>& result) {
  load_loose<kPairs, kApart>(cos, loose.types[0], cos_row, loose.pair[0], loose.next[0], pair,
                             result.ca, result.cb);
  load_loose<kPairs, kApart>(sin, loose.types[1], sin_row, loose.pair[1], loose.next[1], pair,
                             result.sa, result.sb);
  if constexpr (kApart) {
    if (!loose.negative) return;
#pragma unroll
    for (int j = 0; j < kPairs; ++j) result.sa[j] = -result.sa[j];
  }
}

// Of tables of float32 or T. `pair` is the first pair of the unit, `half` the number of pairs in a
// row.
template <typename T, int kPairs, bool kApart, bool kNeighbours>
__device__ __forceinline__ void load_coefficients(const void* cos, const void* sin, Table table,
                                                  DataType type, std::int64_t cos_row,
                                                  std::int64_t sin_row, int pair, int half,
                                                  Coefficients<kPairs, kApart>& result) {
  if constexpr (kApart && kNeighbours) {
    if (table == Table::kMatrix) {
      float all[4 * kPairs];
      load_mixed<T, 4 * kPairs>(cos, type, cos_row + 4 * pair, all);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        result.ca[j] = all[4 * j];
        result.sa[j] = -all[4 * j + 1];
        result.sb[j] = all[4 * j + 2];
        result.cb[j] = all[4 * j + 3];
      }
      return;
    }
    float both[2 * kPairs];
    load_mixed<T, 2 * kPairs>(cos, type, cos_row + 2 * pair, both);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      result.ca[j] = both[2 * j];
      result.cb[j] = both[2 * j + 1];
    }
    load_mixed<T, 2 * kPairs>(sin, type, sin_row + 2 * pair, both);
#pragma unroll
    for (int j = 0; j < kPairs; ++j) {
      result.sa[j] = both[2 * j];
      result.sb[j] = both[2 * j + 1];
    }
  } else if constexpr (kApart) {
    load_mixed<T, kPairs>(cos, type, cos_row + pair, result.ca);
    load_mixed<T, kPairs>(cos, type, cos_row + pair + half, result.cb);
    load_mixed<T, kPairs>(sin, type, sin_row + pair, result.sa);
    load_mixed<T, kPairs>(sin, type, sin_row + pair + half, result.sb);
  } else {
    if (kNeighbours && table == Table::kComplex) {
      float both[2 * kPairs];
      load_mixed<T, 2 * kPairs>(cos, type, cos_row + 2 * pair, both);
#pragma unroll
      for (int j = 0; j < kPairs; ++j) {
        result.ca[j] = both[2 * j];
        result.sa[j] = both[2 * j + 1];
      }
      return;
    }
    load_mixed<T, kPairs>(cos, type, cos_row + pair, result.ca);
    load_mixed<T, kPairs>(sin, type, sin_row + pair, result.sa);
  }
}

// A unit of a row of elements of type T, in vectors of kBytes.
template <typename T, int kBytes, bool kNeighbours>
struct Unit {
  static constexpr int kParts = kNeighbours ? 1 : 2;
  static constexpr int kCount = kBytes / static_cast<int>(sizeof(T));  // values of a vector
  static constexpr int kValues = kParts * kCount;
  static constexpr int kPairs = kValues / 2;

  Raw<kBytes> raw[kParts];

  // Of the two elements of pair j among the values.
  static __device__ constexpr int a(int j) { return kNeighbours ? 2 * j : j; }
  static __device__ constexpr int b(int j) { return kNeighbours ? 2 * j + 1 : j + kCount; }

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kParts; ++i) raw[i] = {};
  }
  // `half`: elements between the parts.
  __device__ __forceinline__ void load(const T* row, int unit, int half) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      raw[i] = load_operand<kBytes>(row + unit * kCount + i * half);
    }
  }
  __device__ __forceinline__ void values(float* x) const {
#pragma unroll
    for (int i = 0; i < kParts; ++i) unpack<T>(raw[i], x + i * kCount);
  }
  __device__ __forceinline__ float squares() const {
    float x[kValues];
    values(x);
    float total = 0.0F;
#pragma unroll
    for (int i = 0; i < kValues; ++i) total = fmaf(x[i], x[i], total);
    return total;
  }
  __device__ __forceinline__ void bring_down() {
#pragma unroll
    for (int i = 0; i < kParts; ++i) bring_raw_down<T>(raw[i]);
  }
  // Weights of type T.
  static __device__ __forceinline__ void load_own_weight(const T* weight, int unit, int half,
                                                         float* values) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      unpack<T>(load_shared_data<kBytes>(weight + unit * kCount + i * half), values + i * kCount);
    }
  }
  // Weights of float32 or T.
  static __device__ __forceinline__ void load_weight(const void* weight, DataType type,
                                                     std::int64_t row, int unit, int half,
                                                     float* values) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      load_mixed<T, kCount>(weight, type, row + unit * kCount + i * half, values + i * kCount);
    }
  }
  static __device__ __forceinline__ void store(void* output, DataType type, std::int64_t row,
                                               int unit, int half, const float* values) {
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      store_mixed<T, kCount>(output, type, row + unit * kCount + i * half, values + i * kCount);
    }
  }
};

template <typename T>
__device__ __forceinline__ float inverse_root(float x) {
  return sizeof(T) == 4 ? 1.0F / sqrtf(x) : rsqrtf(x);
}

// The most threads of a block.
constexpr int kRotaryThreads = 256;

// A thread's part of a sum for each of its rows.
template <int kRows>
struct alignas(4 * kRows) RowSums {
  float of[kRows];
};

// Sums over the blockDim.x threads that share threadIdx.y, for every one of them: in shared memory
// over any number up to 32, or over whole warps. One barrier, of the whole block: barriers of
// single rows would reserve all 16 of a block (row_barrier), and blocks are small. The result says
// whether all of the block's sums are finite. `memory`: of each thread.
template <int kRows>
__device__ __forceinline__ bool sum_over_threads(float (&values)[kRows], RowSums<kRows>* memory,
                                                 bool warps) {
  const unsigned parts = warps ? blockDim.x / 32 : blockDim.x;
  RowSums<kRows>* row = memory + threadIdx.y * parts;
  if (warps) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        values[r] += __shfl_xor_sync(0xffffffffU, values[r], offset);
      }
    }
  }
  RowSums<kRows> part;
  bool fit = true;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    part.of[r] = values[r];
    fit = fit && fabsf(values[r]) <= 0x1p122F;  // the 32nd part of the largest number
  }
  if (!warps || threadIdx.x % 32 == 0) row[warps ? threadIdx.x / 32 : threadIdx.x] = part;
  const bool all_fit = __syncthreads_and(fit) != 0;
#pragma unroll
  for (int r = 0; r < kRows; ++r) values[r] = 0.0F;
#pragma unroll 4
  for (unsigned i = 0; i < parts; ++i) {
    part = row[i];
#pragma unroll
    for (int r = 0; r < kRows; ++r) values[r] += part.of[r];
  }
  return all_fit;
}

// kBytes in a vector. With kNorm blockDim.x threads have a row, which is normalised before it
// turns; else threads and units are one sequence.
template <typename T, int kBytes, bool kNeighbours, bool kApart, int kRows, bool kNorm>
__global__ void __launch_bounds__(kRotaryThreads, kNorm && sizeof(T) == 2 ? 4 : 0)
    rotary_kernel(const __grid_constant__ RotaryParameters p) {
  using U = Unit<T, kBytes, kNeighbours>;
  __shared__ RowSums<kRows> memory[kNorm ? kRotaryThreads : 1];
  std::uint32_t place, task, which = blockIdx.y;
  if constexpr (kNorm) {
    place = threadIdx.x;
    task = blockIdx.x * blockDim.y + threadIdx.y;
    if (p.own_rows[0] != 0) {
      which = threadIdx.y < p.own_rows[0] ? 0 : 1;
      const std::uint32_t own = which == 0 ? p.own_rows[0] : p.own_rows[1];
      const std::uint32_t row = threadIdx.y - which * p.own_rows[0];
      task = row < own ? blockIdx.x * own + row : ~0U;  // beyond the last row of any item
    }
  }
  const RotaryItem& item = p.items[which];
  wait_for_previous_kernel();
  allow_next_kernel();

  if constexpr (!kNorm) {
    const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    task = p.units.quotient(index);
    place = index - task * p.units.value;
  }
  const std::uint32_t outer = item.groups.quotient(task);
  const std::uint32_t group = task - outer * item.groups.value;
  const bool active = outer < item.outer && place < p.units.value;
  if constexpr (!kNorm) {
    if (!active) return;
  }
  const int unit = static_cast<int>(place);
  const int half = static_cast<int>(p.units.value) * U::kPairs;

  U units[kRows];
  const std::int64_t first =
      kNorm ? p.input_maps[which].offset(outer, 0) : item.map.offset(outer, kRotaryInput);
  const T* input = static_cast<const T*>(item.input) + first;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint32_t row = group + r * item.groups.value;
    units[r].clear();
    if (active && row < item.shared) units[r].load(input + row * item.input_stride, unit, half);
  }
  Coefficients<U::kPairs, kApart> table;
  if (active) {
    const std::int64_t cos_row = item.map.offset(outer, kRotaryCos);
    const std::int64_t sin_row =
        kNorm && p.tables_alike[which] ? cos_row : item.map.offset(outer, kRotarySin);
    if (p.loose.loose) {
      load_coefficients(item.cos, item.sin, p.loose, cos_row, sin_row, unit * U::kPairs, table);
    } else {
      load_coefficients<T, U::kPairs, kApart, kNeighbours>(item.cos, item.sin, p.table,
                                                           p.table_type, cos_row, sin_row,
                                                           unit * U::kPairs, half, table);
    }
  }

  float factor[kRows];
  float weight[kNorm ? U::kValues : 1];
  if constexpr (kNorm) {
    if (item.weight != nullptr && active) {
      U::load_weight(item.weight, item.weight_type, 0, unit, half, weight);
    } else {
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) weight[i] = 1.0F;
    }
    // Whether the squares of all rows that have to go on together fit float32.
    const auto sum_squares = [&] {
#pragma unroll
      for (int r = 0; r < kRows; ++r) factor[r] = units[r].squares();
      if (p.dense || blockDim.x > 32) {
        return sum_over_threads(factor, memory, blockDim.x > 32);
      }
      for (int offset = static_cast<int>(blockDim.x) / 2; offset > 0; offset /= 2) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          factor[r] += __shfl_xor_sync(0xffffffffU, factor[r], offset);
        }
      }
      bool fit = true;
#pragma unroll
      for (int r = 0; r < kRows; ++r) fit = fit && is_finite(factor[r]);
      return __all_sync(0xffffffffU, fit) != 0;
    };
    const auto roots = [&](unsigned down) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const float eps = (down >> r & 1U) != 0 ? eps_down(p.eps) : p.eps;
        factor[r] = inverse_root<T>(factor[r] * p.per_width + eps);
      }
    };
    if (sum_squares() || !kOverflows<T>) {
      roots(0);
    } else {  // see norm_kernel
      unsigned down = 0;
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (is_finite(factor[r])) continue;
        down |= 1U << r;
        units[r].bring_down();
      }
      if (p.dense || blockDim.x > 32) __syncthreads();
      sum_squares();
      roots(down);
    }
  }

  const std::int64_t output = item.map.offset(outer, kRotaryOutput, first);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint32_t row = group + r * item.groups.value;
    if (!active || row >= item.shared) break;
    float x[U::kValues];
    units[r].values(x);
    if constexpr (kNorm) {
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) x[i] = x[i] * factor[r] * weight[i];
    }
#pragma unroll
    for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
    U::store(item.output, p.output_type, output + row * item.output_stride, unit, half, x);
  }
}

// The rows of a thread where rows share their tables: 64 bytes of the operand.
__host__ __device__ constexpr int shared_rows(bool neighbours, int bytes) {
  return (neighbours ? 64 : 32) / bytes;
}

using RotaryKernel = void (*)(RotaryParameters);

struct RotaryChoice {
  int bytes;  // of a vector: 16, or 8 for halves
  bool neighbours;
  bool apart;
  bool shared;  // tables; always so with norm and with vectors of 8 bytes
  bool norm;
};

// Null where there is no such instance.
template <typename T>
RotaryKernel rotary_kernel_for(const RotaryChoice& choice);

template <typename T, int kBytes, bool kNeighbours, bool kApart>
RotaryKernel rotary_kernel_of(const RotaryChoice& choice) {
  constexpr int kRows = shared_rows(kNeighbours, kBytes);
  // Two vectors and their weights in a thread take the registers of half its multiprocessor: halves
  // of half precision after a norm have vectors of 8 bytes.
  constexpr bool kHasNorm = kNeighbours || (kBytes == 8) == (sizeof(T) == 2);
  if (choice.norm) {
    if constexpr (kHasNorm) return rotary_kernel<T, kBytes, kNeighbours, kApart, kRows, true>;
    return nullptr;
  }
  if (choice.shared) return rotary_kernel<T, kBytes, kNeighbours, kApart, kRows, false>;
  if constexpr (kBytes == 16) return rotary_kernel<T, kBytes, kNeighbours, kApart, 1, false>;
  return nullptr;
}

template <typename T, int kBytes, bool kNeighbours>
RotaryKernel rotary_kernel_of(const RotaryChoice& choice) {
  return choice.apart ? rotary_kernel_of<T, kBytes, kNeighbours, true>(choice)
                      : rotary_kernel_of<T, kBytes, kNeighbours, false>(choice);
}

#define MINDIESD_ROTARY_INSTANCES(T_)                                               \
  template <>                                                                       \
  RotaryKernel rotary_kernel_for<T_>(const RotaryChoice& choice) {                  \
    if (choice.neighbours) {                                                        \
      return choice.bytes == 16 ? rotary_kernel_of<T_, 16, true>(choice) : nullptr; \
    }                                                                               \
    if (choice.bytes == 16) return rotary_kernel_of<T_, 16, false>(choice);         \
    if constexpr (sizeof(T_) == 2) return rotary_kernel_of<T_, 8, false>(choice);   \
    return nullptr;                                                                 \
  }

}  // namespace mindiesd::kernels::cuda
