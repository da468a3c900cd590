// Instances of rotary.cuh and rotary_heads.cuh for float.

#include "kernels/cuda/rotary.cuh"
#include "kernels/cuda/rotary_heads.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(float)
MINDIESD_ROTARY_HEADS_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
