#include <torch/torch.h>

#define ATTEND(q, k, v) torch::scaled_dot_product_attention(q, k, v)

namespace other {
// Somebody else's function of that name.
torch::Tensor scaled_dot_product_attention(const torch::Tensor& q, const torch::Tensor& k,
                                           const torch::Tensor& v) {
  return torch::matmul(torch::sigmoid(torch::matmul(q, k.transpose(-2, -1))), v);
}
}  // namespace other

torch::Tensor by_macro(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return ATTEND(q, k, v);
}

torch::Tensor by_other(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  return other::scaled_dot_product_attention(q, k, v);
}

template <typename Tensors>
torch::Tensor by_template(const Tensors& t) {
  return torch::scaled_dot_product_attention(t.q, t.k, t.v);
}

torch::Tensor with_gradients(torch::Tensor q, torch::Tensor k, torch::Tensor v) {
  torch::AutoGradMode on(true);
  return torch::scaled_dot_product_attention(q, k, v);
}

// The halves are written to after they were taken.
torch::Tensor rotate_in_place(torch::Tensor x, torch::Tensor cos, torch::Tensor sin) {
  auto halves = x.chunk(2, -1);
  auto rotated = torch::cat({-halves[1], halves[0]}, -1);
  x.mul_(2.0);
  return x * cos + rotated * sin;
}

// The mean is not over the last dimension.
torch::Tensor norm_of_channels(torch::Tensor x, torch::Tensor weight) {
  return x * torch::rsqrt(x.pow(2).mean(1, true) + 1e-6) * weight;
}
