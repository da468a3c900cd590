// LayerNorm and RMSNorm with what stands around them in a transformer block, one row at a time in
// float32: a gated residual before, scale and shift after. Entry point: fused_norm.
// Traffic: each input element is read once, each result element written once.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/rows.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

// Subtracts the mean and gives the sum of squares of what is left. Two passes, in double: the
// difference of large sums would lose what LayerNorm is about.
double center(float* row, int64_t width) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) total += static_cast<double>(row[i]);
  const double mean = total / static_cast<double>(width);
  // The mean as two floats, so that rows far from zero keep their digits.
  const auto high = static_cast<float>(mean);
  const float low =
      __builtin_isfinite(high) ? static_cast<float>(mean - static_cast<double>(high)) : 0.0F;
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] = (row[i] - high) - low;
  return sum_of_squares(row, width);
}

void multiply(float* row, const float* by, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] *= by[i];
}

void add(float* row, const float* other, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += other[i];
}

void add_product(float* row, const float* a, const float* b, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += a[i] * b[i];
}

void multiply_by_one_and(float* row, const float* scale, int64_t width) {
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) row[i] += row[i] * scale[i];
}

// The rows of memory that one thread works in.
enum Slot : int { kRow, kBranch, kGate, kWeight, kBias, kScale, kShift, kSlots };

}  // namespace

LaunchStatus fused_norm(const FusedNorm& p) {
  const int64_t width = p.width;
  const int64_t padded = round_up(width, 16);
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
      load_row(row, at(p.input.data, p.input.type, walk.offset(0)), p.input.type, p.input.step,
               width);
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
      const double squares =
          p.kind == NormKind::kLayer ? center(row, width) : sum_of_squares(row, width);
      InverseRoot(squares / static_cast<double>(width), p.eps).apply(row, width);
      if (p.weight != nullptr) multiply(row, weight, width);
      if (p.bias != nullptr) add(row, bias, width);
      if (p.has_scale) multiply_by_one_and(row, scale.at_offset(walk.offset(4)), width);
      if (p.has_shift) add(row, shift.at_offset(walk.offset(5)), width);
      store_row(at(p.output.data, p.output.type, walk.offset(6)), row, p.output.type, p.output.step,
                width);
    }
  });
  return memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
