// Functions of torch::nn::functional, whose arguments stand in an object of options: made where it
// is handed over, set one behind another, or held by a variable.
#include <mindiesd/functional.h>
#include <torch/torch.h>

#include <cmath>

namespace with_options {

using torch::Tensor;
namespace F = torch::nn::functional;

inline Tensor plain(const Tensor& x) { return mindiesd::ext::gelu(x) + mindiesd::ext::silu(x); }

inline Tensor by_tanh(const Tensor& x) {
  return mindiesd::ext::gelu(x, {.approximate = "tanh"});
}

// Set twice, which is not followed.
inline Tensor set_twice(const Tensor& x) {
  return F::gelu(x, F::GELUFuncOptions().approximate("tanh").approximate("none"));
}

inline Tensor held(const Tensor& x) {
  const auto tanh = F::GELUFuncOptions().approximate("tanh");
  return mindiesd::ext::gelu(x, {.approximate = "tanh"});
}

// The options change before they are read.
inline Tensor changed(const Tensor& x) {
  auto form = F::GELUFuncOptions();
  form.approximate("tanh");
  return F::gelu(x, form);
}

inline Tensor exchanged(const Tensor& x, bool exact) {
  auto form = F::GELUFuncOptions().approximate("tanh");
  if (exact) form = F::GELUFuncOptions();
  return F::gelu(x, form);
}

inline void make_exact(F::GELUFuncOptions& form) { form = F::GELUFuncOptions(); }

inline Tensor changed_by_a_function(const Tensor& x) {
  auto form = F::GELUFuncOptions().approximate("tanh");
  make_exact(form);
  return F::gelu(x, form);
}

inline Tensor changed_by_a_lambda(const Tensor& x) {
  auto form = F::GELUFuncOptions().approximate("tanh");
  const auto exact = [&] { form.approximate("none"); };
  exact();
  return F::gelu(x, form);
}

inline Tensor changed_through_a_reference(const Tensor& x) {
  auto form = F::GELUFuncOptions().approximate("tanh");
  const auto& same = form;
  form.approximate("none");
  return F::gelu(x, same);
}

inline Tensor changed_while_it_is_handed(const Tensor& x) {
  auto form = F::GELUFuncOptions().approximate("tanh");
  return F::gelu(x, form.approximate("none"));
}

inline Tensor changed_in_another_build(const Tensor& x) {
  auto form = F::GELUFuncOptions().approximate("tanh");
#ifdef EXACT
  form.approximate("none");
#endif
  return F::gelu(x, form);
}

inline Tensor another_in_another_build(const Tensor& x) {
#ifdef EXACT
  const auto form = F::GELUFuncOptions();
#else
  const auto form = F::GELUFuncOptions().approximate("tanh");
#endif
  return F::gelu(x, form);
}

inline Tensor longer_in_another_build(const Tensor& x) {
  return F::gelu(x, F::GELUFuncOptions()
#ifdef TANH
                        .approximate("tanh")
#endif
  );
}

// What they are may be anything.
inline Tensor handed_over(const Tensor& x, const F::GELUFuncOptions& form) {
  return F::gelu(x, form);
}

inline Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(
      q,
      k,
      v,
      {.scale = 1.0 / std::sqrt(static_cast<double>(q.size(-1))),
       .head_first = true,
       .strides = "BNSD"});
}

// A number becomes options by itself.
inline Tensor attention_by_number(const Tensor& q, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(q, k, v,
                                          {.scale = 0.25, .head_first = true, .strides = "BNSD"});
}

inline Tensor attention_of_another_axis(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto last_but_one = F::SoftmaxFuncOptions(-2);
  auto weights = F::softmax(torch::matmul(q, k.transpose(-2, -1)) * 0.25, last_but_one);
  return torch::matmul(weights, v);
}

inline Tensor gated(const Tensor& x) { return F::glu(x, F::GLUFuncOptions(-1)); }

inline Tensor scaled_and_shifted(const Tensor& x, const Tensor& scale, const Tensor& shift) {
  auto normed = F::layer_norm(x, F::LayerNormFuncOptions({x.size(-1)}).eps(1e-6));
  return normed * (1 + scale) + shift;
}

// The type in which it is computed is set, too.
inline Tensor in_float32(const Tensor& q, const Tensor& k, const Tensor& v) {
  return mindiesd::ext::attention_forward(q, k, v,
                                          {.scale = 0.25, .head_first = true, .strides = "BNSD"});
}

}  // namespace with_options
