// Attention whose dropout is off outside training.
#pragma once

#include <torch/torch.h>

namespace training {

struct AttentionImpl : torch::nn::Module {
  explicit AttentionImpl(double rate) : rate(rate) {}

  torch::Tensor causal(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return torch::scaled_dot_product_attention(q, k, v, {}, is_training() ? rate : 0.0, true);
  }

  torch::Tensor off(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return torch::scaled_dot_product_attention(q, k, v, {}, !this->is_training() ? 0.0 : rate);
  }

  // The other way round: it drops when it does not train.
  torch::Tensor turned_round(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return torch::scaled_dot_product_attention(q, k, v, {}, is_training() ? 0.0 : rate);
  }

  double rate;
};
TORCH_MODULE(Attention);

// A method of that name that is no module's.
struct Other {
  bool is_training() const { return calls++ > 0; }
  torch::Tensor causal(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) const {
    return torch::scaled_dot_product_attention(q, k, v, {}, is_training() ? 0.5 : 0.0);
  }
  mutable int calls = 0;
};

}  // namespace training
