// Branches of the preprocessor around, inside and beside what is rewritten; another build may
// compile others of them.
#include <torch/torch.h>

#include <cmath>

namespace conditions {

using torch::Tensor;

// One branch is attention, the other is attention written out.
inline Tensor one_of_two(Tensor q, Tensor k, Tensor v) {
#ifdef WITH_FUSED
  return torch::scaled_dot_product_attention(q, k, v);
#else
  auto scores = torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(q.size(-1)));
  return torch::matmul(torch::softmax(scores, -1), v);
#endif
}

// A branch inside another one, and one behind `#elif`.
inline Tensor one_of_three(Tensor x) {
#if defined(WITH_FUSED)
#ifdef WITH_TANH
  return torch::gelu(x, "tanh");
#else
  return torch::gelu(x);
#endif
#elif defined(WITH_TANH)
  return torch::gelu(x + 1, "tanh");
#else
  return torch::silu(x);
#endif
}

// Nothing that the other branch names goes or is looked through.
inline Tensor beside(Tensor x) {
#ifdef WITH_FUSED
  x = x + 1;
#endif
  auto out = torch::silu(x);
#ifdef WITH_FUSED
  out = out * 2;
#endif
  return out;
}

// The scale is another one in another build, and stays in both.
inline Tensor scaled(Tensor q, Tensor k, Tensor v) {
  double scale = 0.5;
#ifdef WITH_FUSED
  scale = 0.25;
#endif
  auto weights = torch::softmax(torch::matmul(q, k.transpose(-2, -1)) * scale, -1);
  return torch::matmul(weights, v) * scale;
}

// The weights are read by another build.
inline Tensor read_elsewhere(Tensor q, Tensor k, Tensor v) {
  auto weights = torch::softmax(torch::matmul(q, k.transpose(-2, -1)), -1);
  auto out = torch::matmul(weights, v);
#ifdef WITH_FUSED
  out = out + weights.sum();
#endif
  return out;
}

// Which function this is depends on the build, too.
#ifdef WITH_FUSED
inline Tensor turn(const Tensor& x) {
  auto halves = x.chunk(2, -1);
  return torch::cat({halves[1], -halves[0]}, -1);
}
#else
inline Tensor turn(const Tensor& x) {
  auto halves = x.chunk(2, -1);
  return torch::cat({-halves[1], halves[0]}, -1);
}
#endif

inline Tensor rotated(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return x * cos + turn(x) * sin;
}

// As is what this one gives.
inline Tensor swap(const Tensor& x) {
  auto halves = x.chunk(2, -1);
#ifdef WITH_FUSED
  halves = (x * 2).chunk(2, -1);
#endif
  return torch::cat({-halves[1], halves[0]}, -1);
}

inline Tensor swapped(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return x * cos + swap(x) * sin;
}

// A member of another class in another build.
struct OwnNorm {
  Tensor forward(const Tensor& x) { return x - x.mean(); }
  OwnNorm* operator->() { return this; }
};

struct Block {
#ifdef WITH_FUSED
  OwnNorm norm;
#else
  torch::nn::LayerNorm norm{torch::nn::LayerNormOptions({16}).elementwise_affine(false)};
#endif
  Tensor forward(Tensor x, Tensor scale, Tensor shift) {
    return norm->forward(x) * (1 + scale) + shift;
  }
};

#if 0
inline Tensor dropped(Tensor x) { return torch::gelu(x); }
#endif

}  // namespace conditions
