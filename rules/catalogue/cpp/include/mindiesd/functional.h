// Declarations of the runtime's mindiesd/functional.h, so that rewritten sources can be read
// where the runtime is not installed. Required parameters are positional; those with a default are
// fields of an aggregate, in the order of the catalogue's signatures.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string_view>

namespace mindiesd {

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
};
at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const AttentionArguments& arguments = {});

namespace ext {

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
  bool is_causal = false;
  std::string_view strides = "";
};
at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const AttentionArguments& arguments = {});

struct RotaryArguments {
  std::string_view rotated_mode = "rotated_half";
  std::string_view result_type = "input";
  std::string_view strides = "x";
};
at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                     const at::Tensor& sin, const RotaryArguments& arguments = {});

struct RmsNormArguments {
  std::optional<at::Tensor> weight = std::nullopt;
  double eps = 1e-6;
  std::optional<at::Tensor> bias = std::nullopt;
  std::string_view result_type = "promoted";
  std::string_view strides = "hidden_states";
};
at::Tensor rms_norm(const at::Tensor& hidden_states, const RmsNormArguments& arguments = {});

}  // namespace ext
}  // namespace mindiesd
