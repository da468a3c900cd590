// The CUDA launcher of linear layers whose weight is int8; the others are in launch.h, whose rules
// hold here.

#pragma once

#include "kernels/int8_linear.h"

namespace mindiesd::kernels::cuda {

// kUnsupported: more rows than kMostInt8Rows, float32, or rows of input or weight that are not at
// multiples of 16 bytes and 16 values long.
LaunchStatus int8_linear(const Int8Linear& problem, void* stream);

}  // namespace mindiesd::kernels::cuda
