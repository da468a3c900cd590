// Products gated by activations, and activations, as functions of torch, of torch::nn::functional
// and by hand, with what is nearly one.
#pragma once

#include <mindiesd/functional.h>
#include <torch/torch.h>

namespace products {

namespace F = torch::nn::functional;
using torch::Tensor;

inline Tensor swiglu(const Tensor& x) {
  return mindiesd::ext::glu(x, "silu", {.dim = -1});
}

inline Tensor geglu(const Tensor& x) {
  return mindiesd::ext::glu(x, "gelu", {.gate = "first", .dim = -1});
}

inline Tensor of_two(const Tensor& gate, const Tensor& x) { return mindiesd::ext::gated(
    x, gate, "silu", {.strides = "gate"}); }

inline Tensor by_tanh(const Tensor& gate, const Tensor& x) {
  return mindiesd::ext::gelu(gate, {.approximate = "tanh"}) * x;
}

inline Tensor alone(const Tensor& x) { return mindiesd::ext::gelu(x, {.approximate = "tanh"}); }

inline Tensor quick(const Tensor& x) { return mindiesd::ext::gelu(x, {.approximate = "fast"}); }

inline Tensor in_parts(Tensor x) {
  x = mindiesd::ext::gelu(x);
  x = x + 1;
  return mindiesd::ext::silu(x);
}

// Another factor, so that it is no quick gelu.
inline Tensor other_factor(const Tensor& x) { return x * torch::sigmoid(1.5 * x); }

// The product is divided into three.
inline Tensor of_three(const Tensor& x) {
  auto parts = x.chunk(3, -1);
  return mindiesd::ext::silu(parts[0]) * parts[1] + parts[2];
}

// The gate is written between.
inline Tensor written(Tensor gate, Tensor x) {
  auto active = mindiesd::ext::silu(gate);
  gate.mul_(2);
  return active * x + gate;
}

// A relu is no activation of the runtime.
inline Tensor reglu(const Tensor& x) {
  auto parts = x.chunk(2, -1);
  return torch::relu(parts[0]) * parts[1];
}

}  // namespace products
