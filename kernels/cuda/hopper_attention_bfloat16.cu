// Instances of hopper_attention.cuh for __nv_bfloat16.

#include "kernels/cuda/hopper_attention.cuh"
#include "kernels/cuda/hopper_instances.h"

namespace mindiesd::kernels::cuda::hopper {

const Instances& bfloat16_instances() {
  static const Instances all = instances<__nv_bfloat16>();
  return all;
}

}  // namespace mindiesd::kernels::cuda::hopper
