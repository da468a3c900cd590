// Instances of norm.cuh for __half.

#include "kernels/cuda/norm.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_NORM_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
