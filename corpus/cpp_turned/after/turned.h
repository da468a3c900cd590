// Keys that are turned where they are multiplied, and masks that are made where they are filled in:
// they have no name, so that the new call writes them out again.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cmath>

namespace turned {

inline torch::Tensor of_batches(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return mindiesd::ext::attention_forward(
      q, k.transpose(1, 2).transpose(-2, -1), v,
      {.scale = 1.0 / std::sqrt(k.size(-1)), .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor of_rows(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return mindiesd::ext::attention_forward(q, k.t().transpose(-2, -1), v,
                                          {.scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor by_permutation(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.scale = 1.0 / 4.0, .head_first = true, .strides = "BNSD"});
}

inline torch::Tensor masked(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.attn_mask = ~(mask == 0),
       .scale = 1.0 / std::sqrt(k.size(-1)),
       .head_first = true,
       .strides = "BNSD",
       .without_key = "mean"});
}

inline torch::Tensor unsqueezed(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.attn_mask = ~(mask.unsqueeze(1) == 0),
       .scale = 1.0 / std::sqrt(k.size(-1)),
       .head_first = true,
       .strides = "BNSD",
       .without_key = "mean"});
}

// The mask is written between, so that its text would mean something else behind that.
inline torch::Tensor written(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(k.size(-1));
  scores = scores.masked_fill(mask == 0, -1e9);
  mask.fill_(1);
  return torch::matmul(scores.softmax(-1), v);
}

inline torch::Tensor key_written(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto scores = q.matmul(k.transpose(1, 2)) / 4.0;
  k.mul_(2);
  return scores.softmax(-1).matmul(v);
}

// The name has another value by then.
inline torch::Tensor key_named_anew(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto scores = q.matmul(k.transpose(1, 2)) / 4.0;
  k = k * 2;
  return scores.softmax(-1).matmul(v);
}

inline torch::Tensor axis_counted(torch::Tensor q, torch::Tensor k, torch::Tensor v, int axis) {
  auto scores = q.matmul(k.transpose(axis, 2)) / 4.0;
  axis = 0;
  return scores.softmax(-1).matmul(v);
}

inline torch::Tensor axis_hidden(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  torch::Tensor scores;
  int axis = 1;
  scores = q.matmul(k.transpose(axis, 2)) / 4.0;
  {
    int axis = 0;
    v = v * (axis + 1);
    return scores.softmax(-1).matmul(v);
  }
}

inline torch::Tensor axis_asked(torch::Tensor q, torch::Tensor k, torch::Tensor v, int& asked) {
  const auto next = [&asked] { return ++asked; };
  auto scores = q.matmul(k.transpose(next(), 2)) / 4.0;
  return scores.softmax(-1).matmul(v);
}

struct Holder {
  torch::Tensor key;
  int64_t axis = 1;
  void set(torch::Tensor k) { key = k; }

  torch::Tensor stored(torch::Tensor q, torch::Tensor v) {
    auto scores = q.matmul(key.transpose(1, 2)) / 4.0;
    key = key * 2;
    return scores.softmax(-1).matmul(v);
  }

  torch::Tensor held(torch::Tensor q, torch::Tensor v) {
    return mindiesd::ext::attention_forward(
        q, key.transpose(1, 2).transpose(-2, -1), v,
        {.scale = 1.0 / 4.0, .head_first = true, .strides = "BNSD"});
  }

  torch::Tensor set_by_a_call(torch::Tensor q, torch::Tensor v) {
    auto scores = q.matmul(key.transpose(1, 2)) / 4.0;
    set(key * 2);
    return scores.softmax(-1).matmul(v);
  }
};

}  // namespace turned
