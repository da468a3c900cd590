// Declarations of ATen, enough to resolve what rules look for: the functions and methods that
// rules/catalogue knows, with ATen's parameter names, by which arguments are bound. refit reads a
// source with these where no compile_commands.json says where libtorch's own headers are.
#pragma once

#include "refit_std.h"

#define TORCH_CHECK(condition, ...) ((void)(condition))
#define TORCH_INTERNAL_ASSERT(condition, ...) ((void)(condition))
#define TORCH_API
#define TORCH_WARN(...) ((void)0)
#define TORCH_WARN_ONCE(...) ((void)0)

namespace c10 {

using std::nullopt;
using std::nullopt_t;
using std::optional;

enum class ScalarType : signed char { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
constexpr ScalarType kByte = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

enum class DeviceType : signed char { CPU, CUDA, MPS, XPU, HIP, Meta };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
constexpr DeviceType kMPS = DeviceType::MPS;
constexpr DeviceType kXPU = DeviceType::XPU;
constexpr DeviceType kHIP = DeviceType::HIP;
constexpr DeviceType kMeta = DeviceType::Meta;
using DeviceIndex = signed char;
struct Device {
  Device(DeviceType type, DeviceIndex index = -1);
  Device(const std::string& text);
  Device(const char* text);
  bool is_cuda() const;
  bool is_cpu() const;
  bool is_mps() const;
  bool is_meta() const;
  bool has_index() const;
  DeviceIndex index() const;
  DeviceType type() const;
  std::string str() const;
};
bool operator==(const Device& a, const Device& b);
bool operator!=(const Device& a, const Device& b);
std::ostream& operator<<(std::ostream& out, const Device& device);
std::ostream& operator<<(std::ostream& out, ScalarType type);
class Error : public std::exception {
 public:
  const char* what_without_backtrace() const;
};
enum class MemoryFormat : signed char { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

class Scalar {
 public:
  Scalar();
  Scalar(int value);
  Scalar(long value);
  Scalar(float value);
  Scalar(double value);
  Scalar(bool value);
  Scalar(long long value);
  double toDouble() const;
  float toFloat() const;
  int64_t toLong() const;
  int toInt() const;
  template <typename T>
  T to() const;
};

template <typename T>
class ArrayRef {
 public:
  ArrayRef();
  ArrayRef(const T& item);
  ArrayRef(const T* data, size_t length);
  ArrayRef(std::initializer_list<T> items);
  ArrayRef(const std::vector<T>& items);
  const T& operator[](size_t index) const;
  size_t size() const;
  bool empty() const;
  const T* begin() const;
  const T* end() const;
  const T& back() const;
  const T& front() const;
  ArrayRef slice(size_t start, size_t length) const;
  std::vector<T> vec() const;
};
using IntArrayRef = ArrayRef<int64_t>;
bool operator==(IntArrayRef a, IntArrayRef b);
bool operator!=(IntArrayRef a, IntArrayRef b);
template <typename T>
std::ostream& operator<<(std::ostream& out, const ArrayRef<T>& items);

class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef();
  OptionalIntArrayRef(nullopt_t);
  OptionalIntArrayRef(const int64_t& item);
  OptionalIntArrayRef(std::initializer_list<int64_t> items);
  OptionalIntArrayRef(IntArrayRef items);
  OptionalIntArrayRef(const std::vector<int64_t>& items);
};

class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled);
  ~AutoGradMode();
};
struct InferenceMode {
  explicit InferenceMode(bool enabled = true);
  ~InferenceMode();
};

}  // namespace c10

namespace caffe2 {
class TypeMeta {
 public:
  c10::ScalarType toScalarType() const;
  size_t itemsize() const;
};
std::ostream& operator<<(std::ostream& out, const TypeMeta& type);
bool operator==(const TypeMeta& a, const TypeMeta& b);
bool operator!=(const TypeMeta& a, const TypeMeta& b);
bool operator==(const TypeMeta& a, c10::ScalarType b);
bool operator!=(const TypeMeta& a, c10::ScalarType b);
}  // namespace caffe2

namespace c10 {

struct TensorOptions {
  TensorOptions();
  TensorOptions(ScalarType dtype);
  TensorOptions(caffe2::TypeMeta dtype);
  TensorOptions(Device device);
  TensorOptions(DeviceType device);
  TensorOptions dtype(ScalarType dtype) const;
  TensorOptions dtype(caffe2::TypeMeta dtype) const;
  TensorOptions device(Device device) const;
  TensorOptions device(DeviceType device) const;
  TensorOptions requires_grad(bool requires_grad = true) const;
  TensorOptions pinned_memory(bool pinned_memory = true) const;
  TensorOptions memory_format(MemoryFormat memory_format) const;
  caffe2::TypeMeta dtype() const;
  Device device() const;
};

}  // namespace c10

namespace at {

using namespace c10;

class Tensor;
using TensorList = ArrayRef<Tensor>;
using ITensorListRef = ArrayRef<Tensor>;

namespace indexing {
enum class EllipsisIndexType { Ellipsis };
constexpr EllipsisIndexType Ellipsis = EllipsisIndexType::Ellipsis;
constexpr nullopt_t None = std::nullopt;
struct Slice {
  Slice(optional<int64_t> start = nullopt, optional<int64_t> stop = nullopt,
        optional<int64_t> step = nullopt);
};
struct TensorIndex {
  TensorIndex(nullopt_t);
  TensorIndex(EllipsisIndexType);
  TensorIndex(const char* text);
  TensorIndex(int64_t index);
  TensorIndex(int index);
  TensorIndex(bool index);
  TensorIndex(Slice slice);
  TensorIndex(const Tensor& index);
};
}  // namespace indexing

template <typename T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor<T, N - 1> operator[](int64_t index) const;
  int64_t size(int64_t dim) const;
};
template <typename T>
class TensorAccessor<T, 1> {
 public:
  T& operator[](int64_t index) const;
  int64_t size(int64_t dim) const;
};

class Tensor {
 public:
  Tensor();
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  ~Tensor();
  Tensor& operator=(const Tensor&) &;
  Tensor& operator=(Tensor&&) & noexcept;
  Tensor& operator=(const Tensor&) &&;
  Tensor& operator=(const Scalar&) &&;
  Tensor& operator+=(const Tensor&);
  Tensor& operator+=(const Scalar&);
  Tensor& operator-=(const Tensor&);
  Tensor& operator-=(const Scalar&);
  Tensor& operator*=(const Tensor&);
  Tensor& operator*=(const Scalar&);
  Tensor& operator/=(const Tensor&);
  Tensor& operator/=(const Scalar&);
  Tensor& operator&=(const Tensor&);
  Tensor& operator|=(const Tensor&);
  Tensor operator-() const;
  Tensor operator~() const;
  Tensor operator[](int64_t index) const;
  Tensor operator[](const Tensor& index) const;

  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const&;
  bool defined() const;
  int64_t dim() const;
  int64_t size(int64_t dim) const;
  int64_t numel() const;
  int64_t stride(int64_t dim) const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  ScalarType scalar_type() const;
  caffe2::TypeMeta dtype() const;
  Device device() const;
  TensorOptions options() const;
  bool is_cuda() const;
  bool is_contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const;
  bool is_floating_point() const;
  bool requires_grad() const;
  void backward(const Tensor& gradient = {}, optional<bool> retain_graph = nullopt,
                bool create_graph = false) const;
  const Scalar item() const;
  template <typename T>
  T item() const;
  template <typename T>
  T* data_ptr() const;

  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor swapaxes(int64_t axis0, int64_t axis1) const;
  Tensor swapdims(int64_t dim0, int64_t dim1) const;
  Tensor permute(IntArrayRef dims) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor t() const;
  Tensor view(IntArrayRef size) const;
  Tensor view_as(const Tensor& other) const;
  Tensor reshape(IntArrayRef shape) const;
  Tensor reshape_as(const Tensor& other) const;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor expand(IntArrayRef size, bool implicit = false) const;
  Tensor expand_as(const Tensor& other) const;
  Tensor repeat(IntArrayRef repeats) const;
  Tensor repeat_interleave(int64_t repeats, optional<int64_t> dim = nullopt) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef split_size, int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef split_sizes, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Tensor& tensor_indices_or_sections, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor slice(int64_t dim = 0, optional<int64_t> start = nullopt,
               optional<int64_t> end = nullopt, int64_t step = 1) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& rhs);
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& rhs);
  Tensor index_select(int64_t dim, const Tensor& index) const;

  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(const Tensor& other, bool non_blocking = false, bool copy = false) const;
  Tensor to(TensorOptions options, bool non_blocking = false, bool copy = false) const;
  Tensor type_as(const Tensor& other) const;
  Tensor cuda() const;
  Tensor cpu() const;
  Tensor contiguous(MemoryFormat memory_format = MemoryFormat::Contiguous) const;
  Tensor clone() const;
  Tensor detach() const;
  Tensor& copy_(const Tensor& src, bool non_blocking = false) const;

  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor div(const Tensor& other) const;
  Tensor div(const Scalar& other) const;
  Tensor pow(const Scalar& exponent) const;
  Tensor pow(const Tensor& exponent) const;
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& mul_(const Tensor& other) const;
  Tensor& mul_(const Scalar& other) const;
  Tensor& div_(const Tensor& other) const;
  Tensor& div_(const Scalar& other) const;
  Tensor& zero_() const;
  Tensor& fill_(const Scalar& value) const;
  Tensor neg() const;
  Tensor square() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor reciprocal() const;
  Tensor exp() const;
  Tensor log() const;
  Tensor abs() const;
  Tensor cos() const;
  Tensor sin() const;
  Tensor sigmoid() const;
  Tensor tanh() const;
  Tensor relu() const;
  Tensor erf() const;
  Tensor clamp(const optional<Scalar>& min, const optional<Scalar>& max = nullopt) const;
  Tensor clamp_min(const Scalar& min) const;
  Tensor clamp_max(const Scalar& max) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor mean(optional<ScalarType> dtype = nullopt) const;
  Tensor mean(OptionalIntArrayRef dim, bool keepdim = false,
              optional<ScalarType> dtype = nullopt) const;
  Tensor sum(optional<ScalarType> dtype = nullopt) const;
  Tensor sum(OptionalIntArrayRef dim, bool keepdim = false,
             optional<ScalarType> dtype = nullopt) const;
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) const;
  Tensor max() const;
  Tensor matmul(const Tensor& other) const;
  Tensor mm(const Tensor& mat2) const;
  Tensor bmm(const Tensor& mat2) const;
  Tensor lt(const Scalar& other) const;
  Tensor le(const Scalar& other) const;
  Tensor gt(const Scalar& other) const;
  Tensor ge(const Scalar& other) const;
  Tensor eq(const Scalar& other) const;
  Tensor ne(const Scalar& other) const;
#include "ATen/refit_methods.h"
};

Tensor operator+(const Tensor& x, const Tensor& y);
Tensor operator+(const Tensor& x, const Scalar& y);
Tensor operator+(const Scalar& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Scalar& y);
Tensor operator-(const Scalar& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Scalar& y);
Tensor operator*(const Scalar& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Scalar& y);
Tensor operator/(const Scalar& x, const Tensor& y);
Tensor operator<(const Tensor& x, const Tensor& y);
Tensor operator<(const Tensor& x, const Scalar& y);
Tensor operator<=(const Tensor& x, const Tensor& y);
Tensor operator<=(const Tensor& x, const Scalar& y);
Tensor operator>(const Tensor& x, const Tensor& y);
Tensor operator>(const Tensor& x, const Scalar& y);
Tensor operator>=(const Tensor& x, const Tensor& y);
Tensor operator>=(const Tensor& x, const Scalar& y);
Tensor operator==(const Tensor& x, const Tensor& y);
Tensor operator==(const Tensor& x, const Scalar& y);
Tensor operator!=(const Tensor& x, const Tensor& y);
Tensor operator!=(const Tensor& x, const Scalar& y);
Tensor operator&(const Tensor& x, const Tensor& y);
Tensor operator|(const Tensor& x, const Tensor& y);
std::ostream& operator<<(std::ostream& out, const Tensor& x);

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const optional<Tensor>& attn_mask = {}, double dropout_p = 0.0,
                                    bool is_causal = false, optional<double> scale = nullopt,
                                    bool enable_gqa = false);
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape,
                const optional<Tensor>& weight = {}, optional<double> eps = nullopt);
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                  const optional<Tensor>& weight = {}, const optional<Tensor>& bias = {},
                  double eps = 1e-05, bool cudnn_enable = true);
Tensor linear(const Tensor& input, const Tensor& weight, const optional<Tensor>& bias = {});
Tensor dropout(const Tensor& input, double p, bool train);
Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor silu(const Tensor& self);
Tensor gelu(const Tensor& self, std::string_view approximate = "none");
Tensor cat(const ITensorListRef& tensors, int64_t dim = 0);
Tensor concat(TensorList tensors, int64_t dim = 0);
Tensor stack(TensorList tensors, int64_t dim = 0);
std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& self, int64_t sections, int64_t dim = 0);
std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0);
Tensor select(const Tensor& self, int64_t dim, int64_t index);
Tensor slice(const Tensor& self, int64_t dim = 0, optional<int64_t> start = nullopt,
             optional<int64_t> end = nullopt, int64_t step = 1);
Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1);
Tensor permute(const Tensor& self, IntArrayRef dims);
Tensor reshape(const Tensor& self, IntArrayRef shape);
Tensor flatten(const Tensor& self, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unsqueeze(const Tensor& self, int64_t dim);
Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1);
Tensor mul(const Tensor& self, const Tensor& other);
Tensor div(const Tensor& self, const Tensor& other);
Tensor pow(const Tensor& self, const Scalar& exponent);
Tensor neg(const Tensor& self);
Tensor square(const Tensor& self);
Tensor sqrt(const Tensor& self);
Tensor rsqrt(const Tensor& self);
Tensor exp(const Tensor& self);
Tensor cos(const Tensor& self);
Tensor sin(const Tensor& self);
Tensor sigmoid(const Tensor& self);
Tensor tanh(const Tensor& self);
Tensor relu(const Tensor& self);
Tensor mean(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false,
            optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, OptionalIntArrayRef dim, bool keepdim = false,
           optional<ScalarType> dtype = nullopt);
Tensor clamp(const Tensor& self, const optional<Scalar>& min, const optional<Scalar>& max = nullopt);
Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other);
Tensor matmul(const Tensor& self, const Tensor& other);
Tensor bmm(const Tensor& self, const Tensor& mat2);
Tensor view_as_complex(const Tensor& self);
Tensor view_as_real(const Tensor& self);
Tensor polar(const Tensor& abs, const Tensor& angle);
Tensor outer(const Tensor& self, const Tensor& vec2);
#include "ATen/refit_functions.h"

}  // namespace at
