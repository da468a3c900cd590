// Maps for the copy engine; see hopper_maps.h.

#include "kernels/cuda/hopper_maps.h"

#include "kernels/cuda/hopper_tiles.cuh"
#include "kernels/cuda/host.h"

namespace mindiesd::kernels::cuda::hopper {
namespace {

constexpr std::int64_t kUnit = 16;  // bytes

// The engine's bound of strides is 2^40 bytes; that of positions, 2^34 (make_packed_map).
bool stride_fits(const Operand& operand, int dimension, std::int64_t size, int bits) {
  const std::int64_t bytes = operand.strides[dimension] * bytes_of(operand.type);
  return size <= 1 || (bytes >= 0 && bytes % kUnit == 0 && bytes < std::int64_t{1} << bits);
}

using Encode = decltype(&cuTensorMapEncodeTiled);

// The driver's function; null: the driver has none.
Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function,
                                                             12000, cudaEnableDefault, &found);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &function, cudaEnableDefault, &found);
#endif
  if (error != cudaSuccess) cudaGetLastError();
  return found == cudaDriverEntryPointSuccess ? reinterpret_cast<Encode>(function) : nullptr;
}

CUtensorMapDataType type_of(DataType type) {
  switch (type) {
    case DataType::kBool:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case DataType::kFloat16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::kBFloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
}

// What lies outside of the sizes reads as zeros. Steps count bytes, from the second dimension on.
bool encode_map(CUtensorMap* map, const Operand& operand, int rows, const cuuint64_t (&sizes)[5],
                const cuuint64_t (&steps)[4], int pieces = 1) {
  static const Encode encode = find_encode();
  if (encode == nullptr) return false;
  const auto columns = static_cast<cuuint32_t>(128 / bytes_of(operand.type));
  const cuuint32_t box[5] = {columns, static_cast<cuuint32_t>(rows),
                             static_cast<cuuint32_t>(pieces), 1, 1};
  const cuuint32_t every[5] = {1, 1, 1, 1, 1};
  return encode(map, type_of(operand.type), 5, const_cast<void*>(operand.data), sizes, steps, box,
                every, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

// Bytes between neighbours; a unit where there are none.
cuuint64_t step_of(const Operand& operand, int dimension, std::int64_t size) {
  const std::int64_t bytes = operand.strides[dimension] * bytes_of(operand.type);
  return static_cast<cuuint64_t>(size > 1 && bytes > 0 ? bytes : kUnit);
}
cuuint64_t size_of(const Operand& operand, int dimension, std::int64_t size) {
  return static_cast<cuuint64_t>(operand.strides[dimension] == 0 ? 1 : size);
}

}  // namespace

bool reachable(const Operand& operand) {
  return reinterpret_cast<std::uintptr_t>(operand.data) % kUnit == 0 &&
         (operand.strides[2] > 0 || operand.length <= 1) &&
         stride_fits(operand, 0, operand.batch, 40) && stride_fits(operand, 1, operand.heads, 40) &&
         stride_fits(operand, 2, operand.length, 34);
}

bool make_map(CUtensorMap* map, const Operand& operand, int rows) {
  const cuuint64_t step = step_of(operand, 2, operand.length);
  const cuuint64_t sizes[5] = {
      static_cast<cuuint64_t>(operand.width), static_cast<cuuint64_t>(operand.length), 1,
      size_of(operand, 1, operand.heads), size_of(operand, 0, operand.batch)};
  const cuuint64_t steps[4] = {step, step, step_of(operand, 1, operand.heads),
                               step_of(operand, 0, operand.batch)};
  return encode_map(map, operand, rows, sizes, steps);
}

bool make_pieces_map(CUtensorMap* map, const Operand& operand, int rows, int pieces) {
  constexpr cuuint64_t kColumns = 64;
  const cuuint64_t sizes[5] = {kColumns, static_cast<cuuint64_t>(operand.length),
                               static_cast<cuuint64_t>(operand.width) / kColumns,
                               size_of(operand, 1, operand.heads),
                               size_of(operand, 0, operand.batch)};
  const cuuint64_t steps[4] = {step_of(operand, 2, operand.length), kColumns * 2,
                               step_of(operand, 1, operand.heads),
                               step_of(operand, 0, operand.batch)};
  return encode_map(map, operand, rows, sizes, steps, pieces);
}

bool make_packed_map(CUtensorMap* map, const Operand& operand, int rows) {
  const cuuint64_t step = step_of(operand, 2, operand.length);
  const cuuint64_t sizes[5] = {static_cast<cuuint64_t>(operand.width), kFar,
                               static_cast<cuuint64_t>(operand.length) + 1, kFar + 1,
                               size_of(operand, 1, operand.heads)};
  const cuuint64_t steps[4] = {step, step, (cuuint64_t{1} << 34) - step,
                               step_of(operand, 1, operand.heads)};
  return encode_map(map, operand, rows, sizes, steps);
}

}  // namespace mindiesd::kernels::cuda::hopper
