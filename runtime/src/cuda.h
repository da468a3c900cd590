// The kernels of CUDA devices, where the build has them.

#pragma once

#include "backends.h"
#include "device.h"

namespace mindiesd::runtime {

// Null in a build without the toolkit. Asking touches no driver: a process that never computes on a
// device must not initialise it.
const DeviceKernels* cuda_kernels();

// Empty in such a build.
std::span<const AttentionBackend> cuda_attention();

}  // namespace mindiesd::runtime
