// Instances of norm.cuh for __nv_bfloat16.

#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/norm_rows.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_NORM_INSTANCES(__nv_bfloat16)
MINDIESD_NORM_ROWS_INSTANCES(__nv_bfloat16)

}  // namespace mindiesd::kernels::cuda
