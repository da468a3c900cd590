// The table of CUDA launchers and the back ends of attention there; see device.h and backends.h.

#include "cuda.h"

#ifdef MINDIESD_HAVE_CUDA
#include "kernels/cuda/grid_rotary.h"
#include "kernels/cuda/int8_linear.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/upsample.h"
#include "kernels/cuda/weighted_sum.h"
#endif

namespace mindiesd::runtime {

#ifdef MINDIESD_HAVE_CUDA
namespace {

constexpr DeviceKernels kCudaKernels = {
    kernels::cuda::attention_varlen,  kernels::cuda::rotary,   kernels::cuda::joint_heads,
    kernels::cuda::grid_rotary,       kernels::cuda::rms_norm, kernels::cuda::fused_norm,
    kernels::cuda::group_norm,        kernels::cuda::softmax,  kernels::cuda::activation,
    kernels::cuda::weighted_sum,      kernels::cuda::upsample, kernels::cuda::int8_linear,
    kernels::cuda::linear_activation, kernels::cuda::activate, kernels::cuda::last_error,
};

constexpr AttentionBackend kCudaAttention[] = {
#ifdef MINDIESD_HAVE_HOPPER
    {"hopper", kernels::cuda::attention_hopper_supports, kernels::cuda::attention_hopper},
#endif
    {"cudnn", kernels::cuda::attention_cudnn_supports, kernels::cuda::attention_cudnn},
    {"tensor_core", kernels::cuda::attention_mma_supports, kernels::cuda::attention_mma},
    {"multiply_add", kernels::cuda::attention_plain_supports, kernels::cuda::attention_plain},
};

}  // namespace

const DeviceKernels* cuda_kernels() { return &kCudaKernels; }
std::span<const AttentionBackend> cuda_attention() { return kCudaAttention; }
#else
const DeviceKernels* cuda_kernels() { return nullptr; }
std::span<const AttentionBackend> cuda_attention() { return {}; }
#endif

}  // namespace mindiesd::runtime
