// Instances of rotary_heads.cuh for __nv_bfloat16.

#include "kernels/cuda/rotary_heads.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_HEADS_INSTANCES(__nv_bfloat16)

}  // namespace mindiesd::kernels::cuda
