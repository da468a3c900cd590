#pragma once

#include <torch/torch.h>

namespace dit {

// A norm that an embedding scales and shifts, in the forms that blocks have.
class AdaptiveNormImpl : public torch::nn::Module {
 public:
  explicit AdaptiveNormImpl(int64_t width) {
    norm_ = register_module(
        "norm", torch::nn::LayerNorm(
                    torch::nn::LayerNormOptions({width}).elementwise_affine(false).eps(1e-6)));
    other_ = register_module("other", torch::nn::LayerNorm(torch::nn::LayerNormOptions({width})));
  }

  torch::Tensor forward(torch::Tensor x, torch::Tensor embedding) {
    auto parts = torch::chunk(embedding, 2, 1);
    auto shift = parts[0];
    auto scale = parts[1];
    return norm_->forward(x) * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1);
  }

  torch::Tensor continuous(torch::Tensor x, torch::Tensor embedding) {
    auto parts = torch::chunk(embedding, 2, 1);
    auto scale = parts[0];
    auto shift = parts[1];
    auto normal = other_(x);
    return normal * (1 + scale).unsqueeze(1) + shift.unsqueeze(1);
  }

  // A layer of three, by the name that the line reads.
  torch::Tensor before_attention(const torch::Tensor& hidden_states) {
    auto residual = hidden_states;
    auto normal = other_->forward(hidden_states);
    return residual + normal.abs();
  }

  // Between the norm and the sum its input, or the layer itself, changes: only the norm becomes a
  // call.
  torch::Tensor written_between(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = other_->forward(x);
    x.mul_(2);
    return normal * (1 + scale) + shift + x;
  }
  torch::Tensor replaced(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = other_->forward(x);
    other_ = norm_;
    return normal * (1 + scale) + shift;
  }
  torch::Tensor weighed(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = other_->forward(x);
    other_->weight = scale[0];
    return normal * (1 + scale) + shift;
  }
  torch::Tensor by_another_name(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = other_->forward(x);
    auto same = other_;
    same->reset_parameters();
    return normal * (1 + scale) + shift;
  }
  torch::Tensor handed_on(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = other_->forward(x);
    std::swap(other_->weight, other_->bias);
    return normal * (1 + scale) + shift;
  }

  // Not through a pointer, so that there is no `->` for the call.
  torch::Tensor by_reference(torch::nn::LayerNormImpl& norm, torch::Tensor x, torch::Tensor scale) {
    return norm.forward(x) * (1 + scale) + scale;
  }

 private:
  torch::nn::LayerNorm norm_{nullptr}, other_{nullptr};
};
TORCH_MODULE(AdaptiveNorm);

// LayerNorm by somebody else's name.
struct LayerNorm {
  torch::Tensor forward(torch::Tensor x) { return x - x.mean(-1, true); }
};

inline torch::Tensor centred(LayerNorm& norm, torch::Tensor x, torch::Tensor gate) {
  return x + gate.unsqueeze(1) * norm.forward(x);
}

inline torch::Tensor feed_forward(torch::Tensor x, torch::Tensor gate) {
  auto activated = torch::silu(gate) * x;
  return torch::gelu(activated, "tanh") + torch::gelu(x);
}

inline torch::Tensor quick(torch::Tensor x) {
  return x * torch::sigmoid(1.702 * x);
}

inline torch::Tensor guarded(torch::Tensor scores) {
  return torch::softmax(torch::clamp(scores, -30.0, 30.0), -1);
}

// A mask that may be undefined, in three spellings.
inline torch::Tensor masked(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask.defined()) scores = scores + mask;
  scores = torch::softmax(scores, -1);
  return torch::matmul(scores, v);
}

inline torch::Tensor masked_in_braces(torch::Tensor q, torch::Tensor k, torch::Tensor v,
                                      torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask.defined()) {
    // Hidden keys.
    scores = scores + mask;
  }
  auto weights = torch::softmax(scores, -1);
  return torch::matmul(weights, v);
}

inline torch::Tensor chosen(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  scores = torch::softmax(!mask.defined() ? scores : scores + mask, -1);
  return torch::matmul(scores, v);
}

// What would go is all that an `else` holds.
inline torch::Tensor alone(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (v.numel() == 0)
    return v;
  else
    scores = scores + mask;
  scores = torch::softmax(scores, -1);
  return torch::matmul(scores, v);
}

}  // namespace dit
