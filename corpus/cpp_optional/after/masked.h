// Masks in a `std::optional`.
#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <optional>
#include <utility>

namespace masked {

using torch::Tensor;
using Mask = std::optional<torch::Tensor>;

inline Tensor has_value(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline Tensor condition(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline Tensor negated(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline Tensor defined_too(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline Tensor compared(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = mask, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

// One that is known to be there.
inline Tensor of_a_variable(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  if (!mask.has_value()) return q;
  const Tensor shown = *mask;
  return mindiesd::ext::attention_forward(
      q, k, v, {.attn_mask = shown, .scale = 0.25, .head_first = true, .strides = "BNSD"});
}

// A query in an optional is taken out of it.
inline Tensor of_a_query(const Mask& query, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(query.value(), k, v,
                                          {.scale = 0.25, .head_first = true, .strides = "BNSD"});
}

// What the optional holds gets another value in between.
inline Tensor another(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask.has_value()) {
    scores = scores + mask.value();
  }
  mask.value() = v.mean(-1, true).transpose(-1, -2) + *mask;
  return torch::matmul(torch::softmax(scores, -1), v) + mask->mean();
}

inline Tensor by_reference(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask) {
  Tensor& held = *mask;
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25 + *mask;
  held = held * 2;
  return torch::matmul(torch::softmax(scores, -1), v) + mask.value().mean();
}

inline Tensor put_back(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask) scores = scores + *mask;
  mask.reset();
  return torch::matmul(torch::softmax(scores, -1), v);
}

class Attention {
 public:
  explicit Attention(Mask mask) : mask_(std::move(mask)) {}

  Tensor member(const Tensor& q, const Tensor& k, const Tensor& v) {
    return mindiesd::ext::attention_forward(
        q, k, v, {.attn_mask = mask_, .scale = 0.25, .head_first = true, .strides = "BNSD"});
  }

  Tensor stored(const Tensor& q, const Tensor& k, const Tensor& v) {
    auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
    if (mask_.has_value()) {
      scores = scores + mask_.value();
    }
    mask_.reset();
    return torch::matmul(torch::softmax(scores, -1), v);
  }

 private:
  Mask mask_;
};

}  // namespace masked
