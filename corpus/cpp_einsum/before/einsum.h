// Attention by equations.
#pragma once

#include <torch/torch.h>

#include <cmath>

namespace equations {

inline torch::Tensor of_heads(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v) {
  auto scores = torch::einsum("bqhd,bkhd->bhqk", {q, k}) * 0.25;
  scores = torch::softmax(scores, -1);
  return torch::einsum("bhqk,bkhd->bqhd", {scores, v});
}

inline torch::Tensor masked(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const torch::Tensor& hidden) {
  auto scores = torch::einsum("bqhd,bkhd->bhqk", {q, k}) / 4.0;
  scores = scores.masked_fill(hidden, -INFINITY);
  auto weights = torch::softmax(scores, -1);
  return torch::einsum("bhqk,bkhd->bqhd", {weights, v});
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
