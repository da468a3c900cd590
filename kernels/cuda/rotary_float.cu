// Instances of rotary.cuh, rotary_heads.cuh and rotary_staged.cuh for float.

#include "kernels/cuda/rotary.cuh"
#include "kernels/cuda/rotary_few.cuh"
#include "kernels/cuda/rotary_heads.cuh"
#include "kernels/cuda/rotary_staged.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(float)
MINDIESD_ROTARY_FEW_INSTANCES(float)
MINDIESD_ROTARY_HEADS_INSTANCES(float)
MINDIESD_ROTARY_STAGED_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
