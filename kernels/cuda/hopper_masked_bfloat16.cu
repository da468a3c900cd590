// Instances of hopper_attention.cuh with masks for __nv_bfloat16.

#include "kernels/cuda/hopper_attention.cuh"

namespace mindiesd::kernels::cuda::hopper {

Instances bfloat16_masked_instances() {
  Instances all = narrow_instances<__nv_bfloat16, Masking::kRow>();
  all.push_back(instance<__nv_bfloat16, Shape<64, 128, 2, 3, Masking::kFull>>(1.4F, 1.4F));
  all.push_back(instance<__nv_bfloat16, Shape<96, 128, 2, 1, Masking::kFull>>(1.8F, 1.8F));
  all.push_back(instance<__nv_bfloat16, Shape<128, 128, 2, 1, Masking::kFull>>(2.0F, 2.0F));
  all.push_back(instance<__nv_bfloat16, Shape<160, 64, 2, 1, Masking::kFull>>(1.2F, 1.2F));
  all.push_back(instance<__nv_bfloat16, Shape<192, 64, 2, 1, Masking::kFull>>(1.4F, 1.4F));
  all.push_back(instance<__nv_bfloat16, Shape<256, 64, 2, 1, Masking::kFull>>(1.8F, 1.8F));
  return all;
}

}  // namespace mindiesd::kernels::cuda::hopper
