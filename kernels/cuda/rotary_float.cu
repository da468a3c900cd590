// Instances of rotary.cuh for float.

#include "kernels/cuda/rotary.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ROTARY_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
