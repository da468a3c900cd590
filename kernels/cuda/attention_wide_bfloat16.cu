// Instances of attention_mma.cuh for __nv_bfloat16 and heads of more than 128 values.

#include "kernels/cuda/attention_mma.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma192)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma256)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma256Small)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma512)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma512Small)

}  // namespace mindiesd::kernels::cuda
