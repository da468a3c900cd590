// Masks in a `std::optional`.
#include <torch/torch.h>

#include <optional>
#include <utility>

namespace masked {

using torch::Tensor;
using Mask = std::optional<torch::Tensor>;

inline Tensor has_value(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask.has_value()) {
    scores = scores + mask.value();
  }
  scores = torch::softmax(scores, -1);
  return torch::matmul(scores, v);
}

inline Tensor condition(const Tensor& q, const Tensor& k, const Tensor& v, Mask mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask) scores = scores + *mask;
  return torch::matmul(torch::softmax(scores, -1), v);
}

inline Tensor negated(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  return torch::matmul(torch::softmax(!mask ? scores : scores + *mask, -1), v);
}

inline Tensor defined_too(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask.has_value() && mask->defined()) {
    scores = scores + mask.value();
  }
  return torch::matmul(torch::softmax(scores, -1), v);
}

inline Tensor compared(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
  if (mask != std::nullopt) scores = scores + mask.value();
  return torch::matmul(torch::softmax(scores, -1), v);
}

// One that is known to be there.
inline Tensor of_a_variable(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask) {
  if (!mask.has_value()) return q;
  const Tensor shown = *mask;
  auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25 + shown;
  return torch::matmul(torch::softmax(scores, -1), v);
}

// A query in an optional is taken out of it.
inline Tensor of_a_query(const Mask& query, const Tensor& k, const Tensor& v) {
  auto scores = torch::matmul(query.value(), k.transpose(-1, -2)) * 0.25;
  return torch::matmul(torch::softmax(scores, -1), v);
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
    auto scores = torch::matmul(q, k.transpose(-1, -2)) * 0.25;
    if (mask_.has_value()) {
      scores = scores + mask_.value();
    }
    return torch::matmul(torch::softmax(scores, -1), v);
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
