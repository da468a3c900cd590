// Device facts, errors and the shape of a block of rows; see host.h and launch.h.

#include "kernels/cuda/host.h"

#include <string>
#include <vector>

#include "kernels/cuda/launch.h"

namespace mindiesd::kernels::cuda {
namespace {

thread_local std::string t_error;
thread_local bool t_no_device = false;  // activate() failed: nothing may run on another device

bool read_device(int id, Device* device) {
  int major = 0;
  cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&device->multiprocessors, cudaDevAttrMultiProcessorCount, id);
  }
  if (error != cudaSuccess) {
    failed(error);
    return false;
  }
  device->programmatic_launch = major >= 9;
  return true;
}

}  // namespace

LaunchStatus failed(cudaError_t error) {
  cudaGetLastError();  // so that the next launch does not report this failure again
  t_error = std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  return error == cudaErrorMemoryAllocation ? LaunchStatus::kOutOfMemory : LaunchStatus::kFailed;
}

const char* last_error() { return t_error.c_str(); }

const Device* current_device() {
  if (t_no_device) return nullptr;
  int id = 0;
  const cudaError_t error = cudaGetDevice(&id);
  if (error != cudaSuccess) {
    failed(error);
    return nullptr;
  }
  // One entry a thread: no lock, and the same answers in every thread.
  thread_local Device devices[kMaxDevices];
  Device& device = devices[id % kMaxDevices];
  if (device.multiprocessors == 0 && !read_device(id, &device)) return nullptr;
  return &device;
}

bool allow_shared(const void* kernel, std::size_t bytes, bool most) {
  struct Allowed {
    const void* kernel;
    int device;
    std::size_t bytes;
  };
  thread_local std::vector<Allowed> allowed;
  int id = 0;
  if (cudaGetDevice(&id) != cudaSuccess) return false;
  Allowed* known = nullptr;
  for (Allowed& one : allowed) {
    if (one.kernel == kernel && one.device == id) known = &one;
  }
  if (known != nullptr && known->bytes >= bytes) return true;
  cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes));
  if (error == cudaSuccess && most) {
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared);
  }
  if (error != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  if (known == nullptr) known = &allowed.emplace_back(Allowed{kernel, id, 0});
  known->bytes = bytes;
  return true;
}

std::int32_t activate(std::int32_t device) {
  int previous = 0;
  cudaError_t error = cudaGetDevice(&previous);
  if (error == cudaSuccess && previous != device) error = cudaSetDevice(device);
  t_no_device = error != cudaSuccess;
  if (t_no_device) failed(error);
  return previous;
}

RowShape row_shape(std::int64_t vectors, std::int64_t rows, const Device& device,
                   std::initializer_list<int> choices, int block_threads,
                   int (*most_threads)(int per_thread)) {
  // While rows are few, a row gets as many threads as it has vectors, or the device stays idle.
  const bool few = rows * vectors <= std::int64_t{device.multiprocessors} * 1024;
  RowShape best;
  double best_cost = 1e30;
  double preference = 0.0;
  for (const int per_thread : choices) {
    std::int64_t threads = ceil_div(vectors, per_thread);
    if (threads <= 32) {
      std::int64_t lanes = 1;
      while (lanes < threads) lanes *= 2;
      threads = lanes;
    } else {
      threads = ceil_div(threads, 32) * 32;
    }
    if (threads > most_threads(per_thread)) continue;
    // Idle lanes cost a little, for they take no memory's time; so does a block of more than 256
    // threads, whose barriers wait for more, and with few rows every vector after a thread's first.
    double cost = 0.3 * static_cast<double>(threads * per_thread) / static_cast<double>(vectors);
    if (threads > 256) cost += 0.04 / 256 * static_cast<double>(threads);
    cost += few ? 0.25 * per_thread : preference;
    preference += 0.1;
    if (cost < best_cost) {
      best_cost = cost;
      best.threads = static_cast<int>(threads);
      best.per_thread = per_thread;
    }
  }
  // Rows of one block do not wait for each other, and fewer blocks have to start. But not so few
  // blocks that the device idles.
  best.rows = std::max(1, (block_threads + best.threads / 2) / best.threads);
  while (best.rows > 1 && rows < std::int64_t{2} * device.multiprocessors * best.rows)
    best.rows /= 2;
  best.rows = std::min(best.rows, std::max(1, most_threads(best.per_thread) / best.threads));
  while (best.threads * best.rows % 32 != 0) ++best.rows;
  return best;
}

}  // namespace mindiesd::kernels::cuda
