// Instances of hopper_attention.cuh without masks for __nv_bfloat16.

#include "kernels/cuda/hopper_attention.cuh"

namespace mindiesd::kernels::cuda::hopper {

Instances bfloat16_instances() { return narrow_instances<__nv_bfloat16, Masking::kNone>(); }

}  // namespace mindiesd::kernels::cuda::hopper
