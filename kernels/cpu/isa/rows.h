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

// The sum of partial sums that the machine made side by side: pairs meet as floats, the rest in a
// double.
template <int64_t kLane>
double sum_of_lanes(const float (&lanes)[kLane]) {
  constexpr int64_t kPart = kLane / 4;
  float parts[kPart];
#pragma omp simd
  for (int64_t j = 0; j < kPart; ++j) {
    parts[j] = (lanes[j] + lanes[j + kPart]) + (lanes[j + 2 * kPart] + lanes[j + 3 * kPart]);
  }
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  // NOLINTNEXTLINE(modernize-loop-convert): OpenMP takes this form of loop alone
  for (int64_t j = 0; j < kPart; ++j) sum += static_cast<double>(parts[j]);
  return sum;
}

// The sum of term(i) for i in [0, width), which a whole row shares the error of: 64 partial sums in
// float32 go into a double before they have taken 16 terms each.
template <typename Term>
double row_sum(int64_t width, Term term) {
  constexpr int64_t kLane = 64, kFlush = 16 * kLane;
  double total = 0.0;
  int64_t i = 0;
  while (i + kLane <= width) {
    float lanes[kLane] = {};
    const int64_t end = min_of(i + kFlush, width / kLane * kLane);
    for (; i < end; i += kLane) {
#pragma omp simd
      for (int64_t j = 0; j < kLane; ++j) lanes[j] += term(i + j);
    }
    total += sum_of_lanes(lanes);
  }
  for (; i < width; ++i) total += static_cast<double>(term(i));
  return total;
}

// The sums of row[i] - mean and of its square, likewise.
struct Deviations {
  double sum = 0.0, squares = 0.0;
};
inline Deviations deviations_of(const float* row, float mean, int64_t width) {
  constexpr int64_t kLane = 32, kFlush = 16 * kLane;
  Deviations total;
  int64_t i = 0;
  while (i + kLane <= width) {
    float sums[kLane] = {}, squares[kLane] = {};
    const int64_t end = min_of(i + kFlush, width / kLane * kLane);
    for (; i < end; i += kLane) {
#pragma omp simd
      for (int64_t j = 0; j < kLane; ++j) {
        const float deviation = row[i + j] - mean;
        sums[j] += deviation;
        squares[j] += deviation * deviation;
      }
    }
    total.sum += sum_of_lanes(sums);
    total.squares += sum_of_lanes(squares);
  }
  for (; i < width; ++i) {
    const float deviation = row[i] - mean;
    total.sum += static_cast<double>(deviation);
    total.squares += static_cast<double>(deviation * deviation);
  }
  return total;
}

inline double sum_of_squares(const float* row, int64_t width) {
  return row_sum(width, [row](int64_t i) { return row[i] * row[i]; });
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

  // `to` may be `row`.
  void apply(float* to, const float* row, int64_t width) const {
    const float f = factor, r = rest;
#pragma omp simd
    for (int64_t i = 0; i < width; ++i) to[i] = row[i] * f + row[i] * r;
  }
  void apply(float* row, int64_t width) const { apply(row, row, width); }
};

inline RowFactor inverse_root(double mean, float eps) {
  return RowFactor(1.0 / __builtin_sqrt(mean + static_cast<double>(eps)));
}

}  // namespace
}  // namespace mindiesd::kernels::cpu
