// Rotations as ports of language models write them: of halves by slice, of pairs by select and by
// steps, each with what is nearly one.
#pragma once

#include <torch/torch.h>

#include <tuple>

namespace rope {

using torch::Tensor;

inline Tensor rotate_half(const Tensor& x) {
  const int64_t half = x.size(-1) / 2;
  auto first = x.slice(-1, 0, half);
  auto second = x.slice(-1, half);
  return torch::cat({-second, first}, -1);
}

inline std::tuple<Tensor, Tensor> apply(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin) {
  auto turned_q = (q * cos) + (rotate_half(q) * sin);
  auto turned_k = (k * cos) + (rotate_half(k) * sin);
  return std::make_tuple(turned_q, turned_k);
}

inline Tensor halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  return x * cos + torch::cat({-parts[1], parts[0]}, -1) * sin;
}

inline Tensor pairs(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto both = x.unflatten(-1, {-1, 2});
  auto even = both.select(-1, 0);
  auto odd = both.select(-1, 1);
  auto first = even * cos - odd * sin;
  auto second = even * sin + odd * cos;
  return torch::stack({first, second}, -1).flatten(-2);
}

inline Tensor steps(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  using torch::indexing::Ellipsis;
  using torch::indexing::None;
  using torch::indexing::Slice;
  auto even = x.index({Ellipsis, Slice(0, None, 2)});
  auto odd = x.index({Ellipsis, Slice(1, None, 2)});
  return torch::stack({even * cos - odd * sin, even * sin + odd * cos}, -1).flatten(-2);
}

// Turned the other way round.
inline Tensor backwards(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  return x * cos - torch::cat({-parts[1], parts[0]}, -1) * sin;
}

// A half that is not negated.
inline Tensor mirrored(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  return x * cos + torch::cat({parts[1], parts[0]}, -1) * sin;
}

// Along another axis than the last.
inline Tensor along_rows(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -2);
  return x * cos + torch::cat({-parts[1], parts[0]}, -2) * sin;
}

// Pairs that are joined as halves.
inline Tensor joined_otherwise(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto both = x.unflatten(-1, {-1, 2});
  auto even = both.select(-1, 0);
  auto odd = both.select(-1, 1);
  return torch::cat({even * cos - odd * sin, even * sin + odd * cos}, -1);
}

// What is turned gets another value between.
inline Tensor written(Tensor x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  auto turned = torch::cat({-parts[1], parts[0]}, -1);
  x.mul_(2);
  return x * cos + turned * sin;
}

}  // namespace rope
