// Instances of rotary.cuh for __nv_bfloat16.

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(__nv_bfloat16)

}  // namespace mindiesd::kernels::cuda
