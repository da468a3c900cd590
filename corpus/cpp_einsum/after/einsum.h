// Attention by equations.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cmath>

namespace equations {

inline torch::Tensor of_heads(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
  return mindiesd::ext::attention_forward(q, k, v, {.scale = 0.25, .strides = "BNSD"});
}

inline torch::Tensor masked(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const torch::Tensor& hidden) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = ~hidden, .scale = 1.0 / 4.0, .strides = "BNSD"});
}

// The weights stand behind the values, with the same letters.
inline torch::Tensor other_order(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
  auto scores = torch::einsum("bqhd,bkhd->bhqk", {q, k}) * 0.25;
  return torch::einsum("bkhd,bhqk->bqhd", {v, torch::softmax(scores, -1)});
}

// Three operands at once.
inline torch::Tensor weighed(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& gain) {
  auto scores = torch::einsum("bqhd,bkhd,h->bhqk", {q, k, gain});
  return torch::einsum("bhqk,bkhd->bqhd", {torch::softmax(scores, -1), v});
}

}  // namespace equations
