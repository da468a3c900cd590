// Instances of rotary_heads.cuh for float.

#include "kernels/cuda/rotary_heads.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_HEADS_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
