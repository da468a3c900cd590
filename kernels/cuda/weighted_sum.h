// The CUDA launcher of weighted sums; the others are in launch.h, whose rules hold here.

#pragma once

#include "kernels/weighted_sum.h"

namespace mindiesd::kernels::cuda {

LaunchStatus weighted_sum(const WeightedSum& problem, void* stream);

}  // namespace mindiesd::kernels::cuda
