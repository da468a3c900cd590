// Instances of rotary.cuh, rotary_heads.cuh, rotary_packed.cuh and
// rotary_staged.cuh for __nv_bfloat16.

#include "kernels/cuda/rotary.cuh"
#include "kernels/cuda/rotary_few.cuh"
#include "kernels/cuda/rotary_heads.cuh"
#include "kernels/cuda/rotary_packed.cuh"
#include "kernels/cuda/rotary_staged.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(__nv_bfloat16)
MINDIESD_ROTARY_FEW_INSTANCES(__nv_bfloat16)
MINDIESD_ROTARY_HEADS_INSTANCES(__nv_bfloat16)
MINDIESD_ROTARY_PACKED_INSTANCES(__nv_bfloat16)
MINDIESD_ROTARY_STAGED_INSTANCES(__nv_bfloat16)

}  // namespace mindiesd::kernels::cuda
