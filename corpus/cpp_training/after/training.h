// Attention whose dropout is off outside training.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

namespace training {

struct AttentionImpl : torch::nn::Module {
  explicit AttentionImpl(double rate) : rate(rate) {}

  torch::Tensor causal(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return mindiesd::ext::attention_forward(q, k, v, {.head_first = true, .is_causal = true});
  }

  torch::Tensor off(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return mindiesd::ext::attention_forward(q, k, v, {.head_first = true});
  }

  // The other way round: it drops when it does not train.
  torch::Tensor turned_round(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
    return mindiesd::ext::attention_forward(q, k, v, {.head_first = true});
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
