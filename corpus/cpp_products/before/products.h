// Products gated by activations, and activations, as functions of torch, of torch::nn::functional
// and by hand, with what is nearly one.
#pragma once

#include <torch/torch.h>

namespace products {

namespace F = torch::nn::functional;
using torch::Tensor;

inline Tensor swiglu(const Tensor& x) {
  auto parts = x.chunk(2, -1);
  return parts[0] * F::silu(parts[1]);
}

inline Tensor geglu(const Tensor& x) {
  auto parts = x.chunk(2, /*dim=*/-1);
  return F::gelu(parts[0]) * parts[1];
}

inline Tensor of_two(const Tensor& gate, const Tensor& x) { return torch::silu(gate) * x; }

inline Tensor by_tanh(const Tensor& gate, const Tensor& x) {
  return F::gelu(gate, F::GELUFuncOptions().approximate("tanh")) * x;
}

inline Tensor alone(const Tensor& x) { return torch::gelu(x, "tanh"); }

inline Tensor quick(const Tensor& x) { return x * torch::sigmoid(1.702 * x); }

inline Tensor in_parts(Tensor x) {
  x = torch::gelu(x);
  x = x + 1;
  return torch::silu(x);
}

// Another factor, so that it is no quick gelu.
inline Tensor other_factor(const Tensor& x) { return x * torch::sigmoid(1.5 * x); }

// The product is divided into three.
inline Tensor of_three(const Tensor& x) {
  auto parts = x.chunk(3, -1);
  return torch::silu(parts[0]) * parts[1] + parts[2];
}

// The gate is written between.
inline Tensor written(Tensor gate, Tensor x) {
  auto active = torch::silu(gate);
  gate.mul_(2);
  return active * x + gate;
}

// A relu is no activation of the runtime.
inline Tensor reglu(const Tensor& x) {
  auto parts = x.chunk(2, -1);
  return torch::relu(parts[0]) * parts[1];
}

}  // namespace products
