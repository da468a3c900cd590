// libmindiesd for libtorch programs: at::Tensor in and out, results allocated by torch, work on
// torch's current stream. Header only, over mindiesd.h; libmindiesd itself links no torch. Entry
// points: the functions of mindiesd::torch, which are those of mindiesd.h with tensors for views.
//
//   #include <torch/torch.h>
//   #include <mindiesd/torch.h>
//   at::Tensor out = mindiesd::torch::attention_forward(query, key, value);  // [B, S, N, D]
//
// Inference only: nothing is recorded for gradients, and a tensor that requires one while they are
// recorded is refused, as is everything that the library refuses, by c10::Error with its text.
// Tensors must be float32, float16 or bfloat16 on the CPU or a CUDA device; conjugate and negative
// views are not resolved. With CUDA, define MINDIESD_TORCH_CUDA before including it and link
// libtorch's CUDA parts; otherwise only tensors on the CPU are taken.

#ifndef MINDIESD_TORCH_H_
#define MINDIESD_TORCH_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>
#ifdef MINDIESD_TORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "mindiesd/mindiesd.h"

namespace mindiesd::torch {

namespace internal {

inline DataType dtype_of(const at::Tensor& tensor, const char* name) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return DataType::kFloat32;
    case at::kHalf:
      return DataType::kFloat16;
    case at::kBFloat16:
      return DataType::kBFloat16;
    case at::kBool:
      return DataType::kBool;
    case at::kInt:
      return DataType::kInt32;
    case at::kLong:
      return DataType::kInt64;
    case at::kDouble:
      return DataType::kFloat64;
    default:
      TORCH_CHECK(false, "mindiesd: ", name,
                  " must be float32, float16, bfloat16, float64, bool, int32 or int64, but is ",
                  tensor.scalar_type());
  }
}

inline TensorView view_of(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK(tensor.defined(), "mindiesd: ", name, " must be a tensor, but is undefined");
  TORCH_CHECK(
      !(at::GradMode::is_enabled() && tensor.requires_grad()), "mindiesd: ", name,
      " requires grad, but mindiesd computes no gradients; call it under torch::NoGradGuard");
  TORCH_CHECK(!tensor.is_neg() && !tensor.is_conj(), "mindiesd: ", name,
              " is a lazy negative or conjugate; call resolve_neg() or resolve_conj()");
#ifdef MINDIESD_TORCH_CUDA
  TORCH_CHECK(tensor.is_cpu() || tensor.is_cuda(), "mindiesd: ", name,
              " must be on the CPU or a CUDA device, but is on ", tensor.device());
#else
  TORCH_CHECK(tensor.is_cpu(), "mindiesd: ", name, " must be on the CPU, but is on ",
              tensor.device(), "; for CUDA define MINDIESD_TORCH_CUDA");
#endif
  TensorView view;
  view.data = const_cast<void*>(tensor.const_data_ptr());  // only outputs are written
  view.dtype = dtype_of(tensor, name);
  view.ndim = static_cast<std::int32_t>(tensor.dim());
  for (std::int32_t d = 0; d < view.ndim && d < MINDIESD_MAX_NDIM; ++d) {
    view.sizes[d] = tensor.size(d);
    view.strides[d] = tensor.stride(d);
  }
  view.device.type = tensor.is_cuda() ? MINDIESD_CUDA : MINDIESD_CPU;
  view.device.id = tensor.is_cuda() ? tensor.get_device() : 0;
  return view;
}

// An operand that may be absent.
class Optional {
 public:
  Optional(const std::optional<at::Tensor>& tensor, const char* name) {
    present_ = tensor.has_value() && tensor->defined();
    if (present_) view_ = view_of(*tensor, name);
  }
  const TensorView* get() const { return present_ ? &view_ : nullptr; }

 private:
  TensorView view_;
  bool present_ = false;
};

inline void* stream_of(const at::Tensor& tensor) {
#ifdef MINDIESD_TORCH_CUDA
  if (tensor.is_cuda()) return c10::cuda::getCurrentCUDAStream(tensor.get_device()).stream();
#endif
  static_cast<void>(tensor);
  return nullptr;
}

inline void check(const Status& status) {
  TORCH_CHECK(status.ok(), "mindiesd: ", status.message());
}

}  // namespace internal

struct AttentionOptions {
  std::optional<at::Tensor> mask;          // broadcastable to [B, N, Sq, Sk]; true keeps
  std::optional<at::Tensor> alibi_slopes;  // float32 [N] or [B, N]
  double scale = NAN;                      // NAN: 1 / sqrt(head_dim)
  double softcap = 0.0;
  std::int64_t window_left = -1;
  std::int64_t window_right = -1;
  Layout layout = Layout::kBSND;
  Causal causal = Causal::kNone;
  std::int32_t backend = 0;
};

// See mindiesd_attention. The result is dense in the layout that was given.
inline at::Tensor attention_forward(const at::Tensor& query, const at::Tensor& key,
                                    const at::Tensor& value, const AttentionOptions& options = {}) {
  const TensorView q = internal::view_of(query, "query"), k = internal::view_of(key, "key");
  const TensorView v = internal::view_of(value, "value");
  const internal::Optional mask(options.mask, "mask"), slopes(options.alibi_slopes, "alibi_slopes");
  TORCH_CHECK(query.dim() == 4 && value.dim() == 4,
              "mindiesd: query and value must have 4 dimensions, but have ", query.dim(), " and ",
              value.dim());
  std::vector<std::int64_t> sizes = query.sizes().vec();
  sizes[3] = value.size(3);
  at::Tensor output = at::empty(sizes, query.options());
  mindiesd::AttentionOptions all;
  all.mask = mask.get();
  all.alibi_slopes = slopes.get();
  all.scale = options.scale;
  all.softcap = options.softcap;
  all.window_left = options.window_left;
  all.window_right = options.window_right;
  all.layout = options.layout;
  all.causal = options.causal;
  all.backend = options.backend;
  internal::check(mindiesd::attention_forward(q, k, v, internal::view_of(output, "output"), all,
                                              internal::stream_of(query)));
  return output;
}

// See mindiesd_rotary. The result has x's type and stride order.
inline at::Tensor rotary_position_embedding(const at::Tensor& x, const at::Tensor& cos,
                                            const at::Tensor& sin,
                                            Rotation rotation = Rotation::kHalf) {
  const TensorView in = internal::view_of(x, "x");
  at::Tensor output = at::empty_like(x);
  internal::check(mindiesd::rotary_position_embedding(
      in, internal::view_of(cos, "cos"), internal::view_of(sin, "sin"),
      internal::view_of(output, "output"), rotation, internal::stream_of(x)));
  return output;
}

struct RotaryQkOptions {
  Rotation rotation = Rotation::kHalf;
  QkNorm norm = QkNorm::kNone;
  std::optional<at::Tensor> query_weight;
  std::optional<at::Tensor> key_weight;
  double eps = 1e-6;
  std::int32_t head_dimension = -2;
};

// See mindiesd_rotary_qk. Each result has its operand's type and stride order.
inline std::tuple<at::Tensor, at::Tensor> rotary_qk(const at::Tensor& query, const at::Tensor& key,
                                                    const at::Tensor& cos,
                                                    const std::optional<at::Tensor>& sin,
                                                    const RotaryQkOptions& options = {}) {
  const TensorView q = internal::view_of(query, "query"), k = internal::view_of(key, "key");
  const internal::Optional s(sin, "sin");
  const internal::Optional q_weight(options.query_weight, "query_weight");
  const internal::Optional k_weight(options.key_weight, "key_weight");
  at::Tensor query_output = at::empty_like(query), key_output = at::empty_like(key);
  mindiesd::RotaryQkOptions all;
  all.rotation = options.rotation;
  all.norm = options.norm;
  all.query_weight = q_weight.get();
  all.key_weight = k_weight.get();
  all.eps = options.eps;
  all.head_dimension = options.head_dimension;
  internal::check(mindiesd::rotary_qk(
      q, k, internal::view_of(cos, "cos"), s.get(), internal::view_of(query_output, "query_output"),
      internal::view_of(key_output, "key_output"), all, internal::stream_of(query)));
  return {query_output, key_output};
}

struct HeadStream {
  at::Tensor query, key, value;  // [B, S, N, D]
  QkNorm norm = QkNorm::kNone;
  std::optional<at::Tensor> query_weight, key_weight, query_bias, key_bias;
  std::optional<at::Tensor> cos, sin;  // absent: no rotation
  double eps = 1e-6;
};

// See mindiesd_joint_heads. Query, key and value of both streams, `other` behind `first` along the
// sequence, dense and of first's types.
inline std::tuple<at::Tensor, at::Tensor, at::Tensor> joint_heads(
    const HeadStream& first, const HeadStream& other, const JointHeadsOptions& options = {}) {
  const auto joint = [&options](const at::Tensor& a, const at::Tensor& b) {
    std::vector<std::int64_t> sizes = a.sizes().vec();
    const std::int64_t d = options.sequence_dimension;
    const auto at = static_cast<std::size_t>(d < 0 ? d + a.dim() : d);
    if (at < sizes.size() && b.dim() == a.dim()) sizes[at] += b.sizes()[at];
    return at::empty(sizes, a.options());
  };
  const at::Tensor outputs[3] = {joint(first.query, other.query), joint(first.key, other.key),
                                 joint(first.value, other.value)};
  struct Views {
    explicit Views(const HeadStream& s)
        : query(internal::view_of(s.query, "query")),
          key(internal::view_of(s.key, "key")),
          value(internal::view_of(s.value, "value")),
          query_weight(s.query_weight, "query_weight"),
          key_weight(s.key_weight, "key_weight"),
          query_bias(s.query_bias, "query_bias"),
          key_bias(s.key_bias, "key_bias"),
          cos(s.cos, "cos"),
          sin(s.sin, "sin") {
      all.query = &query;
      all.key = &key;
      all.value = &value;
      all.norm = s.norm;
      all.query_weight = query_weight.get();
      all.key_weight = key_weight.get();
      all.query_bias = query_bias.get();
      all.key_bias = key_bias.get();
      all.cos = cos.get();
      all.sin = sin.get();
      all.eps = s.eps;
    }
    Views(const Views&) = delete;
    Views& operator=(const Views&) = delete;
    TensorView query, key, value;
    internal::Optional query_weight, key_weight, query_bias, key_bias, cos, sin;
    mindiesd::HeadStream all;
  };
  const Views a(first), b(other);
  internal::check(mindiesd::joint_heads(a.all, b.all, internal::view_of(outputs[0], "query_output"),
                                        internal::view_of(outputs[1], "key_output"),
                                        internal::view_of(outputs[2], "value_output"), options,
                                        internal::stream_of(first.query)));
  return {outputs[0], outputs[1], outputs[2]};
}

// See mindiesd_rms_norm. The result has x's type, rounded once, and is contiguous.
inline at::Tensor rms_norm(const at::Tensor& x, const std::optional<at::Tensor>& weight = {},
                           double eps = 1e-6) {
  const TensorView in = internal::view_of(x, "x");
  const internal::Optional w(weight, "weight");
  at::Tensor output = at::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
  RmsNormOptions options;
  options.weight = w.get();
  options.eps = eps;
  internal::check(
      mindiesd::rms_norm(in, internal::view_of(output, "output"), options, internal::stream_of(x)));
  return output;
}

struct NormOptions {
  NormKind kind = NormKind::kLayer;
  std::optional<at::Tensor> weight, bias;  // [H]
  std::optional<at::Tensor> scale, shift;  // broadcastable to x
  std::optional<at::Tensor> branch, gate;  // sum = x + gate * branch
  double eps = 1e-5;
  GateFunction gate_function = GateFunction::kItself;
  bool branch_norm = false;                 // the branch has an RMSNorm of its own
  std::optional<at::Tensor> branch_weight;  // [H]
  double branch_eps = 1e-6;
  std::optional<at::ScalarType> sum_type, result_type;  // x's, where absent
};

namespace internal {

// With `normalises` (result, sum), else the sum alone.
inline std::tuple<at::Tensor, at::Tensor> fused_norm(const at::Tensor& x,
                                                     const NormOptions& options, bool normalises) {
  const TensorView in = internal::view_of(x, "x");
  const internal::Optional weight(options.weight, "weight"), bias(options.bias, "bias");
  const internal::Optional scale(options.scale, "scale"), shift(options.shift, "shift");
  const internal::Optional branch(options.branch, "branch"), gate(options.gate, "gate");
  const internal::Optional branch_weight(options.branch_weight, "branch_weight");
  std::optional<at::Tensor> output, sum;
  if (normalises) {
    output = at::empty_like(x, x.options().dtype(options.result_type.value_or(x.scalar_type())),
                            at::MemoryFormat::Contiguous);
  }
  if (branch.get() != nullptr) {
    sum = at::empty_like(x, x.options().dtype(options.sum_type.value_or(x.scalar_type())));
  }
  const internal::Optional output_view(output, "output"), sum_view(sum, "sum");
  FusedNormOptions all;
  all.kind = options.kind;
  all.weight = weight.get();
  all.bias = bias.get();
  all.scale = scale.get();
  all.shift = shift.get();
  all.branch = branch.get();
  all.gate = gate.get();
  all.sum = sum_view.get();
  all.eps = options.eps;
  all.gate_function = options.gate_function;
  all.branch_norm = options.branch_norm;
  all.branch_weight = branch_weight.get();
  all.branch_eps = options.branch_eps;
  internal::check(mindiesd::fused_norm(in, output_view.get(), all, internal::stream_of(x)));
  return {output.value_or(at::Tensor()), sum.value_or(at::Tensor())};
}

}  // namespace internal

// norm(x + gate * branch) * (1 + scale) + shift, contiguous, and the sum in the stride order of x
// (undefined without a branch). See mindiesd_fused_norm.
inline std::tuple<at::Tensor, at::Tensor> fused_norm(const at::Tensor& x,
                                                     const NormOptions& options = {}) {
  return internal::fused_norm(x, options, true);
}

// x + gate * branch in the stride order of x; of `options` what concerns the sum counts.
inline at::Tensor residual(const at::Tensor& x, const at::Tensor& branch,
                           const NormOptions& options = {}) {
  NormOptions all = options;
  all.branch = branch;
  return std::get<1>(internal::fused_norm(x, all, false));
}

// See mindiesd_activation: activation(x), or x * activation(gate), in x's type and stride order.
inline at::Tensor activation(const at::Tensor& x, Activation kind,
                             const std::optional<at::Tensor>& gate = {}) {
  const TensorView in = internal::view_of(x, "x");
  const internal::Optional factor(gate, "gate");
  at::Tensor output = at::empty_like(x);
  internal::check(mindiesd::activation(in, internal::view_of(output, "output"), kind, factor.get(),
                                       internal::stream_of(x)));
  return output;
}

// See mindiesd_weighted_sum: scale * (weights[0] * terms[0] + ...), in the layout of the first
// term. By libtorch's operators where mindiesd_weighted_sum does not compute it.
inline at::Tensor weighted_sum(at::TensorList terms, at::ArrayRef<double> weights,
                               double scale = 1.0) {
  TORCH_CHECK(terms.size() == weights.size() && !terms.empty(),
              "mindiesd: a weighted sum must have one weight for each term, but has ",
              weights.size(), " for ", terms.size());
  Status status(StatusCode::kUnsupported, "");
  if (terms.size() <= MINDIESD_MAX_TERMS) {
    TensorView views[MINDIESD_MAX_TERMS];
    for (std::size_t k = 0; k < terms.size(); ++k) {
      views[k] = internal::view_of(terms[k], "terms");
    }
    const at::Tensor output = at::empty_like(terms[0]);
    status = mindiesd::weighted_sum(views, weights.data(), static_cast<std::int32_t>(terms.size()),
                                    internal::view_of(output, "output"), scale,
                                    internal::stream_of(terms[0]));
    if (status.ok()) return output;
  }
  if (status.code() != StatusCode::kUnsupported) internal::check(status);
  at::Tensor total = terms[0] * weights[0];
  for (std::size_t k = 1; k < terms.size(); ++k) total = total + terms[k] * weights[k];
  return total * scale;
}

// See mindiesd_rotary_grid: x [B, S, N, D], table complex [P, D/2], grid_sizes integers [B, 3]; the
// first D/2 - 2 (D/2 / 3) pairs turn by the frame, as many as D/2 / 3 by the row and the column.
// The result is float32.
inline at::Tensor rotary_grid(const at::Tensor& x, const at::Tensor& table,
                              const at::Tensor& grid_sizes) {
  TORCH_CHECK(table.is_complex(), "mindiesd: table must be complex, but is ", table.scalar_type());
  const TensorView in = internal::view_of(x, "x");
  const at::Tensor pairs = at::view_as_real(table.resolve_conj().contiguous());
  const at::Tensor sizes = grid_sizes.to(at::kCPU, at::kLong).contiguous();
  const at::Tensor output = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  const std::int64_t third = table.size(-1) / 3;
  internal::check(mindiesd::rotary_grid(in, internal::view_of(pairs, "table"),
                                        internal::view_of(sizes, "grid_sizes"),
                                        internal::view_of(output, "output"),
                                        table.size(-1) - 2 * third, third, internal::stream_of(x)));
  return output;
}

// at::group_norm of x [N, C, ...], and at::silu of it with `silu`, dense. By libtorch's functions
// where mindiesd_group_norm does not compute it.
inline at::Tensor group_norm(const at::Tensor& x, std::int64_t groups,
                             const std::optional<at::Tensor>& weight = {},
                             const std::optional<at::Tensor>& bias = {}, double eps = 1e-5,
                             bool silu = false) {
  const TensorView in = internal::view_of(x, "x");
  const internal::Optional scale(weight, "weight"), offset(bias, "bias");
  const at::Tensor output = at::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
  GroupNormOptions options;
  options.weight = scale.get();
  options.bias = offset.get();
  options.eps = eps;
  options.silu = silu;
  const Status status = mindiesd::group_norm(in, groups, internal::view_of(output, "output"),
                                             options, internal::stream_of(x));
  if (status.code() == StatusCode::kUnsupported) {
    const at::Tensor normal = at::group_norm(x.contiguous(), groups, weight, bias, eps);
    return silu ? at::silu(normal) : normal;
  }
  internal::check(status);
  return output;
}

// activation(at::linear(x, weight, bias)), in one product with its epilogue where
// mindiesd_linear_activation computes it, else in a product and a pass over its result.
inline at::Tensor linear_activation(const at::Tensor& x, const at::Tensor& weight,
                                    const std::optional<at::Tensor>& bias, Activation kind) {
  const TensorView in = internal::view_of(x, "x"), matrix = internal::view_of(weight, "weight");
  const internal::Optional vector(bias, "bias");
  TORCH_CHECK(x.dim() > 0 && weight.dim() == 2 && weight.size(1) == x.size(-1),
              "mindiesd: weight must have 2 dimensions, the second that of x's last, ", x.sizes(),
              ", but has shape ", weight.sizes());
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(0);
  at::Tensor output = at::empty(sizes, x.options());
  const TensorView out = internal::view_of(output, "output");
  const Status status =
      mindiesd::linear_activation(in, matrix, vector.get(), out, kind, internal::stream_of(x));
  if (status.code() == StatusCode::kUnsupported) {
    output = at::linear(x, weight, bias);
    const TensorView product = internal::view_of(output, "output");
    internal::check(mindiesd::activation(product, product, kind, nullptr, internal::stream_of(x)));
  } else {
    internal::check(status);
  }
  return output;
}

struct SoftmaxOptions {
  std::int32_t dim = -1;
  double scale = 1.0;
  std::optional<at::Tensor> bias, mask;
  Subtract subtract = Subtract::kNone;
  double clamp_min = -INFINITY;
  double clamp_max = INFINITY;
  double mask_value = -INFINITY;
};

// See mindiesd_softmax. The result has x's type and is contiguous.
inline at::Tensor softmax(const at::Tensor& x, const SoftmaxOptions& options = {}) {
  const TensorView in = internal::view_of(x, "x");
  const internal::Optional bias(options.bias, "bias"), mask(options.mask, "mask");
  at::Tensor output = at::empty_like(x, x.options(), at::MemoryFormat::Contiguous);
  mindiesd::SoftmaxOptions all;
  all.dim = options.dim;
  all.scale = options.scale;
  all.bias = bias.get();
  all.mask = mask.get();
  all.subtract = options.subtract;
  all.clamp_min = options.clamp_min;
  all.clamp_max = options.clamp_max;
  all.mask_value = options.mask_value;
  internal::check(
      mindiesd::softmax(in, internal::view_of(output, "output"), all, internal::stream_of(x)));
  return output;
}

}  // namespace mindiesd::torch

#endif  // MINDIESD_TORCH_H_
