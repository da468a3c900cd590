#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace dit {

// Root mean square normalisation over the last dimension.
struct RMSNormImpl : torch::nn::Module {
  explicit RMSNormImpl(int64_t dim, double eps = 1e-6) : eps_(eps) {
    weight = register_parameter("weight", torch::ones({dim}));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    auto h = x.to(torch::kFloat32);
    auto variance = h.pow(2).mean(-1, /*keepdim=*/true);
    h = h * torch::rsqrt(variance + eps_);
    return weight * h.to(x.scalar_type());
  }

  torch::Tensor weight;

 private:
  double eps_;
};
TORCH_MODULE(RMSNorm);

}  // namespace dit
