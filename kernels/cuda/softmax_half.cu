// Instances of softmax.cuh for __half.

#include "kernels/cuda/softmax.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_SOFTMAX_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
