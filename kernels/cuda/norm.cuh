// The vectorised kernel of the norm family: one read of each operand, one write of each result, the
// row in registers between. Instances: norm_*.cu through norm_kernel_for, the choice among them:
// norm.cu.
//
// Traffic per element: input (and branch) once, output (and sum) once; weight, bias and modulation
// that rows share come from the caches. Statistics in float32. The variance is that of the
// deviations from the mean, a second pass over registers; half precision has it from the mean of
// the squares where that loses no accuracy that its results could show.

#pragma once

#include "kernels/cuda/norm_general.cuh"
#include "kernels/cuda/norm_parameters.cuh"
#include "kernels/cuda/row_reduce.cuh"

namespace mindiesd::kernels::cuda {

// The common case: every operand has a step of 1 and type T, but what rows share, gate, scale and
// shift, type M; `scale` is the weight or the scale and `shift` the bias or the shift. kVectors
// vectors of 16 bytes of a row are in each thread; blockDim.x threads share a row, blockDim.y rows
// a block. What differs between launches is decided at compile time or by branches around whole
// loops: short conditional bodies become predicated instructions, which take their turn even where
// the condition is false. A LayerNorm of half precision is bound by its instructions, a second
// reduction among them.
//
// kOther: the forms beyond that, which the others are to have no registers and instructions for: a
// branch with a norm of its own, the gate's tanh, weight and bias beside scale and shift, no output
// but the sum, and with kCentered an RMSNorm that is modulated, as a norm whose mean is zero.
template <typename T, typename M, int kVectors, bool kCentered, bool kBranches, bool kOther = false>
__global__ void __launch_bounds__(norm_threads(kVectors),
                                  kOther ? 1 : norm_blocks(sizeof(T), kVectors, kCentered))
    norm_kernel(const __grid_constant__ NormParameters p) {
  constexpr int kCount = 16 / sizeof(T);
  // Half precision takes mean and variance from one reduction, of the values and their squares, and
  // goes over the deviations only where the mean is more than eight times the deviation: up to
  // there the difference of the squares loses six of float32's 24 bits, and results keep eleven.
  constexpr bool kOnce = kCentered && sizeof(T) == 2;
  // A row that stays packed until the end leaves registers for what rows share, or for more blocks.
  constexpr bool kPacked = sizeof(T) == 2 && !kBranches && (kCentered || kVectors >= 4);
  constexpr bool kOneType = sizeof(M) == sizeof(T);
  constexpr bool kTwice = kBranches || kOverflows<T>;
  __shared__ float memory[kOther ? 224 : 160];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  const std::uint32_t row = blockIdx.x * blockDim.y + threadIdx.y;
  const bool row_inside = row < p.rows;
  const auto inside = [&](int v) { return row_inside && v * threads + thread < p.vectors; };
  const auto column = [&](int v) { return v * threads + thread; };
  const auto at = [&](int v) { return static_cast<std::uint32_t>(column(v)) * 16U; };
  // The row's place in an operand, in bytes from there on.
  const std::int64_t first = p.map.offset(row, kInput);
  const auto place = [&](const void* base, NormOperand which, std::int64_t size = sizeof(T)) {
    return static_cast<char*>(const_cast<void*>(base)) + p.map.offset(row, which, first) * size;
  };
  wait_for_previous_kernel();
  allow_next_kernel();

  Raw<16> raw[kVectors];
  const char* input =
      static_cast<const char*>(p.input) + first * static_cast<std::int64_t>(sizeof(T));
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    raw[v] = {};
    if (inside(v)) raw[v] = load_operand<16>(input + at(v));
  }
  // Whether the modulators are on their way while the row is reduced: where there are registers for
  // them beside the row. Those of float32 come from the first-level cache, a vector at a time.
  constexpr bool kEarly = kOneType && kVectors <= (kPacked ? 5 : kCentered || kBranches ? 3 : 4);
  const float no_multiplier = p.one_plus ? 0.0F : 1.0F;
  const auto scale_place = [&]() -> const char* {
    return p.scale.data != nullptr ? place(p.scale.data, kScale, sizeof(M)) : nullptr;
  };
  const auto shift_place = [&]() -> const char* {
    return kCentered && p.shift.data != nullptr ? place(p.shift.data, kShift, sizeof(M)) : nullptr;
  };
  Held<T, M> multiplier[kEarly ? kVectors : 1], addend[kEarly && kCentered ? kVectors : 1];
  const auto load_modulators = [&] {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      multiplier[v].fill(no_multiplier);
      if constexpr (kCentered) addend[v].fill(0.0F);
    }
    if (const char* scale = scale_place(); scale != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (inside(v)) multiplier[v].load(scale, column(v));
      }
    }
    if (const char* shift = shift_place(); shift != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (kCentered && inside(v)) addend[v].load(shift, column(v));
      }
    }
  };
  if constexpr (kEarly && !kBranches) load_modulators();

  float x[kVectors][kCount];
  if constexpr (kBranches) {
    Raw<16> branch[kVectors];
    Held<T, M> gate[kOneType ? kVectors : 1];
    const char* other = place(p.branch, kBranch);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      branch[v] = {};
      if constexpr (kOneType) gate[v].fill(1.0F);
      if (inside(v)) branch[v] = load_operand<16>(other + at(v));
    }
    const char* gates = p.gate.data != nullptr ? place(p.gate.data, kGate, sizeof(M)) : nullptr;
    if (kOneType && gates != nullptr) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (inside(v)) gate[v].load(gates, column(v));
      }
    }
    const auto add_branch = [&](const auto& normalise) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        float y[kCount], g[kCount];
        unpack<T>(raw[v], x[v]);
        unpack<T>(branch[v], y);
        normalise(v, y);
        if constexpr (!kOneType) {
          gate[0].fill(1.0F);
          if (gates != nullptr && inside(v)) gate[0].load(gates, column(v));
        }
        gate[kOneType ? v : 0].get(g);
        if (kOther && p.gate_tanh) {
#pragma unroll
          for (float& value : g) value = tanh_of < sizeof(T) == 4 > (value);
        }
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[v][i] = fmaf(g[i], y[i], x[v][i]);
      }
    };
    if (kOther && p.branch_norm) {
      const float own = branch_factor<T, kVectors, kOverflows<T>>(
          p, [&](int v, float* y) { unpack<T>(branch[v], y); }, memory + 160);
      add_branch([&](int v, float* y) {
        Held<T, M> weight;
        weight.fill(1.0F);
        if (p.branch_weight != nullptr && inside(v)) {
          weight.load(static_cast<const char*>(p.branch_weight), column(v));
        }
        float w[kCount];
        weight.get(w);
#pragma unroll
        for (int i = 0; i < kCount; ++i) y[i] *= own * w[i];
      });
    } else {
      add_branch([](int, float*) {});
    }
    if constexpr (kEarly) load_modulators();
    if (p.sum != nullptr) {
      char* to = place(p.sum, kSum);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (inside(v)) store_raw(to + at(v), pack<T, 16>(x[v]));
      }
    }
    if (kOther && p.output == nullptr) return;
  } else if constexpr (!kPacked) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) unpack<T>(raw[v], x[v]);
  }

  // Rows that share a warp decide together.
  const auto all_of_warp = [&](bool fact) {
    return threads < 32 ? __all_sync(0xffffffffU, fact) != 0 : fact;
  };
  // Several sums each, so that additions do not all wait for each other. Values beyond the row are
  // zero and count in no sum of values or squares.
  constexpr int kSums = kCentered ? 2 : 4;
  float sums[kSums] = {}, squares[kSums] = {};
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if constexpr (kPacked) unpack<T>(raw[v], x[v]);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kCentered) sums[i % kSums] += x[v][i];
      if constexpr (!kCentered || kOnce) {
        squares[i % kSums] = fmaf(x[v][i], x[v][i], squares[i % kSums]);
      }
    }
  }
  float total[2] = {};
#pragma unroll
  for (int i = 0; i < kSums; ++i) {
    total[0] += squares[i];
    total[1] += sums[i];
  }
  const bool zero_mean = kOther && p.zero_mean;
  float variance, mean = 0.0F, factor, offset;
  const auto root = [](float x) { return sizeof(T) == 4 ? 1.0F / sqrtf(x) : rsqrtf(x); };
  const auto set_factor = [&] {
    factor = root(variance + p.eps);
    offset = -mean * factor;
  };
  const auto sum_over_row = [&](float* room, const auto& term) {
    float sum[1] = {0.0F};
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (!inside(v)) continue;
      if constexpr (kPacked) unpack_again<T>(raw[v], x[v]);
#pragma unroll
      for (int i = 0; i < kCount; ++i) term(x[v][i], sum[0]);
    }
    reduce_row<Sum>(sum, room);
    return sum[0];
  };
  // Values that are not packed become their deviations.
  const auto take_deviations = [&](float* room) {
    const float sum = sum_over_row(room, [&](float& value, float& sum) {
      value -= mean;
      sum = fmaf(value, value, sum);
    });
    variance = sum * p.per_width;
    if constexpr (!kPacked) mean = 0.0F;
    set_factor();
    return is_finite(sum);
  };
  // Of the row times kDown, for rows whose squares do not fit float32. `room`: for two sums.
  const auto bring_down = [&](bool fits, float* room) {
    if (kCentered && !zero_mean) {
      mean = p.per_width *
             sum_over_row(room, [](float& value, float& sum) { sum = fmaf(value, kDown, sum); });
    }
    const float sum = sum_over_row(room + 32, [&](float& value, float& sum) {
      const float deviation = fmaf(value, kDown, -mean);
      sum = fmaf(deviation, deviation, sum);
    });
    const float own = root(sum * p.per_width + eps_down(p.eps));
    if (fits) return;
    factor = own * kDown;
    offset = -mean * own;
  };
  if constexpr (!kCentered) {
    float one[1] = {total[0]};
    reduce_row<Sum>(one, memory);
    variance = one[0] * p.per_width;
    set_factor();
    const bool fits = is_finite(one[0]);
    if (kTwice && !all_of_warp(fits)) bring_down(fits, memory + 32);
  } else if constexpr (kOnce) {
    reduce_row<Sum>(total, memory);
    mean = zero_mean ? 0.0F : total[1] * p.per_width;
    variance = total[0] * p.per_width - mean * mean;
    set_factor();
    const bool fits = !kTwice || is_finite(total[0]);
    if (!all_of_warp(fits && variance >= mean * mean * 0.015625F)) {
      if (!fits) mean = 0.0F;
      take_deviations(memory + 64);
      if (kTwice && !all_of_warp(fits)) bring_down(fits, memory + 96);
    }
  } else {
    float one[1] = {total[1]};
    reduce_row<Sum>(one, memory);
    // Where the sum is not finite the squares do not fit.
    mean = is_finite(one[0]) && !zero_mean ? one[0] * p.per_width : 0.0F;
    const bool fits = take_deviations(memory + 32);
    if (!all_of_warp(fits)) bring_down(fits, memory + 64);
  }
  const bool rounded = !kCentered && p.normalized != DataType::kFloat32;
  char* output = place(p.output, kOutput);
  const auto finish = [&](const auto& modulate) {
    [[maybe_unused]] const char* scale = kEarly ? nullptr : scale_place();
    [[maybe_unused]] const char* shift = kEarly ? nullptr : shift_place();
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (!inside(v)) break;
      if constexpr (!kEarly) {
        multiplier[0].fill(no_multiplier);
        if (scale != nullptr) multiplier[0].load(scale, column(v));
        if constexpr (kCentered) {
          addend[0].fill(0.0F);
          if (shift != nullptr) addend[0].load(shift, column(v));
        }
      }
      if constexpr (kPacked) unpack_again<T>(raw[v], x[v]);
      float m[kCount], a[kCount];
      multiplier[kEarly ? v : 0].get(m);
      if constexpr (kCentered) addend[kEarly ? v : 0].get(a);
      if (kOther && p.both) {
        Held<T, M> weight, bias;
        weight.fill(1.0F);
        bias.fill(0.0F);
        if (p.weight != nullptr) weight.load(static_cast<const char*>(p.weight), column(v));
        if (p.bias != nullptr) bias.load(static_cast<const char*>(p.bias), column(v));
        float w[kCount], b[kCount];
        weight.get(w);
        bias.get(b);
#pragma unroll
        for (int i = 0; i < kCount; ++i) {
          const float affine = fmaf(fmaf(x[v][i], factor, offset), w[i], b[i]);
          x[v][i] = fmaf(affine, 1.0F + m[i], a[i]);
        }
      } else {
#pragma unroll
        for (int i = 0; i < kCount; ++i) x[v][i] = modulate(x[v][i], m[i], a[i]);
      }
      store_raw(output + at(v), pack<T, 16>(x[v]));
    }
  };
  if constexpr (kCentered) {
    if (p.one_plus) {
      finish([&](float value, float m, float a) {
        return fmaf(fmaf(value, factor, offset), 1.0F + m, a);
      });
    } else {
      finish(
          [&](float value, float m, float a) { return fmaf(fmaf(value, factor, offset), m, a); });
    }
  } else if (rounded) {
    finish([&](float value, float m, float) { return round_to(value * factor, kTypeOf<T>) * m; });
  } else {
    finish([&](float value, float m, float) { return value * factor * m; });
  }
}

using NormKernel = void (*)(NormParameters);

struct NormChoice {
  int vectors;  // in each thread
  bool centered, branches;
  bool general;        // general_norm_kernel
  bool wide = false;   // norm_kernel of half precision with float32 for what rows share
  bool other = false;  // its kOther
};

// Null where there is no such instance.
template <typename T>
NormKernel norm_kernel_for(const NormChoice& choice);

template <typename T, int kVectors, bool kBranches>
NormKernel norm_kernel_of(const NormChoice& choice) {
  if (choice.other) {
    if constexpr (kVectors <= 2 || (kVectors == 4 && !kBranches)) {
      if (!choice.wide) return norm_kernel<T, T, kVectors, true, kBranches, true>;
      if constexpr (sizeof(T) == 2) return norm_kernel<T, float, kVectors, true, kBranches, true>;
    }
    return nullptr;
  }
  if (choice.wide) {
    if constexpr (sizeof(T) == 2 && kVectors <= (kBranches ? 3 : 5)) {
      return choice.centered ? norm_kernel<T, float, kVectors, true, kBranches>
                             : norm_kernel<T, float, kVectors, false, kBranches>;
    } else {
      return nullptr;
    }
  }
  return choice.centered ? norm_kernel<T, T, kVectors, true, kBranches>
                         : norm_kernel<T, T, kVectors, false, kBranches>;
}

template <typename T, bool kBranches>
NormKernel norm_kernel_of(const NormChoice& choice) {
  if (choice.general) {
    return choice.vectors == 1 ? general_norm_kernel<T, 1, kBranches>
                               : general_norm_kernel<T, 4, kBranches>;
  }
  switch (choice.vectors) {
    case 1:
      return norm_kernel_of<T, 1, kBranches>(choice);
    case 2:
      return norm_kernel_of<T, 2, kBranches>(choice);
    case 3:
      return norm_kernel_of<T, 3, kBranches>(choice);
    case 4:
      return norm_kernel_of<T, 4, kBranches>(choice);
    case 5:
      if constexpr (!kBranches) return norm_kernel_of<T, 5, kBranches>(choice);
      return nullptr;
    case 8:
      if constexpr (!kBranches) return norm_kernel_of<T, 8, kBranches>(choice);
      return nullptr;
    default:
      return nullptr;
  }
}

// The file of each element type has one of these.
#define MINDIESD_NORM_INSTANCES(T)                                                               \
  template <>                                                                                    \
  NormKernel norm_kernel_for<T>(const NormChoice& choice) {                                      \
    return choice.branches ? norm_kernel_of<T, true>(choice) : norm_kernel_of<T, false>(choice); \
  }

}  // namespace mindiesd::kernels::cuda
