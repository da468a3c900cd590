// A linear layer of few rows of input whose weight is int8, on the CPU, in float32. Entry point:
// int8_linear.
//
// A part of a weight's row is widened once, in the nearest cache, and multiplied with every row of
// input; memory gives a quarter of the bytes that a float32 weight has.

#include "kernels/cpu/isa/kernels.h"
#include "kernels/cpu/isa/simd.h"

namespace mindiesd::kernels::cpu::MINDIESD_ISA {
namespace {

constexpr int64_t kPart = 2048;

// sums[r] += sum of input[r * depth + i] * weight[i], for one row of input and for four at once.
void add_row(float* sums, const float* input, const float* weight, int64_t count) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += input[i] * weight[i];
  sums[0] += sum;
}
void add_four(float* sums, const float* input, int64_t depth, const float* weight, int64_t count) {
  const float* second = input + depth;
  const float* third = second + depth;
  const float* fourth = third + depth;
  float a = 0.0F, b = 0.0F, c = 0.0F, d = 0.0F;
#pragma omp simd reduction(+ : a, b, c, d)
  for (int64_t i = 0; i < count; ++i) {
    a += input[i] * weight[i];
    b += second[i] * weight[i];
    c += third[i] * weight[i];
    d += fourth[i] * weight[i];
  }
  sums[0] += a, sums[1] += b, sums[2] += c, sums[3] += d;
}

// The outputs of one row of the weight. `input`: float32 rows, `depth` apart.
void multiply_row(const Int8Linear& p, const float* input, int64_t n) {
  alignas(64) float part[kPart];
  float sums[kMostInt8Rows] = {};
  for (int64_t first = 0; first < p.depth; first += kPart) {
    const int64_t count = min_of(kPart, p.depth - first);
    const int8_t* weight = p.weight + n * p.weight_stride + first;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) part[i] = static_cast<float>(weight[i]);
    int64_t row = 0;
    for (; row + 4 <= p.rows; row += 4) {
      add_four(sums + row, input + row * p.depth + first, p.depth, part, count);
    }
    for (; row < p.rows; ++row) add_row(sums + row, input + row * p.depth + first, part, count);
  }
  float bias = 0.0F;
  if (p.bias != nullptr) load_row(&bias, at(p.bias, p.type, n), p.type, 1, 1);
  for (int64_t row = 0; row < p.rows; ++row) {
    const float result = p.scales[n] * sums[row] + bias;
    store_row(at(p.output, p.type, row * p.output_stride + n), &result, p.type, 1, 1);
  }
}

}  // namespace

LaunchStatus int8_linear(const Int8Linear& p) {
  if (p.rows > kMostInt8Rows) return LaunchStatus::kUnsupported;
  OutOfMemory out_of_memory;
  const int64_t work = p.rows * p.depth;
  parallel_for(p.width, row_grain(p.depth), [&](int64_t begin, int64_t end) {
    float* input = scratch(ScratchSlot::kRow, static_cast<size_t>(max_of(work, 1)));
    if (input == nullptr) {
      out_of_memory.set();
      return;
    }
    for (int64_t row = 0; row < p.rows; ++row) {
      load_row(input + row * p.depth, at(p.input, p.type, row * p.input_stride), p.type, 1,
               p.depth);
    }
    for (int64_t n = begin; n < end; ++n) multiply_row(p, input, n);
  });
  return out_of_memory.status();
}

}  // namespace mindiesd::kernels::cpu::MINDIESD_ISA
