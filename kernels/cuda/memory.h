// What launches that hand work to another library share: device memory for one launch, and whether
// a graph is being captured. Entry points: Workspace, capturing.

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace mindiesd::kernels::cuda {

// Whether a graph is captured from the stream: nothing is made then that a capture may not see.
bool capturing(cudaStream_t stream);

// Memory for one launch, given back behind it on the stream. It comes from a pool that keeps what
// it has: the device's own pool gives it back at every synchronisation, and asking anew costs more
// than a short problem.
class Workspace {
 public:
  Workspace(int device, std::int64_t bytes, cudaStream_t stream);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  cudaError_t error() const { return error_; }
  char* get() const { return static_cast<char*>(memory_); }

 private:
  cudaStream_t stream_;
  void* memory_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

}  // namespace mindiesd::kernels::cuda
