// A norm that other files of the tree include by a folder that no file names.
#pragma once

#include <torch/torch.h>

namespace layers {

inline torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  auto wide = x.to(torch::kFloat32);
  wide = wide * torch::rsqrt(wide.pow(2).mean(-1, true) + eps);
  return weight * wide.to(x.scalar_type());
}

}  // namespace layers
