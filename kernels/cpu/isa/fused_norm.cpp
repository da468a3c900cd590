// LayerNorm and RMSNorm with what stands around them in a transformer block, one row at a time in
// float32: a gated residual before, scale and shift after. Entry point: fused_norm.
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

Moments moments_about(float pivot, const Deviations& deviations, double count) {
  const double left = deviations.sum / count;
  const double mean = static_cast<double>(pivot) + left;
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(mean - static_cast<double>(rounded)),
          deviations.squares / count - left * left};
}

// From deviations, since the difference of large sums would lose what LayerNorm is about: from
// those about the mean of the first few values, in one pass, where that turns out to lie within
// half a standard deviation of the mean, else from those about the mean.
Moments moments_of(const float* row, int64_t width) {
  const auto count = static_cast<double>(width);
  const int64_t few = min_of(width, 32);
  float pivot = 0.0F;
#pragma omp simd reduction(+ : pivot)
  for (int64_t i = 0; i < few; ++i) pivot += row[i];
  pivot /= static_cast<float>(few);
  const Deviations near = deviations_of(row, pivot, width);
  const Moments moments = moments_about(pivot, near, count);
  const double left = near.sum / count;
  if (left * left <= 0.25 * moments.variance) return moments;
  const auto mean = static_cast<float>(row_sum(width, [row](int64_t i) { return row[i]; }) / count);
  return moments_about(mean, deviations_of(row, mean, width), count);
}

void add(float* row, const float* other, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += other[i];
}

void add_product(float* row, const float* a, const float* b, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += a[i] * b[i];
}

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

// The rows of memory that one thread works in.
enum Slot : int { kRow, kBranch, kGate, kWeight, kBias, kScale, kShift, kSlots };

}  // namespace

LaunchStatus fused_norm(const FusedNorm& p) {
  const int64_t width = p.width;
  const int64_t padded = round_up(width, 16);
  const Finish finish_row = choose_finish(p);
  // Dense float32 that nothing is added to is read where it lies.
  const bool in_place =
      p.input.type == DataType::kFloat32 && p.input.step == 1 && !p.has_branch && !p.has_sum;
  OutOfMemory memory;
  parallel_for(p.rows.count(), row_grain(width), [&](int64_t begin, int64_t end) {
    float* slots = scratch(ScratchSlot::kRow, static_cast<size_t>(kSlots * padded));
    if (slots == nullptr) return memory.set();
    float* row = slots + kRow * padded;
    float* weight = slots + kWeight * padded;
    float* bias = slots + kBias * padded;
    if (p.weight != nullptr) load_row(weight, p.weight, p.weight_type, p.weight_step, width);
    if (p.bias != nullptr) load_row(bias, p.bias, p.bias_type, p.bias_step, width);
    SharedRow gate(p.gate, width, slots + kGate * padded);
    SharedRow scale(p.scale, width, slots + kScale * padded);
    SharedRow shift(p.shift, width, slots + kShift * padded);
    const int64_t* const strides[7] = {p.input.strides, p.branch.strides, p.gate.strides,
                                       p.sum.strides,   p.scale.strides,  p.shift.strides,
                                       p.output.strides};
    RowWalk<7> walk(p.rows, strides, begin);
    for (int64_t r = begin; r < end; ++r, walk.next()) {
      const void* input = at(p.input.data, p.input.type, walk.offset(0));
      const float* from = row;
      if (in_place) {
        from = static_cast<const float*>(input);
      } else {
        load_row(row, input, p.input.type, p.input.step, width);
      }
      if (p.has_branch) {
        float* branch = slots + kBranch * padded;
        load_row(branch, at(p.branch.data, p.branch.type, walk.offset(1)), p.branch.type,
                 p.branch.step, width);
        if (p.has_gate) {
          add_product(row, branch, gate.at_offset(walk.offset(2)), width);
        } else {
          add(row, branch, width);
        }
      }
      if (p.has_sum) {
        store_row(at(p.sum.data, p.sum.type, walk.offset(3)), row, p.sum.type, p.sum.step, width);
      }
      const Moments moments =
          p.kind == NormKind::kLayer
              ? moments_of(from, width)
              : Moments{0.0F, 0.0F, sum_of_squares(from, width) / static_cast<double>(width)};
      const RowFactor root = inverse_root(moments.variance, p.eps);
      const Tail tail = {moments.mean,
                         moments.rest,
                         weight,
                         bias,
                         p.has_scale ? scale.at_offset(walk.offset(4)) : nullptr,
                         p.has_shift ? shift.at_offset(walk.offset(5)) : nullptr};
      void* output = at(p.output.data, p.output.type, walk.offset(6));
      if (p.output.type == DataType::kFloat32 && p.output.step == 1) {
        finish_row(static_cast<float*>(output), from, root, tail, width);
      } else {
        finish_row(row, from, root, tail, width);
        store_row(output, row, p.output.type, p.output.step, width);
      }
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
