// Attention written out, with its scale as a number in the ways that C++ has.
#include <torch/torch.h>

#include <cmath>

namespace numbers {

using torch::Tensor;

Tensor literal(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / 8.0;
  return torch::matmul(torch::softmax(scores, -1), v);
}

Tensor root_of_a_size(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(q.size(-1));
  return torch::matmul(torch::softmax(scores, -1), v);
}

Tensor converted(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t width = q.size(-1);
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(width));
  scores = scores.softmax(-1);
  return torch::matmul(scores, v);
}

Tensor in_a_variable(const Tensor& q, const Tensor& k, const Tensor& v) {
  const double scale = 1.0 / std::sqrt(q.size(-1));
  auto scores = torch::matmul(q, k.transpose(-2, -1)) * scale;
  return torch::matmul(torch::softmax(scores, -1), v);
}

Tensor changed_in_between(const Tensor& q, const Tensor& k, const Tensor& v, int64_t width) {
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(width);
  width = v.size(-1);
  return torch::matmul(torch::softmax(scores, -1), v) * width;
}

class Attention : public torch::nn::Module {
 public:
  explicit Attention(int64_t width) : scale_(1.0 / std::sqrt(static_cast<double>(width))) {}

  Tensor of_a_member(const Tensor& q, const Tensor& k, const Tensor& v) {
    auto scores = torch::matmul(q, k.transpose(-2, -1)) * scale_;
    return torch::matmul(torch::softmax(scores, -1), v);
  }

  Tensor of_a_call(const Tensor& q, const Tensor& k, const Tensor& v) {
    return torch::scaled_dot_product_attention(q,    // queries
                                               k,    // keys
                                               v,    // values
                                               {},   // mask
                                               0.0,  // dropout
                                               false,
                                               scale_  // what scores are multiplied by
    );
  }

 private:
  double scale_;
};

}  // namespace numbers
