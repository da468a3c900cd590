// Instances of rotary_heads.cuh for __half.

#include "kernels/cuda/rotary_heads.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_HEADS_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
