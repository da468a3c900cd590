// Which attention kernel computes a problem, and its launch; see launch.h.

#include <array>
#include <cstdint>

#include "kernels/cuda/attention_host.h"
#include "kernels/cuda/attention_mma.cuh"
#include "kernels/cuda/attention_plain.cuh"
#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {
namespace {

constexpr std::int64_t kLongest = kUnbounded - 1;
constexpr std::int64_t kMostBlocks = 0x7fffffff;

// --- parameters ----------------------------------------------------------------------------------

bool rows_aligned(const void* data, const std::int64_t (&strides)[3], std::int64_t width) {
  if (reinterpret_cast<std::uintptr_t>(data) % 16 != 0 || width % 8 != 0) return false;
  return strides[0] % 8 == 0 && strides[1] % 8 == 0 && strides[2] % 8 == 0;
}

// The bytes of a mask that can be moved together: 16, 8 or 4 where its rows allow, else one
// element.
int mask_unit(const Attention& problem) {
  const std::int64_t item = bytes_of(problem.mask_type);
  for (const std::int64_t unit : {16, 8, 4}) {
    bool fits = unit >= item && problem.mask_strides[3] == 1 &&
                reinterpret_cast<std::uintptr_t>(problem.mask) % unit == 0;
    for (int d = 0; d < 3; ++d) fits = fits && problem.mask_strides[d] * item % unit == 0;
    if (fits) return static_cast<int>(unit);
  }
  return static_cast<int>(item);
}

int window(std::int64_t bound) {
  return bound < 0 ? -1 : static_cast<int>(bound < kUnbounded ? bound : kUnbounded);
}

// --- the tensor-core kernels ---------------------------------------------------------------------

struct Instance {
  int width, rows, keys, threads, bytes;
  AttentionKernel (*kernel)(bool guarded);
};

template <typename T, typename Shape>
constexpr Instance instance() {
  return {Shape::kWidth,   Shape::kRows,  Shape::kKeys,
          Shape::kThreads, Shape::kBytes, attention_mma_kernel<T, Shape>};
}
// The preferred ones first; every element type has the same.
template <typename T>
constexpr std::array<Instance, 8> kInstances = {instance<T, Mma64>(),  instance<T, Mma96>(),
                                                instance<T, Mma128>(), instance<T, Mma192>(),
                                                instance<T, Mma256>(), instance<T, Mma256Small>(),
                                                instance<T, Mma512>(), instance<T, Mma512Small>()};

bool guarded(const Attention& problem) {
  return problem.mask != nullptr || problem.alibi_slopes != nullptr || problem.softcap > 0.0F ||
         !(problem.scale > 0.0F);
}

int shared_bytes(const Instance& chosen, const Attention& problem) {
  if (problem.mask == nullptr) return chosen.bytes;
  const int pitch = chosen.keys * static_cast<int>(bytes_of(problem.mask_type)) + 16;
  return chosen.bytes + chosen.rows * pitch;
}

// The number of the first instance that holds a head and fits the device, -1 where none does.
int instance_of(const Attention& problem, int limit) {
  const std::int64_t width = std::max(problem.head_dim, problem.value_dim);
  for (std::size_t i = 0; i < kInstances<__half>.size(); ++i) {
    const Instance& instance = kInstances<__half>[i];
    if (width <= instance.width && shared_bytes(instance, problem) <= limit) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Shared memory that a block may have; 0 for a device that is too old or cannot be asked.
int shared_limit(int device_id) {
  thread_local std::array<int, kMaxDevices> limits = {};
  int& limit = limits[static_cast<std::size_t>(device_id % kMaxDevices)];
  if (limit != 0) return limit;
  int major = 0, bytes = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device_id) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device_id) !=
          cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  limit = major >= 8 ? bytes : 0;
  return limit;
}

// The kernel's limit of shared memory, raised once for each device and thread.
cudaError_t raise_limit(AttentionKernel kernel, int number, int bytes, int limit, int id) {
  thread_local std::array<std::array<int, kMaxDevices>, 4 * kInstances<__half>.size()> raised = {};
  int& have = raised[static_cast<std::size_t>(number)][static_cast<std::size_t>(id % kMaxDevices)];
  if (have >= bytes) return cudaSuccess;
  const auto* function = reinterpret_cast<const void*>(kernel);
  cudaError_t error =
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, limit);
  if (error == cudaSuccess) {
    error = cudaFuncSetAttribute(function, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  }
  if (error == cudaSuccess) have = limit;
  return error;
}

LaunchStatus launch_tiles(AttentionKernel kernel, AttentionParameters p, std::int64_t batch,
                          int rows, std::int64_t slices, int threads, int bytes, void* stream) {
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  const bool packed = p.cu_query != nullptr;
  // A packed sequence may end in a block that is not full, and so may what lies outside of all.
  const std::int64_t tiles =
      packed ? p.query_length / rows + p.sequences + 2 : ceil_div(p.query_length, rows);
  const std::int64_t blocks = tiles * slices * p.heads * (packed ? 1 : batch);
  if (tiles * slices > kMostBlocks || blocks > kMostBlocks) return LaunchStatus::kUnsupported;
  if (blocks == 0) return LaunchStatus::kOk;
  p.tiles = static_cast<int>(tiles);
  return launch(kernel, static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                static_cast<std::size_t>(bytes), *device, stream, p);
}

LaunchStatus launch_mma(const Attention& problem, const AttentionParameters& p, void* stream) {
  int id = 0;
  cudaError_t error = cudaGetDevice(&id);
  if (error != cudaSuccess) return failed(error);
  const int limit = shared_limit(id);
  const int index = instance_of(problem, limit);
  if (index < 0) return LaunchStatus::kUnsupported;
  const bool half = problem.type == DataType::kFloat16;
  const bool with_guards = guarded(problem);
  const Instance& chosen = half ? kInstances<__half>[static_cast<std::size_t>(index)]
                                : kInstances<__nv_bfloat16>[static_cast<std::size_t>(index)];
  const AttentionKernel kernel = chosen.kernel(with_guards);
  const int bytes = shared_bytes(chosen, problem);
  error = raise_limit(kernel, 4 * index + (half ? 2 : 0) + (with_guards ? 1 : 0), bytes, limit, id);
  if (error != cudaSuccess) return failed(error);
  return launch_tiles(kernel, p, problem.batch, chosen.rows, 1, chosen.threads, bytes, stream);
}

LaunchStatus launch_plain(const Attention& problem, const AttentionParameters& p, void* stream) {
  return launch_tiles(attention_plain_kernel(problem.type), p, problem.batch, kPlainRows,
                      ceil_div(problem.value_dim, kPlainSlice), kPlainThreads, 0, stream);
}

}  // namespace

AttentionParameters attention_parameters(const Attention& problem) {
  AttentionParameters p = {};
  p.query = problem.query;
  p.key = problem.key;
  p.value = problem.value;
  p.output = problem.output;
  p.lse = problem.lse;
  p.mask = problem.mask;
  p.slopes = problem.alibi_slopes;
  for (int d = 0; d < 3; ++d) {
    p.query_strides[d] = problem.query_strides[d];
    p.key_strides[d] = problem.key_strides[d];
    p.value_strides[d] = problem.value_strides[d];
    p.output_strides[d] = problem.output_strides[d];
    p.lse_strides[d] = problem.lse_strides[d];
  }
  for (int d = 0; d < 4; ++d) p.mask_strides[d] = problem.mask_strides[d];
  for (int d = 0; d < 2; ++d) p.slope_strides[d] = problem.alibi_strides[d];
  p.heads = static_cast<int>(problem.query_heads);
  p.heads_per_key = static_cast<int>(problem.query_heads / problem.key_heads);
  p.query_length = static_cast<int>(problem.query_length);
  p.key_length = static_cast<int>(problem.key_length);
  p.head_dim = static_cast<int>(problem.head_dim);
  p.value_dim = static_cast<int>(problem.value_dim);
  p.type = problem.type;
  p.mask_type = problem.mask_type;
  p.mask_unit = problem.mask != nullptr ? mask_unit(problem) : 1;
  p.scale = problem.scale;
  p.softcap = problem.softcap;
  p.causal = problem.causal;
  p.window_left = window(problem.window_left);
  p.window_right = window(problem.window_right);
  p.query_vectors = rows_aligned(problem.query, problem.query_strides, problem.head_dim);
  p.key_vectors = rows_aligned(problem.key, problem.key_strides, problem.head_dim);
  p.value_vectors = rows_aligned(problem.value, problem.value_strides, problem.value_dim);
  p.output_vectors = rows_aligned(problem.output, problem.output_strides, problem.value_dim);
  return p;
}

bool attention_in_range(const Attention& problem) {
  return problem.query_length <= kLongest && problem.key_length <= kLongest &&
         problem.head_dim <= kLongest && problem.value_dim <= kLongest &&
         problem.query_heads <= kMostBlocks && problem.batch <= kMostBlocks;
}

bool attention_mma_supports(const Attention& problem, std::int32_t device_id) {
  if (problem.type == DataType::kFloat32 || !attention_in_range(problem)) return false;
  return instance_of(problem, shared_limit(device_id)) >= 0;
}

bool attention_plain_supports(const Attention& problem, std::int32_t) {
  return attention_in_range(problem);
}

LaunchStatus attention_mma(const Attention& problem, void* stream) {
  return launch_mma(problem, attention_parameters(problem), stream);
}

LaunchStatus attention_plain(const Attention& problem, void* stream) {
  return launch_plain(problem, attention_parameters(problem), stream);
}

LaunchStatus attention_varlen(const VarlenAttention& varlen, void* stream) {
  const Attention& problem = varlen.problem;
  if (!attention_in_range(problem) || varlen.sequences > kLongest)
    return LaunchStatus::kUnsupported;
  AttentionParameters p = attention_parameters(problem);
  p.cu_query = varlen.cu_seqlens_query;
  p.cu_key = varlen.cu_seqlens_key;
  p.wide_cu = varlen.cu_seqlens_type == DataType::kInt64;
  p.sequences = static_cast<int>(varlen.sequences);
  int id = 0;
  const cudaError_t error = cudaGetDevice(&id);
  if (error != cudaSuccess) return failed(error);
#ifdef MINDIESD_HAVE_HOPPER
  if (hopper_supports(problem, true, id)) return hopper_launch(problem, p, stream);
#endif
  return attention_mma_supports(problem, id) ? launch_mma(problem, p, stream)
                                             : launch_plain(problem, p, stream);
}

}  // namespace mindiesd::kernels::cuda
