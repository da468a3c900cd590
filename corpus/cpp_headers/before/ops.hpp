#pragma once

// No header of libtorch is included here: this file's users include it.
#include "types.hpp"

#include <string>

namespace ops {

/// Attention over heads that come first.
inline torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {
  return torch::scaled_dot_product_attention(q, k, v, /*attn_mask=*/{}, /*dropout_p=*/0.0,
                                             /*is_causal=*/true);
}

}  // namespace ops
