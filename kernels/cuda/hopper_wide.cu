// Instances of hopper_wide.cuh.

#include "kernels/cuda/hopper_wide.cuh"

namespace mindiesd::kernels::cuda::hopper {

Instances half_wide_instances() { return wide_instances<__half>(); }
Instances bfloat16_wide_instances() { return wide_instances<__nv_bfloat16>(); }

}  // namespace mindiesd::kernels::cuda::hopper
