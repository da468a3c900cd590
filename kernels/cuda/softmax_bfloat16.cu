// Instances of softmax.cuh for __nv_bfloat16.

#include "kernels/cuda/softmax.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_SOFTMAX_INSTANCES(__nv_bfloat16)

}  // namespace mindiesd::kernels::cuda
