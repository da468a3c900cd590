// Instances of attention_mma.cuh for __nv_bfloat16 and heads of up to 128 values.

#include "kernels/cuda/attention_mma.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma64)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma96)
MINDIESD_ATTENTION_INSTANCE(__nv_bfloat16, Mma128)

}  // namespace mindiesd::kernels::cuda
