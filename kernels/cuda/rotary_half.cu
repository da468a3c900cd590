// Instances of rotary.cuh for __half.

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
