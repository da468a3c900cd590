// Tensor views from and to DLPack (github.com/dmlc/dlpack). Entry points: from_dlpack, to_dlpack.
// Templates over DLPack's struct DLTensor, so that this header needs none of its versions.

#ifndef MINDIESD_DLPACK_H_
#define MINDIESD_DLPACK_H_

#include <cstdint>
#include <string>

#include "mindiesd/mindiesd.h"

namespace mindiesd {

namespace internal {

// DLDataTypeCode
inline constexpr int kDlInt = 0, kDlFloat = 2, kDlBFloat = 4, kDlBool = 6;

struct DlType {
  int code, bits;
  DataType dtype;
};
inline constexpr DlType kDlTypes[] = {
    {kDlFloat, 32, DataType::kFloat32},   {kDlFloat, 16, DataType::kFloat16},
    {kDlBFloat, 16, DataType::kBFloat16}, {kDlBool, 8, DataType::kBool},
    {kDlInt, 32, DataType::kInt32},       {kDlInt, 64, DataType::kInt64},
    {kDlFloat, 64, DataType::kFloat64},   {kDlInt, 8, DataType::kInt8},
};

}  // namespace internal

// The view of a DLTensor; it shares the memory, which must outlive it.
template <typename DLTensor>
Status from_dlpack(const DLTensor& tensor, TensorView* view) {
  if (tensor.ndim < 0 || tensor.ndim > MINDIESD_MAX_NDIM) {
    return {StatusCode::kInvalidArgument,
            "the DLPack tensor must have 0 to " + std::to_string(MINDIESD_MAX_NDIM) +
                " dimensions, but has " + std::to_string(tensor.ndim)};
  }
  TensorView result;
  bool known = false;
  for (const internal::DlType& type : internal::kDlTypes) {
    if (tensor.dtype.code == type.code && tensor.dtype.bits == type.bits &&
        tensor.dtype.lanes == 1) {
      result.dtype = type.dtype;
      known = true;
    }
  }
  if (!known) {
    return {StatusCode::kInvalidArgument,
            "the DLPack tensor must be float32, float16, bfloat16, float64, bool, int8, int32 or "
            "int64, but has type code " +
                std::to_string(tensor.dtype.code) + " with " + std::to_string(tensor.dtype.bits) +
                " bits and " + std::to_string(tensor.dtype.lanes) + " lanes"};
  }
  result.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  result.ndim = tensor.ndim;
  result.device.type = static_cast<std::int32_t>(tensor.device.device_type);
  result.device.id = tensor.device.device_id;
  std::int64_t dense = 1;
  for (std::int32_t d = tensor.ndim - 1; d >= 0; --d) {
    result.sizes[d] = tensor.shape[d];
    result.strides[d] = tensor.strides != nullptr ? tensor.strides[d] : dense;
    dense *= tensor.shape[d];
  }
  *view = result;
  return {};
}

// A DLTensor over the view's memory; its shape and strides point into `view`, which must outlive
// it.
template <typename DLTensor>
void to_dlpack(TensorView& view, DLTensor* tensor) {
  *tensor = DLTensor{};
  tensor->data = view.data;
  tensor->byte_offset = 0;
  tensor->ndim = view.ndim;
  tensor->shape = view.sizes;
  tensor->strides = view.strides;
  using DeviceType = decltype(tensor->device.device_type);
  tensor->device.device_type = static_cast<DeviceType>(view.device.type);
  tensor->device.device_id = view.device.id;
  for (const internal::DlType& type : internal::kDlTypes) {
    if (view.dtype != type.dtype) continue;
    tensor->dtype.code = static_cast<decltype(tensor->dtype.code)>(type.code);
    tensor->dtype.bits = static_cast<decltype(tensor->dtype.bits)>(type.bits);
    tensor->dtype.lanes = 1;
  }
}

}  // namespace mindiesd

#endif  // MINDIESD_DLPACK_H_
