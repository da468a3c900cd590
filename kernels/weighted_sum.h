// The description of a weighted sum of whole tensors; those of the other operations are in
// problem.h.

#pragma once

#include <cstdint>

#include "kernels/problem.h"

namespace mindiesd::kernels {

inline constexpr int kMaxTerms = 8;

// output = scale * (weights[0] * terms[0] + weights[1] * terms[1] + ...) over `count` elements,
// which lie behind each other in the same order everywhere. All have one type; the sum is float32
// and only the result is rounded. Output may be one of the terms.
struct WeightedSum {
  std::int64_t count = 0;
  int term_count = 0;
  DataType type = DataType::kFloat32;
  const void* terms[kMaxTerms] = {};
  float weights[kMaxTerms] = {};
  float scale = 1.0F;
  void* output = nullptr;
};

}  // namespace mindiesd::kernels
