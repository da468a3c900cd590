// Weighted sums of whole tensors. Entry point: weighted_sum.
//
// Traffic: each term once, output once. A thread takes one vector of each term, all of which are
// on their way before the first is used.

#include "kernels/cuda/weighted_sum.h"

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda {
namespace {

// Vectors of 16 bytes, the last block's threads taking the elements that are left over too.
// kTerms: the number of terms, or kMaxTerms for any number.
template <typename T, int kTerms>
__global__ void __launch_bounds__(256) sum_vectors(const __grid_constant__ WeightedSum p) {
  constexpr int kCount = 16 / sizeof(T);
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::int64_t vectors = p.count / kCount;
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < vectors) {
    Raw<16> raw[kTerms];
#pragma unroll
    for (int k = 0; k < kTerms; ++k) {
      if (k < p.term_count) {
        raw[k] = load_operand<16>(static_cast<const T*>(p.terms[k]) + i * kCount);
      }
    }
    float sum[kCount] = {};
#pragma unroll
    for (int k = 0; k < kTerms; ++k) {
      if (k < p.term_count) {
        float x[kCount];
        unpack<T>(raw[k], x);
#pragma unroll
        for (int j = 0; j < kCount; ++j) sum[j] = fmaf(p.weights[k], x[j], sum[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < kCount; ++j) sum[j] *= p.scale;
    store_raw<16>(static_cast<T*>(p.output) + i * kCount, pack<T, 16>(sum));
    return;
  }
  const std::int64_t rest = vectors * kCount + (i - vectors);
  if (rest >= p.count) return;
  float sum = 0.0F;
  for (int k = 0; k < p.term_count; ++k) {
    sum = fmaf(p.weights[k], load_one(p.terms[k], p.type, rest), sum);
  }
  store_one(p.output, p.type, rest, p.scale * sum);
}

// An element at a time, any alignment.
__global__ void __launch_bounds__(256) sum_plain(const __grid_constant__ WeightedSum p) {
  wait_for_previous_kernel();
  allow_next_kernel();
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < p.count; i += step) {
    float sum = 0.0F;
    for (int k = 0; k < p.term_count; ++k) {
      sum = fmaf(p.weights[k], load_one(p.terms[k], p.type, i), sum);
    }
    store_one(p.output, p.type, i, p.scale * sum);
  }
}

using Kernel = void (*)(WeightedSum);

template <typename T>
Kernel kernel_of(int terms) {
  if (terms <= 3) return sum_vectors<T, 3>;
  if (terms == 4) return sum_vectors<T, 4>;
  return sum_vectors<T, kMaxTerms>;
}

Kernel kernel_of(DataType type, int terms) {
  if (type == DataType::kFloat16) return kernel_of<__half>(terms);
  if (type == DataType::kBFloat16) return kernel_of<__nv_bfloat16>(terms);
  return kernel_of<float>(terms);
}

bool on_vectors(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

}  // namespace

LaunchStatus weighted_sum(const WeightedSum& problem, void* stream) {
  if (problem.count == 0) return LaunchStatus::kOk;
  const Device* device = current_device();
  if (device == nullptr) return LaunchStatus::kFailed;
  bool vectors = on_vectors(problem.output);
  for (int k = 0; k < problem.term_count; ++k) vectors = vectors && on_vectors(problem.terms[k]);
  const std::int64_t width = static_cast<std::int64_t>(16 / bytes_of(problem.type));
  const std::int64_t threads = problem.count / width + problem.count % width;
  const std::int64_t blocks = ceil_div(threads, 256);
  if (!vectors || blocks > std::int64_t{0x7fffffff}) {
    const std::int64_t few =
        std::min(ceil_div(problem.count, 256), std::int64_t{device->multiprocessors} * 64);
    return launch(sum_plain, static_cast<unsigned>(few), 256, 0, *device, stream, problem);
  }
  return launch(kernel_of(problem.type, problem.term_count), static_cast<unsigned>(blocks), 256, 0,
                *device, stream, problem);
}

}  // namespace mindiesd::kernels::cuda
