// A norm that other files of the tree include by a folder that no file names.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

namespace layers {

inline torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return weight * mindiesd::ext::rms_norm(x, {.eps = eps, .result_type = "input"});
}

}  // namespace layers
