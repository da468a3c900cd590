// The CUDA launcher of enlarged images; the others are in launch.h, whose rules hold here.

#pragma once

#include "kernels/upsample.h"

namespace mindiesd::kernels::cuda {

LaunchStatus upsample(const Upsample& problem, void* stream);

}  // namespace mindiesd::kernels::cuda
