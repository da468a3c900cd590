#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cstdint>

namespace dit {

// Root mean square normalisation over the last dimension.
struct RMSNormImpl : torch::nn::Module {
  explicit RMSNormImpl(int64_t dim, double eps = 1e-6) : eps_(eps) {
    weight = register_parameter("weight", torch::ones({dim}));
  }

  torch::Tensor forward(const torch::Tensor& x) {
    return mindiesd::ext::rms_norm(x, {.weight = weight, .eps = eps_});
  }

  torch::Tensor weight;

 private:
  double eps_;
};
TORCH_MODULE(RMSNorm);

}  // namespace dit
