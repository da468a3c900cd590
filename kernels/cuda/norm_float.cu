// Instances of norm.cuh for float.

#include "kernels/cuda/norm.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_NORM_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
