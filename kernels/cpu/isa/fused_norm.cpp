// LayerNorm and RMSNorm with what stands around them in a transformer block, one row at a time in
// float32: a gated residual before, whose branch may have a norm of its own, scale and shift after.
// Entry point: fused_norm.
// Traffic: each input element is read once, each result element written once.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// The mean as a float and what is left of it, and the variance.
struct Moments {
  float mean, rest;
  double variance;
};

// A row's width and what divides by it, and by the number of values that a guess at its mean takes.
struct Width {
  int64_t all, few;
  double all_inverse;
  float few_inverse;

  explicit Width(int64_t width)
      : all(width),
        few(min_of(width, 32)),
        all_inverse(1.0 / static_cast<double>(width)),
        few_inverse(1.0F / static_cast<float>(few)) {}
};

Moments moments_about(float pivot, const Deviations& deviations, const Width& width) {
  const double left = deviations.sum * width.all_inverse;
  const double mean = static_cast<double>(pivot) + left;
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(mean - static_cast<double>(rounded)),
          deviations.squares * width.all_inverse - left * left};
}

// From deviations, since the difference of large sums would lose what LayerNorm is about: from
// those about the mean of the first few values, in one pass, where that turns out to lie within
// half a standard deviation of the mean, else from those about the mean.
Moments moments_of(const float* row, const Width& width) {
  float pivot = 0.0F;
  if (width.few == 32) {
    Sixteen first, second;
    load_sixteen(first, row);
    load_sixteen(second, row + 16);
    pivot = static_cast<float>(sum_of(first, second));
  } else {
    for (int64_t i = 0; i < width.few; ++i) pivot += row[i];
  }
  pivot *= width.few_inverse;
  const Deviations near = deviations_of(row, pivot, width.all);
  const Moments moments = moments_about(pivot, near, width);
  const double left = near.sum * width.all_inverse;
  if (left * left <= 0.25 * moments.variance) return moments;
  const double sum = row_sum(width.all, [row](int64_t i) { return row[i]; });
  const auto mean = static_cast<float>(sum * width.all_inverse);
  return moments_about(mean, deviations_of(row, mean, width.all), width);
}

void add(float* row, const float* other, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += other[i];
}

void add_product(float* row, const float* a, const float* b, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += a[i] * b[i];
}

void multiply(float* row, const float* by, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] *= by[i];
}

// The rows of memory that one thread works in, beside the rows themselves.
enum Slot : int { kBranch, kBranchWeight, kGate, kTanh, kWeight, kBias, kScale, kShift, kSlots };

// Adds gate * branch to rows.
class Residual {
 public:
  Residual(const FusedNorm& p, float* slots, int64_t padded)
      : p_(p),
        branch_(slots + kBranch * padded),
        weight_(slots + kBranchWeight * padded),
        tanh_(slots + kTanh * padded),
        gate_(p.gate, p.width, slots + kGate * padded) {
    if (p.branch_weight != nullptr) {
      load_row(weight_, p.branch_weight, p.branch_weight_type, p.branch_weight_step, p.width);
    }
  }

  void add_to(float* row, int64_t branch_offset, int64_t gate_offset) {
    load_row(branch_, at(p_.branch.data, p_.branch.type, branch_offset), p_.branch.type,
             p_.branch.step, p_.width);
    if (p_.branch_norm) {
      root_of(branch_, p_.width, p_.branch_eps).apply(branch_, p_.width);
      if (p_.branch_weight != nullptr) multiply(branch_, weight_, p_.width);
    }
    if (p_.has_gate) {
      add_product(row, branch_, gate_at(gate_offset), p_.width);
    } else {
      add(row, branch_, p_.width);
    }
  }

 private:
  const float* gate_at(int64_t offset) {
    const float* gate = gate_.at_offset(offset);
    if (!p_.gate_tanh) return gate;
    if (!computed_ || offset != offset_) {
#pragma omp simd
      for (int64_t i = 0; i < p_.width; ++i) tanh_[i] = tanh_of(gate[i]);
      offset_ = offset;
      computed_ = true;
    }
    return tanh_;
  }

  const FusedNorm& p_;
  float *branch_, *weight_, *tanh_;
  SharedRow gate_;
  int64_t offset_ = 0;
  bool computed_ = false;
};

// What is left to do; a null pointer where it is absent.
struct Tail {
  float mean, rest;
  const float* weight;
  const float* bias;
  const float* scale;
  const float* shift;
};

// One pass for all of it: y = row / root, y * weight + bias, y * (1 + scale) + shift.
template <bool kWeight, bool kBias, bool kScale, bool kShift>
void finish(float* to, const float* row, const RowFactor& root, const Tail& tail, int64_t width) {
  const float factor = root.factor, factor_rest = root.rest;
  const float mean = tail.mean, mean_rest = tail.rest;
  const float* weight = tail.weight;
  const float* bias = tail.bias;
  const float* scale = tail.scale;
  const float* shift = tail.shift;
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) {
    const float centered = (row[i] - mean) - mean_rest;
    float y = centered * factor + centered * factor_rest;
    if constexpr (kWeight) y *= weight[i];
    if constexpr (kBias) y += bias[i];
    if constexpr (kScale) y += y * scale[i];
    if constexpr (kShift) y += shift[i];
    to[i] = y;
  }
}

using Finish = void (*)(float*, const float*, const RowFactor&, const Tail&, int64_t);

template <bool kWeight, bool kBias, bool kScale>
Finish choose_shift(bool shift) {
  return shift ? finish<kWeight, kBias, kScale, true> : finish<kWeight, kBias, kScale, false>;
}
template <bool kWeight, bool kBias>
Finish choose_scale(bool scale, bool shift) {
  return scale ? choose_shift<kWeight, kBias, true>(shift)
               : choose_shift<kWeight, kBias, false>(shift);
}
Finish choose_finish(const FusedNorm& p) {
  if (p.weight != nullptr) {
    return p.bias != nullptr ? choose_scale<true, true>(p.has_scale, p.has_shift)
                             : choose_scale<true, false>(p.has_scale, p.has_shift);
  }
  return p.bias != nullptr ? choose_scale<false, true>(p.has_scale, p.has_shift)
                           : choose_scale<false, false>(p.has_scale, p.has_shift);
}

// Narrow rows are taken several at once, step by step: each step of a row waits for the one before.
constexpr int64_t kMostRows = 8;

}  // namespace

LaunchStatus fused_norm(const FusedNorm& p) {
  if (lies_in_planes(p)) return planes_norm(p);
  const int64_t width = p.width;
  const int64_t padded = round_up(width, 16);
  const Width divided(width);
  const int64_t together = max_of(1, min_of(kMostRows, 1024 / max_of(width, 1)));
  const Finish finish_row = choose_finish(p);
  // Dense float32 that nothing is added to is read where it lies.
  const bool in_place =
      p.input.type == DataType::kFloat32 && p.input.step == 1 && !p.has_branch && !p.has_sum;
  OutOfMemory memory;
  parallel_for(p.rows.count(), row_grain(width), [&](int64_t begin, int64_t end) {
    float* slots = scratch(ScratchSlot::kRow, static_cast<size_t>((kSlots + together) * padded));
    if (slots == nullptr) return memory.set();
    float* const rows = slots + kSlots * padded;
    float* weight = slots + kWeight * padded;
    float* bias = slots + kBias * padded;
    if (p.weight != nullptr) load_row(weight, p.weight, p.weight_type, p.weight_step, width);
    if (p.bias != nullptr) load_row(bias, p.bias, p.bias_type, p.bias_step, width);
    Residual residual(p, slots, padded);
    SharedRow scale(p.scale, width, slots + kScale * padded);
    SharedRow shift(p.shift, width, slots + kShift * padded);
    const int64_t* const strides[7] = {p.input.strides, p.branch.strides, p.gate.strides,
                                       p.sum.strides,   p.scale.strides,  p.shift.strides,
                                       p.output.strides};
    RowWalk<7> walk(p.rows, strides, begin);
    for (int64_t r = begin; r < end; r += together) {
      const float* from[kMostRows];
      int64_t offsets[kMostRows][3];  // of scale, shift and output
      Moments moments[kMostRows];
      RowFactor roots[kMostRows];
      const int64_t count = min_of(together, end - r);
      for (int64_t k = 0; k < count; ++k, walk.next()) {
        float* row = rows + k * padded;
        const void* input = at(p.input.data, p.input.type, walk.offset(0));
        from[k] = row;
        if (in_place) {
          from[k] = static_cast<const float*>(input);
        } else {
          load_row(row, input, p.input.type, p.input.step, width);
        }
        if (p.has_branch) residual.add_to(row, walk.offset(1), walk.offset(2));
        if (p.has_sum) {
          store_row(at(p.sum.data, p.sum.type, walk.offset(3)), row, p.sum.type, p.sum.step, width);
        }
        for (int i = 0; i < 3; ++i) offsets[k][i] = walk.offset(4 + i);
      }
      if (p.output.data == nullptr) continue;
      const auto statistics = [&](const float* row) {
        return p.kind == NormKind::kLayer
                   ? moments_of(row, divided)
                   : Moments{0.0F, 0.0F, sum_of_squares(row, width) * divided.all_inverse};
      };
      for (int64_t k = 0; k < count; ++k) moments[k] = statistics(from[k]);
      for (int64_t k = 0; k < count; ++k) {
        double eps = static_cast<double>(p.eps);
        if (!__builtin_isfinite(moments[k].variance)) {
          float* row = rows + k * padded;
          bring_down(row, from[k], width);
          from[k] = row;
          moments[k] = statistics(row);
          eps *= kDown * kDown;
        }
        roots[k] = inverse_root(moments[k].variance, eps);
      }
      for (int64_t k = 0; k < count; ++k) {
        const Tail tail = {moments[k].mean,
                           moments[k].rest,
                           weight,
                           bias,
                           p.has_scale ? scale.at_offset(offsets[k][0]) : nullptr,
                           p.has_shift ? shift.at_offset(offsets[k][1]) : nullptr};
        void* output = at(p.output.data, p.output.type, offsets[k][2]);
        if (p.output.type == DataType::kFloat32 && p.output.step == 1) {
          finish_row(static_cast<float*>(output), from[k], roots[k], tail, width);
        } else {
          float* row = rows + k * padded;
          finish_row(row, from[k], roots[k], tail, width);
          store_row(output, row, p.output.type, p.output.step, width);
        }
      }
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
