// Attention written out, with its scale as a number in the ways that C++ has.
#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cmath>

namespace numbers {

using torch::Tensor;

Tensor literal(const Tensor& q, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.scale = 1.0 / 8.0, .head_first = true, .strides = "BNSD"});
}

Tensor root_of_a_size(const Tensor& q, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(
      q, k, v, {.scale = 1.0 / std::sqrt(q.size(-1)), .head_first = true, .strides = "BNSD"});
}

Tensor converted(const Tensor& q, const Tensor& k, const Tensor& v) {
  const int64_t width = q.size(-1);
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.scale = 1.0 / std::sqrt(static_cast<double>(width)),
       .head_first = true,
       .strides = "BNSD"});
}

Tensor in_a_variable(const Tensor& q, const Tensor& k, const Tensor& v) {
  const double scale = 1.0 / std::sqrt(q.size(-1));
  return mindiesd::ext::attention_forward(q, k, v,
                                          {.scale = scale, .head_first = true, .strides = "BNSD"});
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
    return mindiesd::ext::attention_forward(
        q, k, v, {.scale = scale_, .head_first = true, .strides = "BNSD"});
  }

  Tensor of_a_call(const Tensor& q, const Tensor& k, const Tensor& v) {
    return mindiesd::ext::attention_forward(q,    // queries
                                               k,    // keys
                                               v,    // values
                                               {.scale = scale_,  // what scores are multiplied by
                                                .head_first = true});
  }

 private:
  double scale_;
};

}  // namespace numbers
