#pragma once

#include <torch/types.h>
#include <vendor/blocks.h>  // is not on this machine

namespace ops {
using Tensors = std::vector<torch::Tensor>;
}  // namespace ops
