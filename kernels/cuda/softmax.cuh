// The vectorised softmax: a row in registers as float32, one read and one write of it. Instances:
// softmax_*.cu through softmax_kernel_for, the choice among them: softmax.cu.
//
// The exponential is one ex2 for half precisions, whose results keep 11 bits, and expf for float32.
// Guards are uniform branches: a launch executes only those that it has.

#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/row_reduce.cuh"
#include "kernels/problem.h"

namespace mindiesd::kernels::cuda {

enum SoftmaxOperand { kSoftmaxInput, kSoftmaxOutput, kSoftmaxBias, kSoftmaxMask, kSoftmaxOperands };

// What happens to a score before the softmax.
struct Guards {
  float scale;
  float mask_value;
  float clamp_min, clamp_max;  // -inf and +inf where there is no bound
  bool clamps;
  bool subtract_row;
  const float* global_maximum;  // null: not subtracted
};

struct SoftmaxParameters {
  RowMap<kSoftmaxOperands> map;
  const void* input;
  void* output;
  DataType output_type;
  Modulation bias, mask;
  Guards guards;
  std::uint32_t rows;
  std::uint32_t
      turns;  // kKept: rows that a thread takes one after the other, which share a mask row
  int vectors;
};

// The upper bound wins where the bounds cross, as torch.clamp has it.
__device__ __forceinline__ float clamped(float x, float low, float high) {
  return min_nan(max_nan(x, low), high);
}

// Applies mask values of a vector whose type and step are anything.
template <typename T>
__device__ __forceinline__ void apply_any_mask(const Modulation& mask, std::int64_t row, int column,
                                               float mask_value, float* x) {
  constexpr int kCount = 16 / sizeof(T);
  if (mask.type != DataType::kBool) {
    float added[kCount];
    load_modulation<T, false>(mask, row, column, added);
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] += added[i];
    return;
  }
  const auto* bytes = static_cast<const std::uint8_t*>(mask.data) + row;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (bytes[mask.step * (column + i)] == 0) x[i] = mask_value;
  }
}

// A bit for each of the four bytes that is not zero.
__device__ __forceinline__ std::uint32_t nonzero_bytes(std::uint32_t word) {
  const std::uint32_t high = (((word & 0x7f7f7f7fU) + 0x7f7f7f7fU) | word) & 0x80808080U;
  return ((high >> 7) * 0x01020408U) >> 24;
}

constexpr int softmax_threads(int vectors) { return vectors >= 4 ? 512 : 1024; }

// What a kernel is compiled for: no guards; guards whose operands have type T and a step of 1; the
// same with a boolean mask; any guards.
enum class GuardForm { kNone, kSame, kKept, kAny };

// kVectors vectors of a row are in each thread; blockDim.x threads share a row, blockDim.y rows a
// block. Guards are uniform branches around whole loops; see norm.cuh for why.
template <typename T, int kVectors, GuardForm kForm>
__global__ void __launch_bounds__(softmax_threads(kVectors), kVectors == 4 ? 2 : 1)
    softmax_kernel(const __grid_constant__ SoftmaxParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  constexpr float kInfinity = __builtin_huge_valf();
  constexpr bool kSame = kForm != GuardForm::kAny;
  __shared__ float memory[3][32];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  // Rows that share a row of a boolean mask are as many turns of one thread, which reads it once.
  const std::uint32_t turns = kForm == GuardForm::kKept ? p.turns : 1;
  std::uint32_t row = blockIdx.x * blockDim.y * turns + threadIdx.y;
  const auto column = [&](int v) {
    return static_cast<std::uint32_t>(v * threads + thread) * kCount;
  };
  wait_for_previous_kernel();
  allow_next_kernel();

  std::uint32_t kept[(kVectors * kCount + 31) / 32] = {};  // a bit for each of the thread's scores
#pragma unroll 1
  for (std::uint32_t turn = 0; turn < turns; ++turn, row += blockDim.y) {
    const bool row_inside = row < p.rows;
    const auto inside = [&](int v) { return row_inside && v * threads + thread < p.vectors; };
    Raw<16> raw[kVectors];
    const std::int64_t first = p.map.offset(row, kSoftmaxInput);
    const char* input =
        static_cast<const char*>(p.input) + first * static_cast<std::int64_t>(sizeof(T));
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      raw[v] = {};
      if (inside(v)) {
        raw[v] = load_operand<16>(input + static_cast<std::uint32_t>(v * threads + thread) * 16U);
      }
    }
    // The mask is on its way with the scores.
    Raw<16> mask[kForm == GuardForm::kSame ? kVectors : 1] = {};
    if (kForm == GuardForm::kSame && p.mask.data != nullptr) {
      const T* from = static_cast<const T*>(p.mask.data) + p.map.offset(row, kSoftmaxMask);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (inside(v)) mask[v] = load_shared_data<16>(from + column(v));
      }
    }
    if (kForm == GuardForm::kKept && turn == 0) {
      const auto* from =
          static_cast<const std::uint8_t*>(p.mask.data) + p.map.offset(row, kSoftmaxMask);
      Raw<kCount> bytes[kVectors];
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        bytes[v] = {};
        if (inside(v)) bytes[v] = load_shared_data<kCount>(from + column(v));
      }
#pragma unroll
      for (int i = 0; i < kVectors * kCount; i += 4) {
        kept[i / 32] |= nonzero_bytes(bytes[i / kCount].words[i % kCount / 4]) << (i % 32);
      }
    }

    // Arithmetic without a condition, since a branch for each vector costs more; scores beyond the
    // row are set to -inf before they would count.
    float x[kVectors][kCount];
    float largest[1] = {-kInfinity};
    const bool ragged = p.vectors != kVectors * threads;
    const auto clear_outside = [&] {
      if (!ragged) return;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[v][i] = inside(v) ? x[v][i] : -kInfinity;
      }
    };
#pragma unroll
    for (int v = 0; v < kVectors; ++v) unpack<T>(raw[v], x[v]);
    if (p.guards.scale != 1.0F) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[v][i] *= p.guards.scale;
      }
    }

    // The largest guarded score is known where a row's maximum is subtracted and no mask follows:
    // that of the clamp of 0. (A row whose maximum is infinite or NaN gives NaN by its other
    // values.)
    bool known = false;
    if constexpr (kForm != GuardForm::kNone) {
      if (p.bias.data != nullptr) {
        const std::int64_t bias_row = p.map.offset(row, kSoftmaxBias);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (!inside(v)) break;
          float bias[kCount];
          load_modulation<T, kSame>(p.bias, bias_row, column(v), bias);
#pragma unroll
          for (int i = 0; i < kCount; ++i) x[v][i] += bias[i];
        }
      }
      if (p.guards.subtract_row || p.guards.global_maximum != nullptr) {
        if (p.guards.subtract_row) {
          clear_outside();
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) largest[0] = Maximum::of(largest[0], x[v][i]);
          }
          reduce_row<Maximum>(largest, memory[0]);
        } else {
          largest[0] = *p.guards.global_maximum;
        }
        const float shift = largest[0];
        known = p.guards.subtract_row && p.mask.data == nullptr;
        largest[0] = known ? clamped(0.0F, p.guards.clamp_min, p.guards.clamp_max) : -kInfinity;
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
#pragma unroll
          for (int i = 0; i < kCount; ++i) x[v][i] -= shift;
        }
      }
      if (p.guards.clamps) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
#pragma unroll
          for (int i = 0; i < kCount; ++i) {
            x[v][i] = clamped(x[v][i], p.guards.clamp_min, p.guards.clamp_max);
          }
        }
      }
      if (p.mask.data != nullptr) {
        if constexpr (kForm == GuardForm::kAny) {
          const std::int64_t mask_row = p.map.offset(row, kSoftmaxMask);
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
            if (!inside(v)) break;
            apply_any_mask<T>(p.mask, mask_row, column(v), p.guards.mask_value, x[v]);
          }
        } else if constexpr (kForm == GuardForm::kKept) {
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
#pragma unroll
            for (int i = 0; i < kCount; ++i) {
              const int bit = v * kCount + i;
              const bool keeps = (kept[bit / 32] & (1U << (bit % 32))) != 0;
              x[v][i] = keeps ? x[v][i] : p.guards.mask_value;
            }
          }
        } else {
#pragma unroll
          for (int v = 0; v < kVectors; ++v) {
            float added[kCount];
            unpack<T>(mask[v], added);
#pragma unroll
            for (int i = 0; i < kCount; ++i) x[v][i] += added[i];
          }
        }
      }
    }
    clear_outside();
    if (!known) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) largest[0] = fmaxf(largest[0], x[v][i]);
      }
      // A NaN makes the sum below NaN, and with it the row.
      reduce_row<NumberMaximum>(largest, memory[1]);
    }

    // A row of -inf gives NaN here, as the formula does. In base 2 one rounded constant stands for
    // the maximum in the whole row, so its error cancels.
    constexpr float kLog2E = 1.4426950408889634F;
    const float offset = -largest[0] * kLog2E;
    float total[1] = {0.0F};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        x[v][i] =
            sizeof(T) == 4 ? expf(x[v][i] - largest[0]) : exp2_fast(fmaf(x[v][i], kLog2E, offset));
        total[0] += x[v][i];
      }
    }
    reduce_row<Sum>(total, memory[2]);

    const float factor = sizeof(T) == 4 ? 1.0F / total[0] : reciprocal_fast(total[0]);
    const std::int64_t output_row = p.map.offset(row, kSoftmaxOutput, first);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) x[v][i] *= factor;
      if (inside(v)) store_vector<T, kSame>(p.output, p.output_type, output_row + column(v), x[v]);
    }
  }
}

using SoftmaxKernel = void (*)(SoftmaxParameters);

// Null where there is no such instance.
template <typename T>
SoftmaxKernel softmax_kernel_for(int vectors, GuardForm form);

template <typename T, GuardForm kForm>
SoftmaxKernel softmax_kernel_of(int vectors) {
  switch (vectors) {
    case 1:
      return softmax_kernel<T, 1, kForm>;
    case 4:
      return softmax_kernel<T, 4, kForm>;
    case 8:
      return softmax_kernel<T, 8, kForm>;
    default:
      return nullptr;
  }
}

// The file of each element type has one of these.
#define MINDIESD_SOFTMAX_INSTANCES(T)                                          \
  template <>                                                                  \
  SoftmaxKernel softmax_kernel_for<T>(int vectors, GuardForm form) {           \
    switch (form) {                                                            \
      case GuardForm::kNone:                                                   \
        return softmax_kernel_of<T, GuardForm::kNone>(vectors);                \
      case GuardForm::kSame:                                                   \
        return softmax_kernel_of<T, GuardForm::kSame>(vectors);                \
      case GuardForm::kKept:                                                   \
        return softmax_kernel_of<T, GuardForm::kKept>(vectors);                \
      default:                                                                 \
        return vectors == 4 ? softmax_kernel<T, 4, GuardForm::kAny> : nullptr; \
    }                                                                          \
  }

}  // namespace mindiesd::kernels::cuda
