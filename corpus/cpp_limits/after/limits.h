// Scores that are hidden by what std::numeric_limits gives.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace limits {

inline torch::Tensor infinite(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = ~hidden, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor infinite_double(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor seen) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.attn_mask = ~seen.logical_not(),
       .scale = 1.0 / std::sqrt(q.size(-1)),
       .head_first = true,
       .strides = "BNSD"});
}

inline torch::Tensor by_macro(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = ~hidden, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor in_place(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;
  scores.masked_fill_(hidden, -std::numeric_limits<float>::infinity());
  return torch::matmul(torch::softmax(scores, -1), v);
}

inline torch::Tensor lowest(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.attn_mask = ~hidden,
       .scale = 0.25,
       .head_first = true,
       .strides = "BNSD",
       .without_key = "mean"});
}

inline torch::Tensor negated(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.attn_mask = ~hidden,
       .scale = 0.25,
       .head_first = true,
       .strides = "BNSD",
       .without_key = "mean"});
}

// The least positive number hides nothing, and a whole number has no infinity: it is 0.
inline torch::Tensor smallest(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;
  scores = scores.masked_fill(hidden, -1 * std::numeric_limits<float>::min());
  return torch::matmul(torch::softmax(scores, -1), v);
}

inline torch::Tensor of_whole_numbers(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;
  scores = scores.masked_fill(hidden, -std::numeric_limits<int>::infinity());
  return torch::matmul(torch::softmax(scores, -1), v);
}

// Everything but what is hidden is hidden: infinity without its sign.
inline torch::Tensor above(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor hidden) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * 0.25;
  scores = scores.masked_fill(hidden, std::numeric_limits<float>::max());
  return torch::matmul(torch::softmax(scores, -1), v);
}

}  // namespace limits
