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

// Sums over a row, which the whole row shares the error of. 64 partial sums in float32, which the
// machine adds side by side, go into a double before they have taken 16 terms each.
class RowSum {
 public:
  // Adds term(i) for i in [0, width).
  template <typename Term>
  void add(int64_t width, Term term) {
    constexpr int64_t kLane = 64, kFlush = 16 * kLane;
    int64_t i = 0;
    while (i + kLane <= width) {
      float lanes[kLane] = {};
      const int64_t end = min_of(i + kFlush, width / kLane * kLane);
      for (; i < end; i += kLane) {
#pragma omp simd
        for (int64_t j = 0; j < kLane; ++j) lanes[j] += term(i + j);
      }
      double part = 0.0;
#pragma omp simd reduction(+ : part)
      // NOLINTNEXTLINE(modernize-loop-convert): OpenMP takes this form of loop alone
      for (int64_t j = 0; j < kLane; ++j) part += static_cast<double>(lanes[j]);
      total_ += part;
    }
    for (; i < width; ++i) total_ += static_cast<double>(term(i));
  }
  double total() const { return total_; }

 private:
  double total_ = 0.0;
};

inline double sum_of_squares(const float* row, int64_t width) {
  RowSum sum;
  sum.add(width, [row](int64_t i) { return row[i] * row[i]; });
  return sum.total();
}

// A factor of a row as the sum of two floats: x * factor + x * rest rounds once where the machine
// has a fused multiply-add. One division a row is cheap in double.
struct RowFactor {
  float factor, rest;

  explicit RowFactor(double exact) {
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

inline RowFactor inverse_root(double mean, float eps) {
  return RowFactor(1.0 / __builtin_sqrt(mean + static_cast<double>(eps)));
}

}  // namespace
}  // namespace mindiesd::kernels::cpu
