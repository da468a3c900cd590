// Memory for one launch; see memory.h.

#include "kernels/cuda/memory.h"

#include <map>
#include <mutex>

namespace mindiesd::kernels::cuda {
namespace {

cudaError_t pool_of(int device, cudaMemPool_t* pool) {
  static std::mutex& mutex = *new std::mutex;
  static auto& pools = *new std::map<int, cudaMemPool_t>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = pools.find(device);
  if (known != pools.end()) {
    *pool = known->second;
    return cudaSuccess;
  }
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  cudaError_t error = cudaMemPoolCreate(pool, &properties);
  std::uint64_t everything = ~std::uint64_t{0};
  if (error == cudaSuccess) {
    error = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &everything);
  }
  if (error == cudaSuccess) pools.emplace(device, *pool);
  return error;
}

}  // namespace

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
    cudaGetLastError();  // another stream's capture forbids the question
    return true;
  }
  return status != cudaStreamCaptureStatusNone;
}

Workspace::Workspace(int device, std::int64_t bytes, cudaStream_t stream) : stream_(stream) {
  if (bytes == 0) return;
  cudaMemPool_t pool = nullptr;
  error_ = pool_of(device, &pool);
  if (error_ == cudaSuccess) {
    error_ = cudaMallocFromPoolAsync(&memory_, static_cast<std::size_t>(bytes), pool, stream);
  }
  if (error_ != cudaSuccess) memory_ = nullptr;
}

Workspace::~Workspace() {
  if (memory_ != nullptr) cudaFreeAsync(memory_, stream_);
}

}  // namespace mindiesd::kernels::cuda
