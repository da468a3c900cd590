// Rotations in the spellings of C++: how the halves or neighbours are taken.
#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <tuple>
#include <utility>
#include <vector>

namespace parts {

using torch::Tensor;
using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;

inline Tensor turn_by_index(const Tensor& x) {
  const auto half = x.size(-1) / 2;
  auto a = x.index({Ellipsis, Slice(0, half)}), b = x.index({Ellipsis, Slice(half)});
  return torch::cat({-b, a}, -1);
}

inline Tensor by_index(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(x, cos, sin, {.result_type = "promoted"});
}

inline Tensor by_index_in_place(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(x, cos, sin, {.result_type = "promoted"});
}

inline Tensor by_slice(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(x, cos, sin, {.result_type = "promoted"});
}

inline Tensor by_narrow(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto half = x.size(-1) / 2;
  return mindiesd::ext::rotary_position_embedding(x, cos, sin, {.result_type = "promoted"});
}

inline Tensor by_chunk(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

inline Tensor by_split(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

inline Tensor neighbours_by_step(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_interleaved", .result_type = "promoted"});
}

inline Tensor neighbours_by_slice(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_interleaved", .result_type = "promoted"});
}

inline Tensor neighbours_by_unbind(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto pairs = x.unflatten(-1, {-1, 2}).unbind(-1);
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_interleaved", .result_type = "promoted"});
}

inline Tensor neighbours_by_select(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto pairs = x.unflatten(-1, {-1, 2});
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_interleaved", .result_type = "promoted"});
}

inline Tensor by_tensor_split(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto halves = x.tensor_split(2, -1);
  return x * cos + torch::cat({-halves[1], halves[0]}, -1) * sin;
}

inline Tensor by_binding(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

inline Tensor by_tie(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor a, b;
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

// What the variables hold is read behind the rotation, too.
inline Tensor by_tie_and_read(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor a, b;
  auto halves = x.chunk(2, -1);
  std::tie(a, b) = std::make_tuple(halves[0], halves[1]);
  auto out = mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
  return out + a.sum();
}

inline Tensor by_get(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto halves = x.chunk(2, -1);
  const auto both = std::make_pair(halves[0], halves[1]);
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_chunks", .result_type = "promoted"});
}

inline Tensor joined_halves(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_half", .result_type = "promoted", .strides = "dense"});
}

inline Tensor joined_neighbours(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin,
      {.rotated_mode = "rotated_interleaved", .result_type = "promoted", .strides = "dense"});
}

// What is rotated is float32, and its type is what follows.
inline Tensor in_float32(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto pairs = x.to(torch::kFloat32).unflatten(-1, std::vector<int64_t>{-1, 2});
  return mindiesd::ext::rotary_position_embedding(
      x, cos, sin, {.rotated_mode = "rotated_interleaved", .strides = "dense"});
}

// One part gets another value before it is read.
inline Tensor stored_part(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  auto halves = std::make_tuple(parts[0], parts[1]);
  std::get<0>(halves) = parts[0] * 2;
  return x * cos + torch::cat({-std::get<1>(halves), std::get<0>(halves)}, -1) * sin;
}

inline Tensor stored_first(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  auto halves = std::make_pair(parts[0], parts[1]);
  halves.first = parts[0] * 2;
  return x * cos + torch::cat({-std::get<1>(halves), std::get<0>(halves)}, -1) * sin;
}

inline Tensor changed_by_reference(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto halves = x.chunk(2, -1);
  auto& first = halves[0];
  first = first * 2;
  return x * cos + torch::cat({-halves[1], halves[0]}, -1) * sin;
}

inline Tensor changed_by_a_method(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto halves = x.chunk(2, -1);
  Tensor& first = halves.front();
  first = first * 2;
  return x * cos + torch::cat({-halves[1], halves[0]}, -1) * sin;
}

inline Tensor part_of_what_is_assigned(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  auto halves = std::make_tuple(parts[0], parts[1]);
  const Tensor& first = std::get<0>(halves);
  halves = std::make_tuple(parts[1], parts[0]);
  return x * cos + torch::cat({-parts[1], first}, -1) * sin;
}

inline Tensor tied_references(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  Tensor a = parts[0], b = parts[1];
  const auto both = std::tie(a, b);
  a = parts[0] * 2;
  return x * cos + torch::cat({-std::get<1>(both), std::get<0>(both)}, -1) * sin;
}

inline Tensor tied_in_a_lambda(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  Tensor a, b;
  std::tie(a, b) = std::make_tuple(parts[0], parts[1]);
  const auto exchange = [&] { std::tie(a, b) = std::make_tuple(parts[1], parts[0]); };
  exchange();
  return x * cos + torch::cat({-b, a}, -1) * sin;
}

// In a loop the variables keep what the last round gave them.
inline Tensor tied_in_a_loop(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  Tensor a, b, out = x;
  for (int round = 0; round < 2; ++round) {
    if (round > 0) out = out + (x * cos + torch::cat({-b, a}, -1) * sin);
    auto halves = out.chunk(2, -1);
    std::tie(a, b) = std::make_tuple(halves[0], halves[1]);
  }
  return out;
}

inline Tensor in_another_build(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  auto parts = x.chunk(2, -1);
  auto halves = std::make_tuple(parts[0], parts[1]);
#ifdef EXCHANGED
  std::get<0>(halves) = parts[1];
#endif
  return x * cos + torch::cat({-std::get<1>(halves), std::get<0>(halves)}, -1) * sin;
}

// Not the halves of the last axis, and not half of it.
inline Tensor of_another_axis(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto half = x.size(-1) / 2;
  return x * cos + torch::cat({-x.slice(2, half), x.slice(2, 0, half)}, 2) * sin;
}

inline Tensor of_a_third(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  const auto third = x.size(-1) / 3;
  return x * cos + torch::cat({-x.slice(-1, third), x.slice(-1, 0, third)}, -1) * sin;
}

}  // namespace parts
