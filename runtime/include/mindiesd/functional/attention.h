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

}  // namespace ext

}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_ATTENTION_H_
