// What the functions of mindiesd/functional.h share: which tensors the kernels take, and the types
// of results.

#ifndef MINDIESD_FUNCTIONAL_INTERNAL_H_
#define MINDIESD_FUNCTIONAL_INTERNAL_H_

#include <ATen/ATen.h>

#include <optional>

#include "mindiesd/torch.h"

namespace mindiesd {

// The type of a result, as an option: of none, of an at::ScalarType, or of what Tensor::dtype()
// gives.
class ResultType {
 public:
  ResultType() = default;
  ResultType(at::ScalarType type) : type_(type) {}
  ResultType(caffe2::TypeMeta type) : type_(type.toScalarType()) {}
  const std::optional<at::ScalarType>& get() const { return type_; }

 private:
  std::optional<at::ScalarType> type_;
};

namespace functional_internal {

inline bool has_kernel(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

// Whether the library computes with this tensor.
inline bool has_kernel(const at::Tensor& tensor) {
#ifdef MINDIESD_TORCH_CUDA
  const bool device = tensor.is_cpu() || tensor.is_cuda();
#else
  const bool device = tensor.is_cpu();
#endif
  return device && has_kernel(tensor.scalar_type()) && tensor.numel() > 0 && !tensor.is_neg() &&
         !tensor.is_conj() && !(at::GradMode::is_enabled() && tensor.requires_grad());
}

inline bool is_given(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined();
}

inline DataType data_type(at::ScalarType type) {
  if (type == at::kHalf) return DataType::kFloat16;
  return type == at::kBFloat16 ? DataType::kBFloat16 : DataType::kFloat32;
}

// Whether places repeat, as in an expanded tensor: its strides leave the order of a result open.
inline bool repeats(const at::Tensor& tensor) {
  for (std::int64_t d = 0; d < tensor.dim(); ++d) {
    if (tensor.stride(d) == 0 && tensor.size(d) != 1) return true;
  }
  return false;
}

}  // namespace functional_internal

}  // namespace mindiesd

#endif  // MINDIESD_FUNCTIONAL_INTERNAL_H_
