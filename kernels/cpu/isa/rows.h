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

// Sixteen partial sums side by side: arithmetic on them is that of the machine's vectors, whatever
// their width. Never an argument by value, for how those are passed depends on the width.
using Sixteen = float __attribute__((vector_size(64)));
using Eight = float __attribute__((vector_size(32)));
using EightDoubles = double __attribute__((vector_size(64)));
using FourDoubles = double __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void load_sixteen(Sixteen& to, const float* from) {
  std::memcpy(&to, from, sizeof(to));
}

// The sum of a and b: pairs meet as floats, the rest as doubles.
[[gnu::always_inline]] inline double sum_of(const Sixteen& a, const Sixteen& b) {
  const Sixteen both = a + b;
  const Eight eight = __builtin_shufflevector(both, both, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(both, both, 8, 9, 10, 11, 12, 13, 14, 15);
  const EightDoubles wide = __builtin_convertvector(eight, EightDoubles);
  const FourDoubles four = __builtin_shufflevector(wide, wide, 0, 1, 2, 3) +
                           __builtin_shufflevector(wide, wide, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
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
    Sixteen parts[4];
    std::memcpy(parts, lanes, sizeof(parts));
    total += sum_of(parts[0] + parts[1], parts[2] + parts[3]);
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
    Sixteen sums[2] = {}, squares[2] = {};
    const int64_t end = min_of(i + kFlush, width / kLane * kLane);
    for (; i < end; i += kLane) {
      for (int64_t k = 0; k < 2; ++k) {
        Sixteen x;
        load_sixteen(x, row + i + 16 * k);
        x -= mean;
        sums[k] += x;
        squares[k] += x * x;
      }
    }
    total.sum += sum_of(sums[0], sums[1]);
    total.squares += sum_of(squares[0], squares[1]);
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
  float factor = 1.0F, rest = 0.0F;

  RowFactor() = default;
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

inline RowFactor inverse_root(double mean, double eps) {
  return RowFactor(1.0 / __builtin_sqrt(mean + eps));
}

// Squares of values from 2^62 on may add up to more than float32 holds. A norm of such a row is
// that of the row times kDown, whose squares fit, with eps times kDown squared.
constexpr double kDown = 0x1p-80;

// `to` may be `row`.
inline void bring_down(float* to, const float* row, int64_t width) {
  const auto down = static_cast<float>(kDown);
#pragma omp simd
  for (int64_t i = 0; i < width; ++i) to[i] = row[i] * down;
}

// The factor of a root-mean-square norm of the row, which is brought down where it has to be.
inline RowFactor root_of(float* row, int64_t width, float eps) {
  const auto count = static_cast<double>(width);
  const double squares = sum_of_squares(row, width);
  if (__builtin_isfinite(squares)) return inverse_root(squares / count, static_cast<double>(eps));
  bring_down(row, row, width);
  return inverse_root(sum_of_squares(row, width) / count, static_cast<double>(eps) * kDown * kDown);
}

}  // namespace
}  // namespace mindiesd::kernels::cpu
