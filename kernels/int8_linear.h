// The description of a linear layer whose weight is int8; those of the other operations are in
// problem.h.

#pragma once

#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels {

// The most rows of input for which reading a weight is what a product costs; more of them are a
// matter of a matrix product with a weight of the input's own type.
inline constexpr std::int64_t kMostInt8Rows = 16;

// output[i, n] = scales[n] * sum_k input[i, k] * weight[n, k] + bias[n]; sums are float32 and only
// the result is rounded. Rows of all matrices are dense; strides are those of rows.
struct Int8Linear {
  std::int64_t rows = 0, depth = 0, width = 0;
  DataType type = DataType::kFloat32;   // of input, bias and output
  const void* input = nullptr;          // [rows, depth]
  const std::int8_t* weight = nullptr;  // [width, depth]
  const float* scales = nullptr;        // [width]
  const void* bias = nullptr;           // [width], or absent
  void* output = nullptr;               // [rows, width]
  std::int64_t input_stride = 0, weight_stride = 0, output_stride = 0;
};

}  // namespace mindiesd::kernels
