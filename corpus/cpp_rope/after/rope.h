// Rotations as ports of language models write them: of halves by slice, of pairs by select and by
// steps, each with what is nearly one.
#pragma once

#include <mindiesd/functional.h>
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
  auto turned_q = mindiesd::ext::rotary_position_embedding(q, cos, sin,
                                                           {.result_type = "promoted"});
  auto turned_k = mindiesd::ext::rotary_position_embedding(k, cos, sin,
                                                           {.result_type = "promoted"});
  return std::make_tuple(turned_q, turned_k);
}

inline Tensor halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

inline Tensor pairs(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto both = x.unflatten(-1, {-1, 2});
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin,
      {.rotated_mode = "rotated_interleaved", .result_type = "promoted", .strides = "dense"});
}

inline Tensor steps(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  using torch::indexing::Ellipsis;
  using torch::indexing::None;
  using torch::indexing::Slice;
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin,
      {.rotated_mode = "rotated_interleaved", .result_type = "promoted", .strides = "dense"});
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
