// Attention written out where loops, `switch`, `try` and branches with names of their own decide
// what runs.
#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <stdexcept>
#include <tuple>

namespace control {

using torch::Tensor;

// Each round makes its scores anew.
inline Tensor in_each_round(Tensor q, const Tensor& k, const Tensor& v, int64_t rounds) {
  for (int64_t round = 0; round < rounds; ++round) {
    if (round > 0) {
      q = q + mindiesd::ext::attention_forward(
          q, k, v, {.scale = 0.25, .head_first = true, .strides = "BNSD"});
    }
  }
  return q;
}

// What is left in `scores` is read by the next round.
inline Tensor kept_for_the_next_round(const Tensor& q, const Tensor& k, const Tensor& v,
                                      int64_t rounds) {
  Tensor scores = torch::zeros_like(torch::matmul(q, k.transpose(-1, -2)));
  Tensor out = q;
  for (int64_t round = 0; round < rounds; ++round) {
    out = out + scores.mean();
    scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
    out = out + torch::matmul(torch::softmax(scores, -1), v);
  }
  return out;
}

// `break` takes the scores out of the loop.
inline Tensor taken_out(const Tensor& q, const Tensor& k, const Tensor& v, int64_t rounds) {
  Tensor out = q;
  for (int64_t round = 0; round < 3; ++round) {
    auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
    if (round == rounds) {
      out = scores;
      break;
    }
    scores = torch::softmax(scores, -1);
    out = torch::matmul(scores, v);
  }
  return out;
}

// The variable of the head lives on from round to round.
inline Tensor in_the_head(const Tensor& q, const Tensor& k, const Tensor& v, int64_t rounds) {
  Tensor out = q;
  for (Tensor at = k; rounds > 0; --rounds) {
    out = out + mindiesd::ext::attention_forward(
        q, at, k, {.scale = 0.25, .head_first = true, .strides = "BNSD"});
    at = at + out.mean();
  }
  return out;
}

// Another part of a `switch` reads the scores.
inline Tensor read_by_a_case(const Tensor& q, const Tensor& k, const Tensor& v, int64_t kind) {
  Tensor scores = q;
  scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  Tensor out = torch::matmul(torch::softmax(scores, -1), v);
  switch (kind) {
    case 0:
      return out;
    case 1:
      return out + scores.mean();
    default:
      break;
  }
  return -out;
}

inline Tensor in_a_case(const Tensor& q, Tensor k, const Tensor& v, int64_t kind) {
  switch (kind) {
    case 0: {
      return mindiesd::ext::attention_forward(
          q, k, v, {.scale = 0.25, .head_first = true, .strides = "BNSD"});
    }
    case 1:
      k = v;
      [[fallthrough]];
    default:
      return mindiesd::ext::attention_forward(
          q, k, v, {.scale = 0.25, .head_first = true, .strides = "BNSD"});
  }
}

// A handler sees what the block had done when it threw.
inline Tensor in_a_handler(const Tensor& q, const Tensor& k, const Tensor& v, int64_t kind) {
  Tensor keys = k;
  try {
    if (kind == 0) throw std::runtime_error("kind");
    keys = v;
    if (kind == 1) throw std::runtime_error("kind");
    keys = q;
  } catch (const std::runtime_error&) {
    return mindiesd::ext::attention_forward(q, keys, v,
                                            {.scale = 0.25, .head_first = true, .strides = "BNSD"});
  }
  return keys;
}

inline Tensor with_a_name(const Tensor& q, Tensor k, const Tensor& v, int64_t kind) {
  if (const int64_t doubled = 2 * kind; doubled > 1) {
    k = v;
  } else {
    return mindiesd::ext::attention_forward(q, k, v,
                                            {.scale = 0.25, .head_first = true, .strides = "BNSD"});
  }
  return k;
}

// A part of a tuple that gets another value.
inline Tensor assigned_part(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto [keys, values] = std::make_tuple(k, v);
  keys = values;
  return mindiesd::ext::attention_forward(q, keys, k,
                                          {.scale = 0.25, .head_first = true, .strides = "BNSD"});
}

// One that is written in place between the parts.
inline Tensor written_part(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto [keys, values] = std::make_tuple(k.clone(), v.clone());
  auto scores = torch::matmul(q, keys.transpose(-1, -2)) * 0.25;
  keys.mul_(2.0);
  return torch::matmul(torch::softmax(scores, -1), keys) + values;
}

}  // namespace control
