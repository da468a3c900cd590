// Activations and gated products: see mindiesd/functional.h.

#ifndef MINDIESD_FUNCTIONAL_ACTIVATION_H_
#define MINDIESD_FUNCTIONAL_ACTIVATION_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "mindiesd/functional/internal.h"

namespace mindiesd {

namespace functional_internal {

inline Activation activation_of(std::string_view name) {
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu-tanh") return Activation::kGeluTanh;
  if (name == "gelu-fast") return Activation::kGeluFast;
  TORCH_CHECK(name == "silu",
              "mindiesd: activation must be \"gelu\", \"gelu-tanh\", \"gelu-fast\" or \"silu\", "
              "but is \"",
              name, "\"");
  return Activation::kSilu;
}

// The same by torch's operators.
inline at::Tensor activated(const at::Tensor& x, Activation kind) {
  if (kind == Activation::kGelu) return at::gelu(x);
  if (kind == Activation::kGeluTanh) return at::gelu(x, "tanh");
  return kind == Activation::kSilu ? at::silu(x) : x * at::sigmoid(1.702 * x);
}

// activation(x), or x * activation(gate) for a gate of x's shape and strides whose type is the
// result's, lying as x does.
inline at::Tensor activation_in_one_pass(const at::Tensor& x, Activation kind,
                                         const at::Tensor* gate) {
  const at::Tensor output = at::empty_like(x, x.options().dtype((gate ? *gate : x).scalar_type()));
  TensorView factor;
  if (gate != nullptr) factor = torch::internal::view_of(*gate, "gate");
  torch::internal::check(mindiesd::activation(
      torch::internal::view_of(x, "x"), torch::internal::view_of(output, "output"), kind,
      gate != nullptr ? &factor : nullptr, torch::internal::stream_of(x)));
  return output;
}

// x * activation(gate), or with `gate_first` the product the other way round.
inline at::Tensor gated(const at::Tensor& x, const at::Tensor& gate, Activation kind,
                        bool gate_first) {
  const bool direct = has_kernel(x) && has_kernel(gate) && x.dim() > 0 &&
                      x.sizes() == gate.sizes() && x.strides() == gate.strides() && !repeats(x) &&
                      x.device() == gate.device() &&
                      at::promote_types(x.scalar_type(), gate.scalar_type()) == gate.scalar_type();
  if (direct) return activation_in_one_pass(x, kind, &gate);
  const at::Tensor active = activated(gate, kind);
  return gate_first ? active * x : x * active;
}

}  // namespace functional_internal

namespace ext {

struct GeluArguments {
  std::string_view approximate = "none";  // or "tanh", "fast": x * sigmoid(1.702 x)
};

// x times the standard normal distribution function of x, in x's shape, type and stride order.
inline at::Tensor gelu(const at::Tensor& x, const GeluArguments& arguments = {}) {
  namespace in = functional_internal;
  const std::string_view form = arguments.approximate;
  TORCH_CHECK(form == "none" || form == "tanh" || form == "fast",
              "mindiesd: approximate must be \"none\", \"tanh\" or \"fast\", but is \"", form,
              "\"");
  const Activation kind = form == "none"   ? Activation::kGelu
                          : form == "tanh" ? Activation::kGeluTanh
                                           : Activation::kGeluFast;
  return in::has_kernel(x) ? in::activation_in_one_pass(x, kind, nullptr) : in::activated(x, kind);
}

struct SiluArguments {
  std::string_view result_type = "promoted";  // or "input": also of whole numbers x's type
};

// x * sigmoid(x), in x's shape, type and stride order; whole numbers count in torch's default type.
inline at::Tensor silu(const at::Tensor& x, const SiluArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool as_input = arguments.result_type == "input";
  TORCH_CHECK(as_input || arguments.result_type == "promoted",
              "mindiesd: result_type must be \"promoted\" or \"input\", but is \"",
              arguments.result_type, "\"");
  if (in::has_kernel(x)) return in::activation_in_one_pass(x, Activation::kSilu, nullptr);
  if (x.is_floating_point() || x.is_complex()) return at::silu(x);
  const at::Tensor result = at::silu(x.to(c10::get_default_dtype_as_scalartype()));
  return as_input ? result.to(x.scalar_type()) : result;
}

struct GatedArguments {
  std::string_view strides = "x";  // or "gate": what stands first in the product
};

// x * activation(gate), activation being "gelu", "gelu-tanh", "gelu-fast" or "silu"; in the
// promoted type and the stride order of what stands first.
inline at::Tensor gated(const at::Tensor& x, const at::Tensor& gate, std::string_view activation,
                        const GatedArguments& arguments = {}) {
  TORCH_CHECK(arguments.strides == "x" || arguments.strides == "gate",
              "mindiesd: strides must be \"x\" or \"gate\", but is \"", arguments.strides, "\"");
  return functional_internal::gated(x, gate, functional_internal::activation_of(activation),
                                    arguments.strides == "gate");
}

struct GluArguments {
  std::string_view gate =
      "second";  // first * activation(second); "first": activation(first) * second
  std::int64_t dim = -1;
};

// The product of one half of x and the activation of the other, halves taken along `dim`.
inline at::Tensor glu(const at::Tensor& x, std::string_view activation,
                      const GluArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool gate_first = arguments.gate == "first";
  TORCH_CHECK(gate_first || arguments.gate == "second",
              "mindiesd: gate must be \"first\" or \"second\", but is \"", arguments.gate, "\"");
  const Activation kind = in::activation_of(activation);
  const std::vector<at::Tensor> halves = x.chunk(2, arguments.dim);
  TORCH_CHECK(halves.size() == 2, "mindiesd: x must have an even size in dimension ", arguments.dim,
              ", but has shape ", x.sizes());
  return gate_first ? in::gated(halves[1], halves[0], kind, true)
                    : in::gated(halves[0], halves[1], kind, false);
}

}  // namespace ext
}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_ACTIVATION_H_
