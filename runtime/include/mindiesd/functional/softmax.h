// Softmax with scale, bias and guards: see mindiesd/functional.h.

#ifndef MINDIESD_FUNCTIONAL_SOFTMAX_H_
#define MINDIESD_FUNCTIONAL_SOFTMAX_H_

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "mindiesd/functional/internal.h"

namespace mindiesd::ext {

struct SoftmaxArguments {
  std::int64_t dim = -1;
  std::optional<double> scale = std::nullopt;     // of the input
  std::optional<at::Tensor> bias = std::nullopt;  // added to the product
  std::string_view subtract = "";                 // or "row" (the maximum along dim), "global"
  std::optional<double> clamp_min = std::nullopt;
  std::optional<double> clamp_max = std::nullopt;
  std::optional<at::Tensor> mask = std::nullopt;    // true keeps; floating: added
  std::optional<double> mask_value = std::nullopt;  // where a boolean mask is false; -infinity
  ResultType dtype = {};  // the input's, promoted with bias and a floating mask
};

// Softmax along `dim` after, in this order, scale and bias, subtract, clamp, mask; bias and mask
// broadcast to input. A contiguous tensor of input's shape, computed in float32 at least; a row
// that is -infinity throughout gives NaN, as in torch.
inline at::Tensor softmax(const at::Tensor& input, const SoftmaxArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool biased = in::is_given(arguments.bias), masked = in::is_given(arguments.mask);
  const bool boolean = masked && arguments.mask->scalar_type() == at::kBool;
  const bool row = arguments.subtract == "row", global = arguments.subtract == "global";
  TORCH_CHECK(row || global || arguments.subtract.empty(),
              "mindiesd: subtract must be \"row\" or \"global\" or not be given, but is \"",
              arguments.subtract, "\"");
  TORCH_CHECK(!arguments.mask_value || boolean, "mindiesd: mask_value needs a boolean mask");
  at::ScalarType type = input.scalar_type();
  if (biased) type = at::promote_types(type, arguments.bias->scalar_type());
  if (masked && !boolean) type = at::promote_types(type, arguments.mask->scalar_type());
  type = arguments.dtype.get().value_or(type);
  const double hidden = arguments.mask_value.value_or(-std::numeric_limits<double>::infinity());
  const auto fits = [&](const at::Tensor& t) {
    return t.dim() > 0 && t.device() == input.device() &&
           at::is_expandable_to(t.sizes(), input.sizes());
  };
  const bool direct =
      in::has_kernel(input) && in::has_kernel(type) && input.dim() > 0 &&
      arguments.dim >= -input.dim() && arguments.dim < input.dim() && arguments.scale != 0.0 &&
      (!biased || (in::has_kernel(*arguments.bias) && fits(*arguments.bias))) &&
      (!masked || ((boolean || in::has_kernel(*arguments.mask)) && fits(*arguments.mask)));
  if (!direct) {
    at::Tensor x = arguments.scale ? input * *arguments.scale : input;
    if (biased) x = x + *arguments.bias;
    if (row) x = x - x.amax({arguments.dim}, true);
    if (global) x = x - x.max();
    if (arguments.clamp_min) x = at::clamp_min(x, *arguments.clamp_min);
    if (arguments.clamp_max) x = at::clamp_max(x, *arguments.clamp_max);
    if (masked) {
      x = boolean ? x.masked_fill(arguments.mask->logical_not(), hidden) : x + *arguments.mask;
    }
    return at::softmax(x, arguments.dim, arguments.dtype.get());
  }
  const at::Tensor output =
      at::empty_like(input, input.options().dtype(type), at::MemoryFormat::Contiguous);
  const torch::internal::Optional bias(arguments.bias, "bias"), mask(arguments.mask, "mask");
  SoftmaxOptions options;
  options.dim = static_cast<std::int32_t>(arguments.dim);
  options.scale = arguments.scale.value_or(1.0);
  options.bias = bias.get();
  options.subtract = row ? Subtract::kRow : global ? Subtract::kGlobal : Subtract::kNone;
  options.clamp_min = arguments.clamp_min.value_or(-INFINITY);
  options.clamp_max = arguments.clamp_max.value_or(INFINITY);
  options.mask = mask.get();
  options.mask_value = hidden;
  torch::internal::check(mindiesd::softmax(torch::internal::view_of(input, "input"),
                                           torch::internal::view_of(output, "output"), options,
                                           torch::internal::stream_of(input)));
  return output;
}

}  // namespace mindiesd::ext

#endif  // MINDIESD_FUNCTIONAL_SOFTMAX_H_
