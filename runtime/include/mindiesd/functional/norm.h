// RMSNorm, LayerNorm and gated residual sums: see mindiesd/functional.h.

#ifndef MINDIESD_FUNCTIONAL_NORM_H_
#define MINDIESD_FUNCTIONAL_NORM_H_

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "mindiesd/functional/internal.h"

namespace mindiesd {

namespace functional_internal {

// layernorm(x) * (1 + scale) + shift in one pass, contiguous; nullopt where that computes something
// else: a norm over several dimensions, operands of another shape, type or device.
template <class Norm>
std::optional<at::Tensor> layernorm_in_one_pass(const Norm& layernorm, const at::Tensor& x,
                                                const std::optional<at::Tensor>& scale,
                                                const std::optional<at::Tensor>& shift,
                                                at::ScalarType normed) {
  const auto fits = [&](const at::Tensor& t) {
    return !t.defined() ||
           (has_kernel(t) && t.dim() == 1 && t.size(0) == x.size(-1) && t.device() == x.device());
  };
  const auto over_x = [&](const std::optional<at::Tensor>& t) {
    return !is_given(t) || (has_kernel(*t) && t->dim() > 0 && t->device() == x.device() &&
                            at::is_expandable_to(t->sizes(), x.sizes()));
  };
  const auto& sizes = layernorm.options.normalized_shape();
  if (!has_kernel(x) || x.dim() == 0 || sizes.size() != 1 || sizes[0] != x.size(-1) ||
      !fits(layernorm.weight) || !fits(layernorm.bias) || !over_x(scale) || !over_x(shift)) {
    return std::nullopt;
  }
  at::ScalarType type = normed;
  for (const auto* t : {&scale, &shift}) {
    if (is_given(*t)) type = at::promote_types(type, (*t)->scalar_type());
  }
  const at::Tensor output =
      at::empty_like(x, x.options().dtype(type), at::MemoryFormat::Contiguous);
  const torch::internal::Optional weight(layernorm.weight, "weight"), bias(layernorm.bias, "bias");
  const torch::internal::Optional factor(scale, "scale"), offset(shift, "shift");
  FusedNormOptions options;
  options.weight = weight.get();
  options.bias = bias.get();
  options.scale = factor.get();
  options.shift = offset.get();
  options.eps = layernorm.options.eps();
  torch::internal::check(mindiesd::fused_norm(torch::internal::view_of(x, "x"),
                                              torch::internal::view_of(output, "output"), options,
                                              torch::internal::stream_of(x)));
  return output;
}

}  // namespace functional_internal

struct FastLayernormArguments {
  std::int64_t impl_mode = 0;  // of the published API; not read
  bool fused = true;           // false: by the module's own forward
};

// norm->forward(x) for a torch::nn::LayerNorm, a pointer to its Impl or what holds one.
template <class Norm>
at::Tensor fast_layernorm(Norm&& norm, const at::Tensor& x,
                          const FastLayernormArguments& arguments = {}) {
  if (arguments.fused) {
    if (auto result = functional_internal::layernorm_in_one_pass(*norm, x, std::nullopt,
                                                                 std::nullopt, x.scalar_type())) {
      return *result;
    }
  }
  return norm->forward(x);
}

namespace ext {

struct LayernormScaleShiftArguments {
  std::optional<at::Tensor> shift = std::nullopt;
  std::string_view norm_type = "";     // "float32": the type that the norm's result is scaled in
  std::string_view strides = "dense";  // or "scale", "shift", "shift_scale"
};

// layernorm->forward(x) * (1 + scale) + shift, scale and shift broadcast as torch broadcasts them;
// layernorm as in fast_layernorm. `strides` says what stands first in the expression that this call
// replaces, whose order of strides its result has: the norm, which is contiguous, the scale of the
// product, the shift of the sum, or these two.
template <class Norm>
at::Tensor layernorm_scale_shift(Norm&& layernorm, const at::Tensor& x, const at::Tensor& scale,
                                 const LayernormScaleShiftArguments& arguments = {}) {
  namespace in = functional_internal;
  const std::string_view first = arguments.strides;
  TORCH_CHECK(
      first == "dense" || first == "scale" || first == "shift" || first == "shift_scale",
      "mindiesd: strides must be \"dense\", \"scale\", \"shift\" or \"shift_scale\", but is \"",
      first, "\"");
  const bool wide = arguments.norm_type == "float32", shifted = in::is_given(arguments.shift);
  TORCH_CHECK(wide || arguments.norm_type.empty(),
              "mindiesd: norm_type must be \"float32\" or not be given, but is \"",
              arguments.norm_type, "\"");
  // Of dense operands the order is one, whatever stands first.
  const bool dense =
      first == "dense" || (scale.is_contiguous() && (!shifted || arguments.shift->is_contiguous()));
  if (dense) {
    if (auto result = in::layernorm_in_one_pass(*layernorm, x, scale, arguments.shift,
                                                wide ? at::kFloat : x.scalar_type())) {
      return *result;
    }
  }
  at::Tensor normal = layernorm->forward(x);
  if (wide) normal = normal.to(at::kFloat);
  normal =
      first.find("scale") != std::string_view::npos ? (1 + scale) * normal : normal * (1 + scale);
  if (!shifted) return normal;
  return first.find("shift") == 0 ? *arguments.shift + normal : normal + *arguments.shift;
}

struct RmsNormArguments {
  std::optional<at::Tensor> weight = std::nullopt;  // [D]
  double eps = 1e-6;
  std::optional<at::Tensor> bias = std::nullopt;  // [D]
  std::string_view result_type = "promoted";      // or "input", "weight", "float32", "torch"
  std::string_view strides = "hidden_states";     // or "root", "dense"
};

// y = x / sqrt(mean(x^2) + eps) over the last dimension D of [..., D], then weight * y + bias.
// "promoted": y rounded to x's type, the rest in promoted types; "input": one rounding, to x's
// type; "weight": y rounded to a half-precision weight's type, the result has the weight's;
// "float32": not rounded; "torch": as at::rms_norm has it. `strides` says what stands first in the
// product that this call replaces, whose order of strides its result has: x, or the root of each
// row.
inline at::Tensor rms_norm(const at::Tensor& hidden_states,
                           const RmsNormArguments& arguments = {}) {
  namespace in = functional_internal;
  const at::Tensor& x = hidden_states;
  const bool weighted = in::is_given(arguments.weight), shifted = in::is_given(arguments.bias);
  const std::string_view kind = arguments.result_type;
  const bool as_torch = kind == "torch";
  TORCH_CHECK(
      as_torch || kind == "promoted" || kind == "input" || kind == "weight" || kind == "float32",
      "mindiesd: result_type must be \"promoted\", \"input\", \"weight\", \"float32\" or "
      "\"torch\"");
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::ScalarType normalized = wide, product = wide, result = x.scalar_type();
  if (kind == "float32") {
    result = wide;
  } else if (kind != "input" && !as_torch && (weighted || shifted)) {
    if (kind == "promoted" || !weighted) {
      normalized = x.scalar_type();
      product =
          weighted ? at::promote_types(normalized, arguments.weight->scalar_type()) : normalized;
    } else {
      const at::ScalarType type = arguments.weight->scalar_type();
      normalized = type == at::kHalf || type == at::kBFloat16 ? type : wide;
      product = type;
    }
    result = shifted ? at::promote_types(product, arguments.bias->scalar_type()) : product;
  }
  const auto fits = [&](const std::optional<at::Tensor>& t) {
    return !in::is_given(t) || (in::has_kernel(*t) && t->dim() == 1 && t->size(0) == x.size(-1) &&
                                t->device() == x.device());
  };
  const std::string_view first = arguments.strides;
  TORCH_CHECK(first == "hidden_states" || first == "root" || first == "dense",
              "mindiesd: strides must be \"hidden_states\", \"root\" or \"dense\"");
#if __has_include(<ATen/ops/rms_norm.h>)
  // What promotes and how a result lies differs between versions of torch.
  const bool usual = x.is_contiguous() && in::has_kernel(x) && fits(arguments.weight) && !shifted &&
                     (!weighted || arguments.weight->scalar_type() == x.scalar_type());
  if (as_torch && !usual) {
    return at::rms_norm(x, {x.size(-1)}, arguments.weight, arguments.eps);
  }
#endif
  if (!in::has_kernel(x) || x.dim() == 0 || !in::has_kernel(result) || !fits(arguments.weight) ||
      !fits(arguments.bias) || first == "root") {
    const at::Tensor h = x.to(wide);
    const at::Tensor root = at::rsqrt(h.square().mean(-1, true) + arguments.eps);
    at::Tensor y = first == "root" ? root * h : h * root;
    if (first == "dense") y = y.contiguous();
    y = y.to(normalized);
    if (weighted) y = (*arguments.weight * y).to(product);
    if (shifted) y = y + *arguments.bias;
    return y.to(result);
  }
  const at::Tensor output =
      first == "dense" ? at::empty_like(x, x.options().dtype(result), at::MemoryFormat::Contiguous)
                       : at::empty_like(x, x.options().dtype(result));
  const torch::internal::Optional weight(arguments.weight, "weight"), bias(arguments.bias, "bias");
  RmsNormOptions options;
  options.weight = weight.get();
  options.bias = bias.get();
  options.eps = arguments.eps;
  options.normalized = in::data_type(normalized);
  options.product = in::data_type(product);
  torch::internal::check(mindiesd::rms_norm(torch::internal::view_of(x, "hidden_states"),
                                            torch::internal::view_of(output, "output"), options,
                                            torch::internal::stream_of(x)));
  return output;
}

struct ResidualArguments {
  std::optional<at::Tensor> gate = std::nullopt;  // broadcasts against x
  std::string_view gate_function = "";            // "tanh": tanh(gate) stands for the gate
  ResultType dtype = {};                          // that of the expression
  std::string_view strides = "x";                 // or, of the product, "branch", "gate"
};

// x + gate * branch [..., D], rounded once; branch and gate may change places where gate has no
// function. `strides` says what stands first in the sum, whose order of strides the result has.
inline at::Tensor residual(const at::Tensor& x, const at::Tensor& branch,
                           const ResidualArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool tanh = arguments.gate_function == "tanh", gated = in::is_given(arguments.gate);
  TORCH_CHECK(tanh || arguments.gate_function.empty(),
              "mindiesd: gate_function must be \"tanh\" or not be given, but is \"",
              arguments.gate_function, "\"");
  std::string_view first = arguments.strides;
  TORCH_CHECK(first == "x" || first == "branch" || first == "gate",
              "mindiesd: strides must be \"x\", \"branch\" or \"gate\", but is \"", first, "\"");
  at::Tensor added = branch, gate = gated ? *arguments.gate : at::Tensor();
  if (gated && !tanh && gate.sizes() == x.sizes() && branch.sizes() != x.sizes()) {
    std::swap(added, gate);
    first = first == "branch" ? "gate" : first == "gate" ? "branch" : first;
  }
  at::ScalarType type = at::promote_types(x.scalar_type(), added.scalar_type());
  if (gated) type = at::promote_types(type, gate.scalar_type());
  type = arguments.dtype.get().value_or(type);
  bool direct = in::has_kernel(x) && in::has_kernel(added) && in::has_kernel(type) && x.dim() > 0 &&
                x.sizes() == added.sizes() && x.strides() == added.strides() && !in::repeats(x) &&
                x.device() == added.device();
  direct =
      direct && (!gated || (in::has_kernel(gate) && gate.dim() > 0 && gate.device() == x.device() &&
                            at::is_expandable_to(gate.sizes(), x.sizes())));
  // The order of the product is its factors'; with all of them dense there is only one.
  direct = direct && (first == "x" || !gated || (x.is_contiguous() && gate.is_contiguous()));
  if (!direct) {
    const auto wide = [&](const at::Tensor& t) {
      const bool widened = arguments.dtype.get() && t.is_floating_point();
      return widened ? t.to(at::promote_types(t.scalar_type(), at::kFloat)) : t;
    };
    at::Tensor product = wide(added);
    if (gated) {
      const at::Tensor factor = wide(tanh ? gate.tanh() : gate);
      product = first == "branch" ? product * factor : factor * product;
    }
    const at::Tensor sum = first == "x" ? wide(x) + product : product + wide(x);
    return arguments.dtype.get() ? sum.to(type) : sum;
  }
  const at::Tensor output = at::empty_like(x, x.options().dtype(type));
  const torch::internal::Optional factor(gate, "gate");
  FusedNormOptions options;
  options.gate = factor.get();
  options.gate_function = tanh ? GateFunction::kTanh : GateFunction::kItself;
  torch::internal::check(mindiesd::residual(
      torch::internal::view_of(x, "x"), torch::internal::view_of(added, "branch"),
      torch::internal::view_of(output, "output"), options, torch::internal::stream_of(x)));
  return output;
}
}  // namespace ext

}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_NORM_H_
