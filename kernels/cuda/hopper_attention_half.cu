// Instances of hopper_attention.cuh without masks for __half.

#include "kernels/cuda/hopper_attention.cuh"

namespace mindiesd::kernels::cuda::hopper {

Instances half_instances() { return narrow_instances<__half, Masking::kNone>(); }

}  // namespace mindiesd::kernels::cuda::hopper
