// Declarations of libtorch's C++ front end, enough to read modules: see ATen/ATen.h.
#pragma once

#include "ATen/ATen.h"

// An option of a module: a member of the name with `_` behind it, and what sets and reads it.
#define TORCH_ARG(T, name)                        \
 public:                                          \
  auto name(const T& new_##name) -> decltype(*this); \
  const T& name() const noexcept;                 \
  T& name() noexcept;                             \
                                                  \
 private:                                         \
  T name##_ /* NOLINT */
#define FORWARD_HAS_DEFAULT_ARGS(...)

namespace torch {

using namespace at;
namespace indexing = at::indexing;
using at::Tensor;

constexpr ScalarType kFloat16 = at::kHalf;
constexpr ScalarType kFloat32 = at::kFloat;
constexpr ScalarType kFloat64 = at::kDouble;
constexpr ScalarType kInt32 = at::kInt;
constexpr ScalarType kInt64 = at::kLong;
constexpr ScalarType kInt16 = at::kShort;
constexpr ScalarType kInt8 = at::kChar;
constexpr ScalarType kUInt8 = at::kByte;
constexpr ScalarType kU8 = at::kByte;
constexpr ScalarType kI64 = at::kLong;
constexpr ScalarType kF32 = at::kFloat;
constexpr ScalarType kF16 = at::kHalf;
constexpr ScalarType kF64 = at::kDouble;
using Dtype = ScalarType;

struct NoGradGuard {
  NoGradGuard();
  ~NoGradGuard();
};
using c10::AutoGradMode;
using c10::InferenceMode;

// What torch::tensor takes: a number, or nested lists of them.
struct TensorDataContainer {
  TensorDataContainer();
  TensorDataContainer(bool value);
  TensorDataContainer(int value);
  TensorDataContainer(int64_t value);
  TensorDataContainer(float value);
  TensorDataContainer(double value);
  TensorDataContainer(std::initializer_list<TensorDataContainer> items);
  template <typename T>
  TensorDataContainer(ArrayRef<T> items);
  template <typename T>
  TensorDataContainer(const std::vector<T>& items);
};
TensorOptions dtype(ScalarType dtype);
TensorOptions dtype(caffe2::TypeMeta dtype);
TensorOptions device(Device device);
TensorOptions requires_grad(bool requires_grad = true);
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor empty(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randperm(int64_t n, const TensorOptions& options = {});
Tensor normal(double mean, double std, IntArrayRef size);
Tensor normal(const Tensor& mean, double std = 1);
Tensor normal(const Tensor& mean, const Tensor& std);
Tensor full(IntArrayRef size, const Scalar& fill_value, const TensorOptions& options = {});
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options = {});
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                const TensorOptions& options = {});
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});
Tensor tensor(TensorDataContainer value, const TensorOptions& options = {});
Tensor scalar_tensor(const Scalar& s, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                 const TensorOptions& options = {});
Tensor hann_window(int64_t window_length, const TensorOptions& options = {});
Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length,
            optional<int64_t> win_length, const optional<Tensor>& window = {});
void manual_seed(uint64_t seed);
void set_num_threads(int count);
template <typename T>
void save(const T& value, const std::string& to);
template <typename T>
void load(T& value, const std::string& from);
namespace cuda {
bool is_available();
bool cudnn_is_available();
size_t device_count();
void manual_seed_all(uint64_t seed);
void synchronize(int64_t device_index = -1);
}  // namespace cuda
namespace mps {
bool is_available();
}
namespace serialize {
class InputArchive;
class OutputArchive;
}  // namespace serialize

namespace nn {

template <typename V>
class OrderedDict {
 public:
  class Item {
   public:
    const std::string& key() const;
    V& value();
    const V& value() const;
    const std::string& operator*() const;
  };
  V& operator[](const std::string& key);
  const V& operator[](const std::string& key) const;
  V* find(const std::string& key);
  bool contains(const std::string& key) const;
  void insert(std::string key, V value);
  Item* begin();
  Item* end();
  const Item* begin() const;
  const Item* end() const;
  size_t size() const;
  bool is_empty() const;
  std::vector<std::string> keys() const;
  std::vector<V> values() const;
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module();
  explicit Module(std::string name);
  virtual ~Module();
  virtual void train(bool on = true);
  void eval();
  const std::string& name() const noexcept;
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  OrderedDict<std::shared_ptr<Module>> named_modules() const;
  OrderedDict<std::shared_ptr<Module>> named_children() const;
  template <typename Function>
  void apply(const Function& function);
  virtual void zero_grad(bool set_to_none = true);
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);
  virtual void pretty_print(std::ostream& stream) const;
  virtual std::shared_ptr<Module> clone(const optional<Device>& device = nullopt) const;
  template <typename M>
  M* as() noexcept;
  template <typename M>
  const M* as() const noexcept;
  bool is_training() const noexcept;
  void to(Device device, bool non_blocking = false);
  void to(ScalarType dtype, bool non_blocking = false);
  void to(Device device, ScalarType dtype, bool non_blocking = false);
  Tensor& register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor tensor);
  template <typename M>
  std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> module);
  template <typename M>
  M register_module(std::string name, M module);
  template <typename M>
  std::shared_ptr<M> replace_module(const std::string& name, std::shared_ptr<M> module);
  template <typename M>
  M replace_module(const std::string& name, M module);
  void unregister_module(const std::string& name);
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
  template <typename... Arguments, typename Held = Contained>
  auto operator()(Arguments&&... arguments) const
      -> decltype(static_cast<Held*>(nullptr)->forward(static_cast<Arguments&&>(arguments)...));
};

#define TORCH_MODULE_IMPL(Name, ImplType)                                \
  class Name : public torch::nn::ModuleHolder<ImplType> {                \
   public:                                                               \
    using torch::nn::ModuleHolder<ImplType>::ModuleHolder;               \
    Name();                                                              \
  }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)

#include "torch/refit_modules.h"

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
#include "torch/refit_functional.h"
Tensor silu(const Tensor& input);
Tensor gelu(const Tensor& input, const GELUFuncOptions& options = {});
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
}  // namespace functional

}  // namespace nn
}  // namespace torch

#include "torch/refit_training.h"
