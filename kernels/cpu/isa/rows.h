// What the norms and the rotation share: operand rows that several rows of the input use, and the
// factor of a root-mean-square norm. Included after simd.h, by the same rules.

#pragma once

#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu {
namespace {

// An operand's current row as float32; converted once while the offset stays, read in place where
// it is dense float32 already.
class SharedRow {
 public:
  SharedRow(const RowOperand& operand, int64_t width, float* memory)
      : operand_(operand), width_(width), memory_(memory) {}

  const float* at_offset(int64_t offset) {
    if (operand_.type == DataType::kFloat32 && operand_.step == 1) {
      return static_cast<const float*>(at(operand_.data, operand_.type, offset));
    }
    if (!loaded_ || offset != offset_) {
      load_row(memory_, at(operand_.data, operand_.type, offset), operand_.type, operand_.step,
               width_);
      offset_ = offset;
      loaded_ = true;
    }
    return memory_;
  }

 private:
  const RowOperand& operand_;
  int64_t width_;
  float* memory_;
  int64_t offset_ = 0;
  bool loaded_ = false;
};

// In double: the whole row shares the error of this sum.
inline double sum_of_squares(const float* row, int64_t width) {
  double total = 0.0;
#pragma omp simd reduction(+ : total)
  for (int64_t i = 0; i < width; ++i) {
    const auto value = static_cast<double>(row[i]);
    total += value * value;
  }
  return total;
}

// 1 / sqrt(mean + eps) as the sum of two floats: x * factor + x * rest rounds once where the
// machine has a fused multiply-add. One square root and one division a row are cheap in double.
struct InverseRoot {
  float factor, rest;

  InverseRoot(double mean, float eps) {
    const double exact = 1.0 / __builtin_sqrt(mean + static_cast<double>(eps));
    factor = static_cast<float>(exact);
    rest =
        __builtin_isfinite(factor) ? static_cast<float>(exact - static_cast<double>(factor)) : 0.0F;
  }

  void apply(float* row, int64_t width) const {
    const float f = factor, r = rest;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] * f + row[i] * r;
  }
};

}  // namespace
}  // namespace mindiesd::kernels::cpu
