#pragma once

// No header of libtorch is included here: this file's users include it.
#include "types.hpp"

#include <string>

#include <mindiesd/functional.h>

namespace ops {

/// Attention over heads that come first.
inline torch::Tensor attend(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& v) {
  return mindiesd::ext::attention_forward(q, k, v, {.head_first = true, .is_causal = true});
}

}  // namespace ops
