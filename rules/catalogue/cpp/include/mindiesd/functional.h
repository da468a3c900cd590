// Declarations of the runtime's mindiesd/functional.h, so that rewritten sources can be read
// where the runtime is not installed. Required parameters are positional; those with a default are
// fields of an aggregate, in the order of the catalogue's signatures.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace mindiesd {

class ResultType {
 public:
  ResultType() = default;
  ResultType(at::ScalarType type);
  ResultType(caffe2::TypeMeta type);
};

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
};
at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                             const at::Tensor& value, const AttentionArguments& arguments = {});

struct FastLayernormArguments {
  std::int64_t impl_mode = 0;
  bool fused = true;
};
template <class Norm>
at::Tensor fast_layernorm(Norm&& norm, const at::Tensor& x,
                          const FastLayernormArguments& arguments = {});

namespace ext {

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
  bool is_causal = false;
  std::string_view strides = "";
  std::string_view without_key = "zeros";
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

struct LayernormScaleShiftArguments {
  std::optional<at::Tensor> shift = std::nullopt;
  std::string_view norm_type = "";
  std::string_view strides = "dense";
};
template <class Norm>
at::Tensor layernorm_scale_shift(Norm&& layernorm, const at::Tensor& x, const at::Tensor& scale,
                                 const LayernormScaleShiftArguments& arguments = {});

struct ResidualArguments {
  std::optional<at::Tensor> gate = std::nullopt;
  std::string_view gate_function = "";
  ResultType dtype = {};
  std::string_view strides = "x";
};
at::Tensor residual(const at::Tensor& x, const at::Tensor& branch,
                    const ResidualArguments& arguments = {});

struct GeluArguments {
  std::string_view approximate = "none";
};
at::Tensor gelu(const at::Tensor& x, const GeluArguments& arguments = {});

struct SiluArguments {
  std::string_view result_type = "promoted";
};
at::Tensor silu(const at::Tensor& x, const SiluArguments& arguments = {});

struct GatedArguments {
  std::string_view strides = "x";
};
at::Tensor gated(const at::Tensor& x, const at::Tensor& gate, std::string_view activation,
                 const GatedArguments& arguments = {});

struct GluArguments {
  std::string_view gate = "second";
  std::int64_t dim = -1;
};
at::Tensor glu(const at::Tensor& x, std::string_view activation,
               const GluArguments& arguments = {});

struct SoftmaxArguments {
  std::int64_t dim = -1;
  std::optional<double> scale = std::nullopt;
  std::optional<at::Tensor> bias = std::nullopt;
  std::string_view subtract = "";
  std::optional<double> clamp_min = std::nullopt;
  std::optional<double> clamp_max = std::nullopt;
  std::optional<at::Tensor> mask = std::nullopt;
  std::optional<double> mask_value = std::nullopt;
  ResultType dtype = {};
};
at::Tensor softmax(const at::Tensor& input, const SoftmaxArguments& arguments = {});

}  // namespace ext
}  // namespace mindiesd
