// Attention: see mindiesd/functional.h.

#ifndef MINDIESD_FUNCTIONAL_ATTENTION_H_
#define MINDIESD_FUNCTIONAL_ATTENTION_H_

#include <ATen/ATen.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mindiesd/functional/internal.h"

namespace mindiesd {

namespace functional_internal {

// A tensor for a result that lies as [B, N, S, D] without gaps.
inline at::Tensor empty_by_heads(const at::Tensor& query, bool head_first) {
  if (head_first) return at::empty(query.sizes(), query.options());
  return at::empty(query.transpose(1, 2).sizes(), query.options()).transpose(1, 2);
}

// Whether neighbours along the last dimension lie next to each other, as the kernels read them.
inline bool is_dense(const at::Tensor& tensor) {
  return tensor.size(-1) == 1 || tensor.stride(-1) == 1;
}

inline at::Tensor dense(const at::Tensor& tensor) {
  return is_dense(tensor) ? tensor : tensor.contiguous();
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
    // Where the result's order of strides is the query's, torch decides what that comes to.
    direct = direct && (by_heads || !head_first || is_dense(query));
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
    const at::Tensor result =
        at::scaled_dot_product_attention(q, repeated(turned(key)), repeated(turned(value)),
                                         masked ? attn_mask : std::nullopt, 0.0, is_causal, scale);
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
  const at::Tensor lying = dense(query), dense_key = dense(key), dense_value = dense(value);
  const torch::internal::Optional mask(attn_mask, "attn_mask");
  AttentionOptions options;
  options.mask = mask.get();
  options.scale = scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(3))));
  options.layout = head_first ? Layout::kBNSD : Layout::kBSND;
  options.causal = is_causal ? Causal::kTopLeft : Causal::kNone;
  torch::internal::check(attention_forward(
      torch::internal::view_of(lying, "query"), torch::internal::view_of(dense_key, "key"),
      torch::internal::view_of(dense_value, "value"), torch::internal::view_of(output, "output"),
      options, torch::internal::stream_of(query)));
  return output;
}

// `result` of attention by a boolean mask, the mean of all values in the rows that the mask shows
// no key.
inline at::Tensor with_means(const at::Tensor& result, const at::Tensor& value,
                             const at::Tensor& mask, bool head_first) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "mindiesd: attn_mask must be boolean with without_key = \"mean\", but is ",
              mask.scalar_type());
  const std::int64_t heads = head_first ? -3 : -2, sequence = head_first ? -2 : -3;
  const std::int64_t keys = value.size(sequence);
  at::Tensor mean = value.to(at::promote_types(result.scalar_type(), at::kFloat))
                        .sum(sequence, /*keepdim=*/true) /
                    static_cast<double>(keys > 0 ? keys : 1);
  if (value.dim() >= 3 && value.size(heads) != 1 && value.size(heads) != result.size(heads)) {
    mean = mean.repeat_interleave(result.size(heads) / value.size(heads), heads);
  }
  at::Tensor shown = mask.dim() > 0 ? mask.any(-1, /*keepdim=*/true) : mask;
  if (!head_first && shown.dim() == 2) shown = shown.unsqueeze(1);
  if (!head_first && mask.dim() > 2) shown = shown.transpose(-2, -3);
  const at::Tensor chosen = at::where(shown, result, mean.to(result.scalar_type()));
  if (chosen.strides() == result.strides()) return chosen;
  return at::empty_strided(result.sizes(), result.strides(), result.options()).copy_(chosen);
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
  // "mean": a query that a boolean mask shows no key gives the mean of the values, as where hidden
  // scores are filled with one finite number.
  std::string_view without_key = "zeros";
};

// Like mindiesd::attention_forward, of every rank that torch's scaled_dot_product_attention takes.
inline at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                                    const at::Tensor& value,
                                    const AttentionArguments& arguments = {}) {
  const bool means = arguments.without_key == "mean";
  TORCH_CHECK(means || arguments.without_key == "zeros",
              "mindiesd: without_key must be \"zeros\" or \"mean\"");
  TORCH_CHECK(!(means && arguments.is_causal),
              "mindiesd: without_key = \"mean\" goes with a mask alone, and is_causal is given");
  const at::Tensor result =
      functional_internal::attention(query, key, value, arguments.attn_mask, arguments.scale,
                                     arguments.head_first, arguments.is_causal, arguments.strides);
  if (!means || !functional_internal::is_given(arguments.attn_mask)) return result;
  return functional_internal::with_means(result, value, *arguments.attn_mask, arguments.head_first);
}

}  // namespace ext

}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_ATTENTION_H_
