// Declarations of libtorch's C++ front end, enough to read modules: see ATen/ATen.h.
#pragma once

#include "ATen/ATen.h"

namespace torch {

using namespace at;
namespace indexing = at::indexing;
using at::Tensor;

constexpr ScalarType kFloat16 = at::kHalf;
constexpr ScalarType kFloat32 = at::kFloat;
constexpr ScalarType kFloat64 = at::kDouble;
constexpr ScalarType kInt32 = at::kInt;
constexpr ScalarType kInt64 = at::kLong;

struct NoGradGuard {
  NoGradGuard();
  ~NoGradGuard();
};

TensorOptions dtype(ScalarType dtype);
TensorOptions device(Device device);
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor empty(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options = {});
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options = {});
Tensor tensor(double value, const TensorOptions& options = {});
Tensor empty_like(const Tensor& self, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {});
Tensor ones_like(const Tensor& self, const TensorOptions& options = {});
void manual_seed(uint64_t seed);

namespace nn {

class Module {
 public:
  Module();
  explicit Module(std::string name);
  virtual ~Module();
  virtual void train(bool on = true);
  void eval();
  template <typename M>
  M* as() noexcept;
  template <typename M>
  const M* as() const noexcept;
  bool is_training() const noexcept;
  void to(Device device, bool non_blocking = false);
  void to(ScalarType dtype, bool non_blocking = false);
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module);
  template <typename M>
  M register_module(std::string name, M module);
};

template <typename Derived>
class Cloneable : public Module {
 public:
  using Module::Module;
  virtual void reset() = 0;
};

template <typename Contained>
class ModuleHolder {
 public:
  ModuleHolder(std::nullptr_t);
  template <typename... Arguments>
  explicit ModuleHolder(Arguments&&... arguments);
  Contained* operator->() const;
  Contained& operator*() const;
  Contained* get() const;
  std::shared_ptr<Contained> ptr() const;
  bool is_empty() const noexcept;
  explicit operator bool() const noexcept;
  template <typename... Arguments>
  Tensor operator()(Arguments&&... arguments) const;
};

#define TORCH_MODULE_IMPL(Name, ImplType)                                \
  class Name : public torch::nn::ModuleHolder<ImplType> {                \
   public:                                                               \
    using torch::nn::ModuleHolder<ImplType>::ModuleHolder;               \
    Name();                                                              \
  }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features);
  LinearOptions& bias(bool bias);
};
struct LinearImpl : Module {
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions& options);
  Tensor forward(const Tensor& input);
  Tensor weight, bias;
};
TORCH_MODULE(Linear);
struct DropoutOptions {
  DropoutOptions(double p = 0.5);
};
struct DropoutImpl : Module {
  explicit DropoutImpl(double p);
  Tensor forward(Tensor input);
};
TORCH_MODULE(Dropout);
struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape);
  LayerNormOptions& eps(double eps);
  LayerNormOptions& elementwise_affine(bool elementwise_affine);
};
struct LayerNormImpl : Module {
  explicit LayerNormImpl(const LayerNormOptions& options);
  Tensor forward(const Tensor& input);
  Tensor weight, bias;
};
TORCH_MODULE(LayerNorm);
struct ModuleListImpl : Module {};
TORCH_MODULE(ModuleList);
struct SequentialImpl : Module {};
TORCH_MODULE(Sequential);

namespace functional {
struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim);
  SoftmaxFuncOptions& dtype(optional<ScalarType> dtype);
};
Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options);
struct LogSoftmaxFuncOptions {
  LogSoftmaxFuncOptions(int64_t dim);
  LogSoftmaxFuncOptions& dtype(optional<ScalarType> dtype);
};
Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options);
struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape);
  LayerNormFuncOptions& weight(const Tensor& weight);
  LayerNormFuncOptions& bias(const Tensor& bias);
  LayerNormFuncOptions& eps(double eps);
};
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options);
struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups);
  GroupNormFuncOptions& weight(const Tensor& weight);
  GroupNormFuncOptions& bias(const Tensor& bias);
  GroupNormFuncOptions& eps(double eps);
};
Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options);
struct DropoutFuncOptions {
  DropoutFuncOptions();
  DropoutFuncOptions& p(double p);
  DropoutFuncOptions& training(bool training);
  DropoutFuncOptions& inplace(bool inplace);
};
Tensor dropout(Tensor input, const DropoutFuncOptions& options = {});
struct GLUFuncOptions {
  GLUFuncOptions(int64_t dim = -1);
};
Tensor glu(const Tensor& input, const GLUFuncOptions& options = {});
struct GELUFuncOptions {
  GELUFuncOptions();
  GELUFuncOptions& approximate(std::string approximate);
};
Tensor relu(Tensor input);
Tensor silu(const Tensor& input);
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
}  // namespace functional

}  // namespace nn
}  // namespace torch
