// The table of CUDA launchers; see device.h. Attention has no kernels here: the caller composes it.

#include "cuda.h"

#ifdef MINDIESD_HAVE_CUDA
#include "kernels/cuda/launch.h"
#endif

namespace mindiesd::runtime {

#ifdef MINDIESD_HAVE_CUDA
namespace {

constexpr DeviceKernels kCudaKernels = {
    [](const kernels::VarlenAttention&, void*) { return kernels::LaunchStatus::kUnsupported; },
    kernels::cuda::rotary,
    kernels::cuda::rms_norm,
    kernels::cuda::fused_norm,
    kernels::cuda::softmax,
    kernels::cuda::activation,
    kernels::cuda::activate,
    kernels::cuda::last_error,
};

}  // namespace

const DeviceKernels* cuda_kernels() { return &kCudaKernels; }
#else
const DeviceKernels* cuda_kernels() { return nullptr; }
#endif

}  // namespace mindiesd::runtime
