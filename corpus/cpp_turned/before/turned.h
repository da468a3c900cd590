// Keys that are turned where they are multiplied, and masks that are made where they are filled in:
// they have no name, so that the new call writes them out again.
#pragma once

#include <torch/torch.h>

#include <cmath>

namespace turned {

inline torch::Tensor of_batches(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto scores = q.matmul(k.transpose(1, 2));
  auto weights = torch::softmax(scores / std::sqrt(k.size(-1)), -1);
  return weights.matmul(v);
}

inline torch::Tensor of_rows(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto weights = torch::softmax(torch::mm(q, k.t()) * 0.25, -1);
  return torch::mm(weights, v);
}

inline torch::Tensor by_permutation(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  auto scores = torch::bmm(q, k.permute({0, 2, 1})) / 4.0;
  return torch::bmm(torch::softmax(scores, -1), v);
}

inline torch::Tensor masked(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(k.size(-1));
  scores = scores.masked_fill(mask == 0, -1e9);
  auto weights = torch::softmax(scores, -1);
  return torch::matmul(weights, v);
}

inline torch::Tensor unsqueezed(torch::Tensor q, torch::Tensor k, torch::Tensor v, torch::Tensor mask) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(k.size(-1));
  scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9);
  return torch::matmul(scores.softmax(-1), v);
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
    auto scores = q.matmul(key.transpose(1, 2)) / 4.0;
    return scores.softmax(-1).matmul(v);
  }

  torch::Tensor set_by_a_call(torch::Tensor q, torch::Tensor v) {
    auto scores = q.matmul(key.transpose(1, 2)) / 4.0;
    set(key * 2);
    return scores.softmax(-1).matmul(v);
  }
};

}  // namespace turned
