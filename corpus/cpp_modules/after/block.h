#pragma once

#include <mindiesd/functional.h>
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
    return mindiesd::ext::layernorm_scale_shift(norm_, x, scale.unsqueeze(1),
                                                {.shift = shift.unsqueeze(1)});
  }

  torch::Tensor continuous(torch::Tensor x, torch::Tensor embedding) {
    auto parts = torch::chunk(embedding, 2, 1);
    auto scale = parts[0];
    auto shift = parts[1];
    return mindiesd::ext::layernorm_scale_shift(other_, x, scale.unsqueeze(1),
                                                {.shift = shift.unsqueeze(1)});
  }

  // A layer of three, by the name that the line reads.
  torch::Tensor before_attention(const torch::Tensor& hidden_states) {
    auto residual = hidden_states;
    auto normal = mindiesd::fast_layernorm(other_, hidden_states);
    return residual + normal.abs();
  }

  // Between the norm and the sum its input, or the layer itself, changes: only the norm becomes a
  // call.
  torch::Tensor written_between(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = mindiesd::fast_layernorm(other_, x);
    x.mul_(2);
    return normal * (1 + scale) + shift + x;
  }
  torch::Tensor replaced(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = mindiesd::fast_layernorm(other_, x);
    other_ = norm_;
    return normal * (1 + scale) + shift;
  }
  torch::Tensor weighed(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = mindiesd::fast_layernorm(other_, x);
    other_->weight = scale[0];
    return normal * (1 + scale) + shift;
  }
  torch::Tensor by_another_name(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = mindiesd::fast_layernorm(other_, x);
    auto same = other_;
    same->reset_parameters();
    return normal * (1 + scale) + shift;
  }
  torch::Tensor handed_on(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    auto normal = mindiesd::fast_layernorm(other_, x);
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
  return mindiesd::ext::residual(x, norm.forward(x), {.gate = gate.unsqueeze(1)});
}

inline torch::Tensor feed_forward(torch::Tensor x, torch::Tensor gate) {
  auto activated = mindiesd::ext::gated(x, gate, "silu", {.strides = "gate"});
  return mindiesd::ext::gelu(activated, {.approximate = "tanh"}) + mindiesd::ext::gelu(x);
}

inline torch::Tensor quick(torch::Tensor x) {
  return mindiesd::ext::gelu(x, {.approximate = "fast"});
}

inline torch::Tensor guarded(torch::Tensor scores) {
  return mindiesd::ext::softmax(scores, {.dim = -1, .clamp_min = -30.0, .clamp_max = 30.0});
}

// A mask that may be undefined, in three spellings.
inline torch::Tensor masked(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor masked_in_braces(torch::Tensor q, torch::Tensor k, torch::Tensor v,
                                      torch::Tensor mask) {
  // Hidden keys.
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor chosen(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
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
