// Instances of hopper_attention.cuh for __half.

#include "kernels/cuda/hopper_attention.cuh"
#include "kernels/cuda/hopper_instances.h"

namespace mindiesd::kernels::cuda::hopper {

const Instances& half_instances() {
  static const Instances all = instances<__half>();
  return all;
}

}  // namespace mindiesd::kernels::cuda::hopper
