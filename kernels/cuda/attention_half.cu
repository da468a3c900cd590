// Instances of attention_mma.cuh for __half and heads of up to 128 values.

#include "kernels/cuda/attention_mma.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ATTENTION_INSTANCE(__half, Mma64)
MINDIESD_ATTENTION_INSTANCE(__half, Mma96)
MINDIESD_ATTENTION_INSTANCE(__half, Mma128)

}  // namespace mindiesd::kernels::cuda
