// Instances of norm.cuh, norm_block.cuh, norm_rows.cuh and norm_short.cuh for __half.

#include "kernels/cuda/norm.cuh"
#include "kernels/cuda/norm_block.cuh"
#include "kernels/cuda/norm_rows.cuh"
#include "kernels/cuda/norm_short.cuh"

namespace mindiesd::kernels::cuda {

MINDIESD_NORM_INSTANCES(__half)
MINDIESD_NORM_ROWS_INSTANCES(__half)
MINDIESD_NORM_SHORT_INSTANCES(__half)
MINDIESD_NORM_BLOCK_INSTANCES(__half)

}  // namespace mindiesd::kernels::cuda
