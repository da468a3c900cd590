// Instances of softmax.cuh for float.

#include "kernels/cuda/softmax.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_SOFTMAX_INSTANCES(float)

}  // namespace mindiesd::kernels::cuda
