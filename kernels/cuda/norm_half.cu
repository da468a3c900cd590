// Instances of norm.cuh for __half.

#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/norm_rows.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_NORM_INSTANCES(__half)
MINDIESD_NORM_ROWS_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
