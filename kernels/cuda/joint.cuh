// Query, key and value of two streams into the joint tensors of attention, in one launch: each
// stretch is copied, after a norm over each of its rows and a rotation where it has them. The
// choice of an instance: joint.cu.
//
// As in rotary.cuh a thread works on one unit of several rows that share their table row (the heads
// of a token). A block belongs to one stretch, so what differs between stretches is decided by
// branches that all threads take alike. Traffic per element: input once, output once.

#pragma once

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

struct JointItem {
  RowMap<kRotaryOperands> map;  // of the outer rows
  const void* input;
  void* output;
  const void* cos;
  const void* sin;
  const void* weight;
  const void* bias;
  LooseTables loose;
  Table table;
  DataType table_type, weight_type, bias_type;
  std::uint32_t first_block, outer, shared;
  std::int64_t input_stride, output_stride;  // between shared rows
  Divisor groups;                            // of kRows shared rows
  float eps;
  bool norm, centered, rotates;
};

struct JointParameters {
  JointItem items[kMaxStretches];
  int count;
  std::uint32_t units;  // of a row: at most blockDim.x, a power of two up to 32
  DataType output_type;
  float per_width;
};

constexpr int kJointThreads = 256;

template <typename T, int kBytes, bool kNeighbours, bool kApart>
__global__ void __launch_bounds__(kJointThreads, sizeof(T) == 2 ? 3 : 2)
    joint_kernel(const __grid_constant__ JointParameters p) {
  using U = Unit<T, kBytes, kNeighbours>;
  constexpr int kRows = shared_rows(kNeighbours, kBytes);
  int which = p.count - 1;
  while (which > 0 && blockIdx.x < p.items[which].first_block) --which;
  const JointItem& item = p.items[which];
  const std::uint32_t task = (blockIdx.x - item.first_block) * blockDim.y + threadIdx.y;
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::uint32_t outer = item.groups.quotient(task);
  const std::uint32_t group = task - outer * item.groups.value;
  const bool active = outer < item.outer && threadIdx.x < p.units;
  const int unit = static_cast<int>(threadIdx.x);
  const int half = static_cast<int>(p.units) * U::kPairs;

  U units[kRows];
  const std::int64_t first = item.map.offset(outer, kRotaryInput);
  const T* input = static_cast<const T*>(item.input) + first;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint32_t row = group + r * item.groups.value;
    units[r].clear();
    if (active && row < item.shared) units[r].load(input + row * item.input_stride, unit, half);
  }
  Coefficients<U::kPairs, kApart> table;
  if (item.rotates && active) {
    const std::int64_t cos_row = item.map.offset(outer, kRotaryCos);
    const std::int64_t sin_row = item.map.offset(outer, kRotarySin);
    if (item.loose.loose) {
      load_coefficients(item.cos, item.sin, item.loose, cos_row, sin_row, unit * U::kPairs, table);
    } else {
      load_coefficients<T, U::kPairs, kApart, kNeighbours>(item.cos, item.sin, item.table,
                                                           item.table_type, cos_row, sin_row,
                                                           unit * U::kPairs, half, table);
    }
  }

  float factor[kRows], offset[kRows];
  if (item.norm) {
    const auto sum_over_row = [&](float(&values)[kRows]) {
      for (int lanes = static_cast<int>(blockDim.x) / 2; lanes > 0; lanes /= 2) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          values[r] += __shfl_xor_sync(0xffffffffU, values[r], lanes);
        }
      }
    };
    // Whether all rows of the warp fit float32; their means and variances.
    float mean[kRows];
    const auto statistics = [&] {
#pragma unroll
      for (int r = 0; r < kRows; ++r) mean[r] = 0.0F;
      if (item.centered) {
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          float x[U::kValues];
          units[r].values(x);
#pragma unroll
          for (int i = 0; i < U::kValues; ++i) mean[r] += x[i];
        }
        sum_over_row(mean);
#pragma unroll
        for (int r = 0; r < kRows; ++r) mean[r] *= p.per_width;
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        float x[U::kValues], sum = 0.0F;
        units[r].values(x);
#pragma unroll
        for (int i = 0; i < U::kValues; ++i) sum = fmaf(x[i] - mean[r], x[i] - mean[r], sum);
        factor[r] = active ? sum : 0.0F;
      }
      sum_over_row(factor);
      bool fit = true;
#pragma unroll
      for (int r = 0; r < kRows; ++r) fit = fit && is_finite(factor[r]);
      return __all_sync(0xffffffffU, fit) != 0;
    };
    unsigned down = 0;
    if (!statistics() && kOverflows<T>) {  // see norm_kernel
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (is_finite(factor[r])) continue;
        down |= 1U << r;
        units[r].bring_down();
      }
      statistics();
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const float eps = (down >> r & 1U) != 0 ? eps_down(item.eps) : item.eps;
      factor[r] = inverse_root<T>(factor[r] * p.per_width + eps);
      offset[r] = -mean[r] * factor[r];
    }
  }
  if (!active) return;

  float weight[U::kValues], bias[U::kValues];
  if (item.norm) {
#pragma unroll
    for (int i = 0; i < U::kValues; ++i) {
      weight[i] = 1.0F;
      bias[i] = 0.0F;
    }
    if (item.weight != nullptr) {
      U::load_weight(item.weight, item.weight_type, 0, unit, half, weight);
    }
    if (item.bias != nullptr) U::load_weight(item.bias, item.bias_type, 0, unit, half, bias);
  }
  const std::int64_t output = item.map.offset(outer, kRotaryOutput, first);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::uint32_t row = group + r * item.groups.value;
    if (row >= item.shared) break;
    float x[U::kValues];
    units[r].values(x);
    if (item.norm) {
#pragma unroll
      for (int i = 0; i < U::kValues; ++i) {
        x[i] = fmaf(fmaf(x[i], factor[r], offset[r]), weight[i], bias[i]);
      }
    }
    if (item.rotates) {
#pragma unroll
      for (int j = 0; j < U::kPairs; ++j) table.rotate(j, x[U::a(j)], x[U::b(j)]);
    }
    U::store(item.output, p.output_type, output + row * item.output_stride, unit, half, x);
  }
}

}  // namespace mindiesd::kernels::cuda
