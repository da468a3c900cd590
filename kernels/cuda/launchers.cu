// The CUDA launchers as C functions over the structs of problem.h, and a plain copy kernel: what
// the tests in gpu/ and the benchmark call through ctypes (bench/launchers.py mirrors the structs).

#include <cuda_runtime_api.h>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"
#include "kernels/cuda/int8_linear.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/upsample.h"
#include "kernels/cuda/weighted_sum.h"

namespace {

using namespace mindiesd::kernels;

// One vector of 16 bytes in each thread: of 30 shapes tried on an H200 the fastest from 128 MiB on.
__global__ void __launch_bounds__(256)
    copy_kernel(const uint4* from, uint4* to, long long vectors) {
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (i < vectors) to[i] = from[i];
}

}  // namespace

#define MINDIESD_EXPORTED extern "C" __attribute__((visibility("default")))

MINDIESD_EXPORTED int launch_fused_norm(const FusedNorm* problem, void* stream) {
  return static_cast<int>(cuda::fused_norm(*problem, stream));
}
MINDIESD_EXPORTED int launch_rms_norm(const RmsNorm* problem, void* stream) {
  return static_cast<int>(cuda::rms_norm(*problem, stream));
}
MINDIESD_EXPORTED int launch_rotary(const RotaryQk* problem, void* stream) {
  return static_cast<int>(cuda::rotary(*problem, stream));
}
MINDIESD_EXPORTED int launch_joint_heads(const JointHeads* problem, void* stream) {
  return static_cast<int>(cuda::joint_heads(*problem, stream));
}
MINDIESD_EXPORTED int launch_group_norm(const GroupNorm* problem, void* stream) {
  return static_cast<int>(cuda::group_norm(*problem, stream));
}
MINDIESD_EXPORTED int launch_linear_activation(const LinearActivation* problem, void* stream) {
  return static_cast<int>(cuda::linear_activation(*problem, stream));
}
MINDIESD_EXPORTED int launch_softmax(const Softmax* problem, void* stream) {
  return static_cast<int>(cuda::softmax(*problem, stream));
}
MINDIESD_EXPORTED int launch_activation(const Activate* problem, void* stream) {
  return static_cast<int>(cuda::activation(*problem, stream));
}
MINDIESD_EXPORTED int launch_weighted_sum(const WeightedSum* problem, void* stream) {
  return static_cast<int>(cuda::weighted_sum(*problem, stream));
}
MINDIESD_EXPORTED int launch_upsample(const Upsample* problem, void* stream) {
  return static_cast<int>(cuda::upsample(*problem, stream));
}
MINDIESD_EXPORTED int launch_int8_linear(const Int8Linear* problem, void* stream) {
  return static_cast<int>(cuda::int8_linear(*problem, stream));
}
MINDIESD_EXPORTED int launch_attention_cudnn(const Attention* problem, void* stream) {
  if (!cuda::attention_cudnn_supports(*problem, 0)) {
    return static_cast<int>(LaunchStatus::kUnsupported);
  }
  return static_cast<int>(cuda::attention_cudnn(*problem, stream));
}
MINDIESD_EXPORTED int launch_attention_hopper(const Attention* problem, void* stream) {
#ifdef MINDIESD_HAVE_HOPPER
  if (cuda::attention_hopper_supports(*problem, 0)) {
    return static_cast<int>(cuda::attention_hopper(*problem, stream));
  }
#endif
  return static_cast<int>(LaunchStatus::kUnsupported);
}
MINDIESD_EXPORTED int launch_attention_mma(const Attention* problem, void* stream) {
  return static_cast<int>(cuda::attention_mma(*problem, stream));
}
MINDIESD_EXPORTED int launch_attention_plain(const Attention* problem, void* stream) {
  return static_cast<int>(cuda::attention_plain(*problem, stream));
}
MINDIESD_EXPORTED int launch_attention_varlen(const VarlenAttention* problem, void* stream) {
  return static_cast<int>(cuda::attention_varlen(*problem, stream));
}
MINDIESD_EXPORTED int launch_copy(const void* from, void* to, long long bytes, void* stream) {
  const long long vectors = bytes / 16;
  const auto blocks = static_cast<unsigned>(cuda::ceil_div(vectors, 256));
  copy_kernel<<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(from), static_cast<uint4*>(to), vectors);
  const cudaError_t error = cudaGetLastError();
  return static_cast<int>(error == cudaSuccess ? LaunchStatus::kOk : cuda::failed(error));
}
MINDIESD_EXPORTED const char* launch_error() { return cuda::last_error(); }

// So that the mirror of the structs can be checked against them.
MINDIESD_EXPORTED long long sizeof_problem(int which) {
  constexpr long long kSizes[] = {
      sizeof(FusedNorm), sizeof(RmsNorm),     sizeof(RotaryQk),        sizeof(Softmax),
      sizeof(Activate),  sizeof(Attention),   sizeof(VarlenAttention), sizeof(JointHeads),
      sizeof(GroupNorm), sizeof(WeightedSum), sizeof(Upsample),        sizeof(LinearActivation),
      sizeof(Int8Linear)};
  return kSizes[which];
}
