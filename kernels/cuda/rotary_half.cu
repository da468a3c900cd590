// Instances of rotary.cuh and rotary_heads.cuh for __half.

#include "kernels/cuda/rotary.cuh"
#include "kernels/cuda/rotary_heads.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(__half)
MINDIESD_ROTARY_HEADS_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
