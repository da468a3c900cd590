// Instances of attention_mma.cuh for __half and heads of more than 128 values.

#include "kernels/cuda/attention_mma.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ATTENTION_INSTANCE(__half, Mma192)
MINDIESD_ATTENTION_INSTANCE(__half, Mma256)
MINDIESD_ATTENTION_INSTANCE(__half, Mma256Small)
MINDIESD_ATTENTION_INSTANCE(__half, Mma512)
MINDIESD_ATTENTION_INSTANCE(__half, Mma512Small)

}  // namespace mindiesd::kernels::cuda
