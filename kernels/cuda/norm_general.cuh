// The kernel of the norm family for operands of any types, all of which may be there. Entry point:
// general_norm_kernel. Traffic per element as in norm.cuh.

#pragma once

#include "kernels/cuda/norm_parameters.cuh"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {

template <typename T>
__device__ __forceinline__ void round_vector(float* x, DataType type) {
  if (type == DataType::kFloat32) return;
#pragma unroll
  for (int i = 0; i < 16 / static_cast<int>(sizeof(T)); ++i) x[i] = round_to(x[i], type);
}

// Every operand may have a type of its own, and all of them may be there. One row for blockDim.x
// threads.
template <typename T, int kVectors, bool kBranches>
__global__ void __launch_bounds__(norm_threads(kVectors))
    general_norm_kernel(const __grid_constant__ NormParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  // Weights are in registers before the reduction where there is room: with few rows the wait for
  // them would come on top of everything.
  constexpr bool kEarlyWeight = kVectors <= 2;
  __shared__ float memory[6][32];

  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
  const bool row_inside = row < p.rows;
  wait_for_previous_kernel();
  allow_next_kernel();

  Raw<16> raw[kVectors];
  // The branch, and then what is normalised where it is computed, in float32.
  float sums[kBranches ? kVectors : 1][kCount];
  {
    const T* input = static_cast<const T*>(p.input) + p.map.offset(row, kInput);
    const std::int64_t other = kBranches ? p.map.offset(row, kBranch) : 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = v * threads + thread;
      const bool inside = row_inside && vector < p.vectors;
      raw[v] = {};
      if (inside) raw[v] = load_operand<16>(input + vector * kCount);
      if constexpr (kBranches) {
#pragma unroll
        for (float& value : sums[v]) value = 0.0F;
        if (inside) {
          load_vector<T, false, true>(p.branch, p.branch_type, other + vector * kCount, sums[v]);
        }
      }
    }
  }
  float weight[kEarlyWeight ? kVectors * kCount : 1];
  if constexpr (kEarlyWeight) {
    if (p.weight != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        const int vector = v * threads + thread;
        if (vector < p.vectors) {
          load_vector<T, false>(p.weight, p.weight_type, vector * kCount, weight + v * kCount);
        }
      }
    }
  }

  // What is normalised.
  const auto values = [&](int v, float* x) {
    if constexpr (kBranches) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = sums[v][i];
    } else {
      unpack<T>(raw[v], x);
    }
  };

  if constexpr (kBranches) {
    const std::int64_t gate_row = p.gate.data != nullptr ? p.map.offset(row, kGate) : 0;
    const std::int64_t sum_row = p.sum != nullptr ? p.map.offset(row, kSum) : 0;
    const auto of_branch = [&](int v, float* y) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) y[i] = sums[v][i];
    };
    const float own =
        p.branch_norm ? branch_factor<T, kVectors, true>(p, of_branch, memory[4]) : 1.0F;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int vector = v * threads + thread;
      float y[kCount];
      of_branch(v, y);
      unpack<T>(raw[v], sums[v]);
      if (row_inside && vector < p.vectors) {
        if (p.branch_norm) {
          float w[kCount];
#pragma unroll
          for (float& value : w) value = 1.0F;
          if (p.branch_weight != nullptr) {
            load_vector<T, false>(p.branch_weight, p.branch_weight_type, vector * kCount, w);
          }
#pragma unroll
          for (int i = 0; i < kCount; ++i) y[i] *= own * w[i];
        }
        if (p.gate.data != nullptr) {
          float gate[kCount];
          load_modulation<T, false>(p.gate, gate_row, vector * kCount, gate);
          if (p.gate_tanh) {
#pragma unroll
            for (float& value : gate) value = tanh_of < sizeof(T) == 4 > (value);
          }
#pragma unroll
          for (int i = 0; i < kCount; ++i) sums[v][i] = fmaf(gate[i], y[i], sums[v][i]);
        } else {
#pragma unroll
          for (int i = 0; i < kCount; ++i) sums[v][i] += y[i];
        }
        if (p.sum != nullptr) {
          store_vector<T, false>(p.sum, p.sum_type, sum_row + vector * kCount, sums[v]);
        }
      }
    }
    if (p.output == nullptr) return;
  }
  float total[1], eps = p.eps, mean = 0.0F;
  const auto statistics = [&](float(*room)[32]) {  // see norm_kernel
    total[0] = 0.0F;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      float x[kCount];
      values(v, x);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        total[0] = p.centered ? total[0] + x[i] : fmaf(x[i], x[i], total[0]);
      }
    }
    reduce_row<Sum>(total, room[0]);
    if (p.centered) {
      mean = total[0] * p.per_width;
      total[0] = 0.0F;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (v * threads + thread < p.vectors) {
          float x[kCount];
          values(v, x);
#pragma unroll
          for (int i = 0; i < kCount; ++i) {
            const float deviation = x[i] - mean;
            total[0] = fmaf(deviation, deviation, total[0]);
          }
        }
      }
      reduce_row<Sum>(total, room[1]);
    }
    return is_finite(total[0]);
  };
  const bool fits = statistics(memory);
  if ((kBranches || kOverflows<T>) && !(threads < 32 ? __all_sync(0xffffffffU, fits) : fits)) {
    if (!fits) {
      eps = eps_down(eps);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kBranches) {
#pragma unroll
          for (int i = 0; i < kCount; ++i) sums[v][i] *= kDown;
        } else {
          bring_raw_down<T>(raw[v]);
        }
      }
    }
    statistics(memory + 2);
  }
  if (!row_inside) return;

  const float variance = total[0] * p.per_width + eps;
  const float factor = sizeof(T) == 4 ? 1.0F / sqrtf(variance) : rsqrtf(variance);
  const std::int64_t output_row = p.map.offset(row, kOutput);
  const std::int64_t scale_row = p.scale.data != nullptr ? p.map.offset(row, kScale) : 0;
  const std::int64_t shift_row = p.shift.data != nullptr ? p.map.offset(row, kShift) : 0;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int vector = v * threads + thread;
    if (vector >= p.vectors) break;
    const int column = vector * kCount;
    float x[kCount], other[kCount];
    values(v, x);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = (x[i] - mean) * factor;
    round_vector<T>(x, p.normalized);
    if (p.weight != nullptr) {
      if constexpr (kEarlyWeight) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i] *= weight[v * kCount + i];
      } else {
        load_vector<T, false>(p.weight, p.weight_type, column, other);
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[i] *= other[i];
      }
    }
    if (p.bias != nullptr) {
      load_vector<T, false>(p.bias, p.bias_type, column, other);
      round_vector<T>(x, p.product);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] += other[i];
    }
    if (p.scale.data != nullptr) {
      load_modulation<T, false>(p.scale, scale_row, column, other);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] = fmaf(x[i], other[i], x[i]);
    }
    if (p.shift.data != nullptr) {
      load_modulation<T, false>(p.shift, shift_row, column, other);
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[i] += other[i];
    }
    store_vector<T, false>(p.output, p.output_type, output_row + column, x);
  }
}

}  // namespace mindiesd::kernels::cuda
