// The functions that `refit migrate` writes into libtorch programs: the names, arguments and result
// types of the Python API, over mindiesd/torch.h. Required arguments are positional, the others are
// fields of the last one:
//
//   mindiesd::attention_forward(query, key, value, {.attn_mask = mask, .scale = 0.125})
//
// What the kernels do not compute (float64, tensors that require a gradient, a device without a
// library) goes to torch's own operators, so that a migrated program accepts what the original did.
// Bad arguments raise c10::Error. With CUDA define MINDIESD_TORCH_CUDA, as mindiesd/torch.h says.

#ifndef MINDIESD_FUNCTIONAL_H_
#define MINDIESD_FUNCTIONAL_H_

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "mindiesd/torch.h"

namespace mindiesd {

namespace functional_internal {

inline bool has_kernel(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

// Whether the library computes with this tensor.
inline bool has_kernel(const at::Tensor& tensor) {
#ifdef MINDIESD_TORCH_CUDA
  const bool device = tensor.is_cpu() || tensor.is_cuda();
#else
  const bool device = tensor.is_cpu();
#endif
  return device && has_kernel(tensor.scalar_type()) && tensor.numel() > 0 && !tensor.is_neg() &&
         !tensor.is_conj() && !(at::GradMode::is_enabled() && tensor.requires_grad());
}

inline bool is_given(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined();
}

inline DataType data_type(at::ScalarType type) {
  if (type == at::kHalf) return DataType::kFloat16;
  return type == at::kBFloat16 ? DataType::kBFloat16 : DataType::kFloat32;
}

// A tensor for a result that lies as [B, N, S, D] without gaps.
inline at::Tensor empty_by_heads(const at::Tensor& query, bool head_first) {
  if (head_first) return at::empty(query.sizes(), query.options());
  return at::empty(query.transpose(1, 2).sizes(), query.options()).transpose(1, 2);
}

inline at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const std::optional<at::Tensor>& attn_mask, std::optional<double> scale,
                            bool head_first, bool is_causal, std::string_view strides) {
  TORCH_CHECK(strides.empty() || strides == "BNSD",
              "mindiesd: strides must be \"BNSD\" or not be given");
  const bool by_heads = !strides.empty();
  const bool masked = is_given(attn_mask);
  bool direct = query.dim() == 4 && key.dim() == 4 && value.dim() == 4 && has_kernel(query) &&
                has_kernel(key) && has_kernel(value);
  direct = direct && !(masked && is_causal) &&  // torch refuses the two together
           (!masked || attn_mask->scalar_type() == at::kBool || has_kernel(*attn_mask));
  if (direct) {
    const int heads = head_first ? 1 : 2;
    for (const at::Tensor* other : {&key, &value}) {
      direct = direct && other->scalar_type() == query.scalar_type() &&
               other->device() == query.device() && other->size(0) == query.size(0) &&
               other->size(heads) == key.size(heads) && other->size(3) == query.size(3);
    }
    // Query heads may share a key head, as torch has it with enable_gqa.
    direct = direct && key.size(heads) > 0 && query.size(heads) % key.size(heads) == 0;
  }
  if (!direct) {
    const auto turned = [&](const at::Tensor& t) { return head_first ? t : t.transpose(-3, -2); };
    const auto heads_of = [](const at::Tensor& t) { return t.dim() < 3 ? 1 : t.size(-3); };
    const at::Tensor q = turned(query);
    const auto repeated = [&](const at::Tensor& t) {
      const bool shares =
          heads_of(t) > 1 && heads_of(q) > heads_of(t) && heads_of(q) % heads_of(t) == 0;
      return shares ? t.repeat_interleave(heads_of(q) / heads_of(t), -3) : t;
    };
    const at::Tensor result = at::scaled_dot_product_attention(
        q, repeated(turned(key)), repeated(turned(value)), attn_mask, 0.0, is_causal, scale);
    if (by_heads) {
      const at::Tensor lying = result.contiguous();
      return head_first ? lying : lying.transpose(-3, -2);
    }
    return head_first ? result : result.transpose(-3, -2).contiguous();
  }
  // With the heads first the result has the query's order of strides, as torch's has.
  const at::Tensor output = by_heads     ? empty_by_heads(query, head_first)
                            : head_first ? at::empty_like(query)
                                         : at::empty(query.sizes(), query.options());
  const torch::internal::Optional mask(attn_mask, "attn_mask");
  AttentionOptions options;
  options.mask = mask.get();
  options.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
  options.layout = head_first ? Layout::kBNSD : Layout::kBSND;
  options.causal = is_causal ? Causal::kTopLeft : Causal::kNone;
  torch::internal::check(attention_forward(
      torch::internal::view_of(query, "query"), torch::internal::view_of(key, "key"),
      torch::internal::view_of(value, "value"), torch::internal::view_of(output, "output"), options,
      torch::internal::stream_of(query)));
  return output;
}

// A pair (a, b) turns into (-b, a). Of an odd width the first half is the larger with `chunks`, and
// the smaller otherwise.
inline at::Tensor rotated(const at::Tensor& x, bool interleaved, bool chunks) {
  if (interleaved) {
    const at::Tensor pairs = x.unflatten(-1, {-1, 2});
    return at::stack({-pairs.select(-1, 1), pairs.select(-1, 0)}, -1).flatten(-2);
  }
  const std::int64_t first = (x.size(-1) + (chunks ? 1 : 0)) / 2;
  return at::cat({-x.narrow(-1, first, x.size(-1) - first), x.narrow(-1, 0, first)}, -1);
}

}  // namespace functional_internal

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;  // true keeps; floating: added to the scores
  std::optional<double> scale = std::nullopt;          // 1 / sqrt(head_dim)
  bool head_first = false;
};

// query, key, value and the result [B, S, N, D], or with head_first [B, N, S, D].
inline at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                                    const at::Tensor& value,
                                    const AttentionArguments& arguments = {}) {
  return functional_internal::attention(query, key, value, arguments.attn_mask, arguments.scale,
                                        arguments.head_first, false, "");
}

namespace ext {

struct AttentionArguments {
  std::optional<at::Tensor> attn_mask = std::nullopt;
  std::optional<double> scale = std::nullopt;
  bool head_first = false;
  bool is_causal = false;  // position i sees keys 0 to i, as torch's is_causal
  // "BNSD": the result lies as [B, N, S, D] without gaps, as a product of matrices gives it.
  std::string_view strides = "";
};

// Like mindiesd::attention_forward, of every rank that torch's scaled_dot_product_attention takes.
inline at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                                    const at::Tensor& value,
                                    const AttentionArguments& arguments = {}) {
  return functional_internal::attention(query, key, value, arguments.attn_mask, arguments.scale,
                                        arguments.head_first, arguments.is_causal,
                                        arguments.strides);
}

struct RotaryArguments {
  // Or "rotated_interleaved"; "rotated_chunks": halves as chunk(2, -1) divides an odd D.
  std::string_view rotated_mode = "rotated_half";
  std::string_view result_type = "input";  // or "promoted", "float32"
  std::string_view strides = "x";          // or "cos", "sin", "dense"
};

// x * cos + rotate(x) * sin along the last dimension D of x [..., D]; cos and sin broadcast against
// x, and may have D/2 columns, one for each pair. "promoted": in the type of x, cos and sin
// together; else in float32, rounded once. `strides` says what stands first in the expression that
// this call replaces, whose order of strides its result has; "dense": parts that are joined.
inline at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                            const at::Tensor& sin,
                                            const RotaryArguments& arguments = {}) {
  namespace in = functional_internal;
  const bool interleaved = arguments.rotated_mode == "rotated_interleaved";
  const bool chunks = arguments.rotated_mode == "rotated_chunks";
  TORCH_CHECK(interleaved || chunks || arguments.rotated_mode == "rotated_half",
              "mindiesd: rotated_mode must be \"rotated_half\", \"rotated_interleaved\" or "
              "\"rotated_chunks\"");
  const at::ScalarType together =
      at::promote_types(at::promote_types(x.scalar_type(), cos.scalar_type()), sin.scalar_type());
  const bool promoted = arguments.result_type == "promoted";
  TORCH_CHECK(promoted || arguments.result_type == "input" || arguments.result_type == "float32",
              "mindiesd: result_type must be \"input\", \"promoted\" or \"float32\"");
  const at::ScalarType type = promoted                           ? together
                              : arguments.result_type == "input" ? x.scalar_type()
                                                                 : at::kFloat;
  const std::string_view first = arguments.strides;
  TORCH_CHECK(first == "x" || first == "cos" || first == "sin" || first == "dense",
              "mindiesd: strides must be \"x\", \"cos\", \"sin\" or \"dense\"");
  const auto fits = [&](const at::Tensor& table) {
    return in::has_kernel(table) && table.device() == x.device() && table.dim() > 0 &&
           table.size(-1) == cos.size(-1) &&
           (table.size(-1) == x.size(-1) || 2 * table.size(-1) == x.size(-1)) &&
           at::is_expandable_to(table.sizes().slice(0, table.dim() - 1),
                                x.sizes().slice(0, x.dim() - 1));
  };
  const bool direct = in::has_kernel(x) && in::has_kernel(type) && x.dim() > 0 &&
                      x.size(-1) % 2 == 0 && (first == "x" || first == "dense") && fits(cos) &&
                      fits(sin);
  if (!direct) {
    const at::Tensor wide = promoted ? x : x.to(at::promote_types(x.scalar_type(), at::kFloat));
    const auto full = [&](const at::Tensor& table) {
      if (table.size(-1) == x.size(-1) || table.size(-1) == 1) return table;
      return interleaved ? table.repeat_interleave(2, -1) : at::cat({table, table}, -1);
    };
    const at::Tensor c = full(cos), s = full(sin), turned = in::rotated(wide, interleaved, chunks);
    if (first == "sin") return (s * turned + c * wide).to(type);
    const at::Tensor result = (first == "cos" ? c * wide : wide * c) + turned * s;
    return (first == "dense" ? result.contiguous() : result).to(type);
  }
  const at::Tensor output =
      first == "dense" ? at::empty_like(x, x.options().dtype(type), at::MemoryFormat::Contiguous)
                       : at::empty_like(x, x.options().dtype(type));
  torch::internal::check(mindiesd::rotary_position_embedding(
      torch::internal::view_of(x, "x"), torch::internal::view_of(cos, "cos"),
      torch::internal::view_of(sin, "sin"), torch::internal::view_of(output, "output"),
      interleaved ? Rotation::kInterleaved : Rotation::kHalf, torch::internal::stream_of(x)));
  return output;
}

struct RmsNormArguments {
  std::optional<at::Tensor> weight = std::nullopt;  // [D]
  double eps = 1e-6;
  std::optional<at::Tensor> bias = std::nullopt;  // [D]
  std::string_view result_type = "promoted";      // or "input", "weight", "float32"
  std::string_view strides = "hidden_states";     // or "root", "dense"
};

// y = x / sqrt(mean(x^2) + eps) over the last dimension D of [..., D], then weight * y + bias.
// "promoted": y rounded to x's type, the rest in promoted types; "input": one rounding, to x's
// type; "weight": y rounded to a half-precision weight's type, the result has the weight's;
// "float32": not rounded. `strides` says what stands first in the product that this call replaces,
// whose order of strides its result has: x, or the root of each row.
inline at::Tensor rms_norm(const at::Tensor& hidden_states,
                           const RmsNormArguments& arguments = {}) {
  namespace in = functional_internal;
  const at::Tensor& x = hidden_states;
  const bool weighted = in::is_given(arguments.weight), shifted = in::is_given(arguments.bias);
  const std::string_view kind = arguments.result_type;
  TORCH_CHECK(kind == "promoted" || kind == "input" || kind == "weight" || kind == "float32",
              "mindiesd: result_type must be \"promoted\", \"input\", \"weight\" or \"float32\"");
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::ScalarType normalized = wide, product = wide, result = x.scalar_type();
  if (kind == "float32") {
    result = wide;
  } else if (kind != "input" && (weighted || shifted)) {
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

}  // namespace ext
}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_H_
