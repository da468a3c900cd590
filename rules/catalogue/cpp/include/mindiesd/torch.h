// Declarations of the runtime's header for libtorch programs, so that rewritten sources can be read
// where the runtime is not installed. Required parameters are positional; those with a default are
// fields of an aggregate, in the order of the catalogue's signatures.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string_view>

namespace mindiesd {

struct AttentionOptions {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
};
at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const AttentionOptions& options = {});

struct RotaryOptions {
  std::string_view rotated_mode = "rotated_half";
  bool head_first = false;
};
at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                     const at::Tensor& sin, const RotaryOptions& options = {});

namespace ext {

struct AttentionOptions {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
  bool is_causal = false;
  std::string_view causal_alignment = "top_left";
};
at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const AttentionOptions& options = {});

struct RotaryOptions {
  std::string_view rotated_mode = "rotated_half";
  std::string_view result_type = "input";
};
at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                     const at::Tensor& sin, const RotaryOptions& options = {});

struct RmsNormOptions {
  std::optional<at::Tensor> weight = std::nullopt;
  double eps = 1e-6;
  std::optional<at::Tensor> bias = std::nullopt;
  std::string_view result_type = "promoted";
};
at::Tensor rms_norm(const at::Tensor& hidden_states, const RmsNormOptions& options = {});

}  // namespace ext
}  // namespace mindiesd
