// The rotation of halves of half precision where half a row is no multiple of 16 bytes (width 72).
// Instances: rotary_*.cu through rotary_packed_kernel_for; the choice: rotary.cu.
//
// A thread computes pairs, of which it has 8 bytes in either half. Written like that they would
// begin and end inside the sectors of the second-level cache, whose bandwidth bounds the rotation
// then (0.81 of a copy, against 0.92). So the lanes of a row exchange their results, and each
// writes one vector of 16 bytes, wherever the halves meet. A warp has as many whole rows as fit its
// lanes: three of width 72. (Reading whole vectors too costs more exchanges than it gains.)
//
// A thread takes kPackedRows rows that share their table row, as in rotary.cuh. Traffic per
// element: input once, output once, tables once for all rows that share them.

#pragma once

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

constexpr int kPackedRows = shared_rows(false, 8);

// From pieces of 8 bytes to vectors. A row of n vectors, n odd, has n pieces in either half; of the
// 2 n pieces vector v has number 2 v and 2 v + 1. Each of two rounds moves one piece from and to
// every lane: what even lanes have in one half goes with what odd lanes have in the other.
struct Exchange {
  int from[2];  // lanes
  bool even;

  __device__ __forceinline__ Exchange(std::uint32_t first_lane, std::uint32_t place,
                                      std::uint32_t n)
      : even(place % 2 == 0) {
    const std::uint32_t piece = 2 * place;
    from[0] = static_cast<int>(first_lane + (piece < n ? piece : piece - n));
    from[1] = static_cast<int>(first_lane + (piece + 1 < n ? piece + 1 : piece + 1 - n));
  }
  __device__ __forceinline__ Raw<16> vector(const Raw<8>& low, const Raw<8>& high) const {
    Raw<16> result;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t a = even ? low.words[i] : high.words[i];
      const std::uint32_t b = even ? high.words[i] : low.words[i];
      result.words[i] = __shfl_sync(0xffffffffU, a, from[0]);
      result.words[2 + i] = __shfl_sync(0xffffffffU, b, from[1]);
    }
    return result;
  }
};

// RotaryParameters::units is the number of vectors of a row: odd, at most 32. The output has type
// T.
template <typename T, bool kApart>
__global__ void __launch_bounds__(kRotaryThreads)
    rotary_packed_kernel(const __grid_constant__ RotaryParameters p) {
  using U = Unit<T, 8, false>;
  const RotaryItem& item = p.items[blockIdx.y];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t lane_row = p.units.quotient(lane);
  const std::uint32_t first_lane = lane_row * p.units.value;
  const std::uint32_t warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const std::uint32_t task = warp * p.warp_rows + lane_row;
  const std::uint32_t outer = item.groups.quotient(task);
  const std::uint32_t group = task - outer * item.groups.value;
  const bool active = lane_row < p.warp_rows && outer < item.outer;
  const int unit = static_cast<int>(lane - first_lane);
  const int half = static_cast<int>(p.units.value) * U::kPairs;
  wait_for_previous_kernel();
  allow_next_kernel();

  U units[kPackedRows];
  const std::int64_t first = item.map.offset(outer, kRotaryInput);
  const T* input = static_cast<const T*>(item.input) + first;
#pragma unroll
  for (int r = 0; r < kPackedRows; ++r) {
    const std::uint32_t row = group + r * item.groups.value;
    units[r].clear();
    if (active && row < item.shared) units[r].load(input + row * item.input_stride, unit, half);
  }
  Coefficients<U::kPairs, kApart> table;
  if (active) {
    const std::int64_t cos_row = item.map.offset(outer, kRotaryCos);
    const std::int64_t sin_row = item.map.offset(outer, kRotarySin);
    if (p.loose.loose) {
      load_coefficients(item.cos, item.sin, p.loose, cos_row, sin_row, unit * U::kPairs, table);
    } else {
      load_coefficients<T, U::kPairs, kApart, false>(item.cos, item.sin, p.table, p.table_type,
                                                     cos_row, sin_row, unit * U::kPairs, half,
                                                     table);
    }
  }

  const Exchange exchange(first_lane, lane - first_lane, p.units.value);
  T* output = static_cast<T*>(item.output) + item.map.offset(outer, kRotaryOutput, first);
#pragma unroll
  for (int r = 0; r < kPackedRows; ++r) {
    float x[U::kValues];
    units[r].values(x);
#pragma unroll
    for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
    const Raw<16> vector = exchange.vector(pack<T, 8>(x), pack<T, 8>(x + U::kPairs));
    const std::uint32_t row = group + r * item.groups.value;
    if (active && row < item.shared) {
      store_raw(output + row * item.output_stride + unit * 2 * U::kCount, vector);
    }
  }
}

// For __half and __nv_bfloat16.
template <typename T>
RotaryKernel rotary_packed_kernel_for(bool apart);

#define MINDIESD_ROTARY_PACKED_INSTANCES(T_)                                         \
  template <>                                                                        \
  RotaryKernel rotary_packed_kernel_for<T_>(bool apart) {                            \
    return apart ? rotary_packed_kernel<T_, true> : rotary_packed_kernel<T_, false>; \
  }

}  // namespace mindiesd::kernels::cuda
