// The C++ interface of libmindiesd: attention, rotary embedding, norms, softmax and activations
// over tensor views. Inline over the C interface (mindiesd_c.h, which states shapes, types and
// formulas), so it works with any compiler and standard library from C++17 on. No exceptions, no
// allocation.
//
//   float q[2 * 16 * 8 * 64], out[2 * 16 * 8 * 64];  // batch, sequence, heads, head_dim
//   auto query = mindiesd::TensorView::dense(q, mindiesd::DataType::kFloat32, {2, 16, 8, 64});
//   auto result = mindiesd::TensorView::dense(out, mindiesd::DataType::kFloat32, {2, 16, 8, 64});
//   mindiesd::Status status = mindiesd::attention_forward(query, query, query, result);
//   if (!status.ok()) std::cerr << status.message() << "\n";

#ifndef MINDIESD_MINDIESD_H_
#define MINDIESD_MINDIESD_H_

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "mindiesd/mindiesd_c.h"

namespace mindiesd {

enum class StatusCode {
  kOk = MINDIESD_OK,
  kInvalidArgument = MINDIESD_INVALID_ARGUMENT,
  kUnsupported = MINDIESD_UNSUPPORTED,
  kOutOfMemory = MINDIESD_OUT_OF_MEMORY,
  kInternal = MINDIESD_INTERNAL,
};

// The outcome of a call; a failure has a text that says what was expected and what was found.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

enum class DataType : std::int32_t {
  kFloat32 = MINDIESD_FLOAT32,
  kFloat16 = MINDIESD_FLOAT16,
  kBFloat16 = MINDIESD_BFLOAT16,
  kBool = MINDIESD_BOOL,
  kInt32 = MINDIESD_INT32,
  kInt64 = MINDIESD_INT64,
  kFloat64 = MINDIESD_FLOAT64,  // the tables of rotations alone
  kInt8 = MINDIESD_INT8,        // the weight of int8_linear alone
};

struct Device {
  std::int32_t type = MINDIESD_CPU;  // mindiesd_device_type, DLPack's numbers
  std::int32_t id = 0;
};

// A tensor that somebody else owns: pointer, type, sizes and strides in elements (0 repeats).
struct TensorView {
  void* data = nullptr;
  DataType dtype = DataType::kFloat32;
  std::int32_t ndim = 0;
  std::int64_t sizes[MINDIESD_MAX_NDIM] = {};
  std::int64_t strides[MINDIESD_MAX_NDIM] = {};
  Device device;

  // Row-major. More than MINDIESD_MAX_NDIM sizes give a view that every operation refuses.
  static TensorView dense(const void* data, DataType dtype,
                          std::initializer_list<std::int64_t> sizes, Device device = {}) {
    TensorView view = shaped(data, dtype, sizes, device);
    std::int64_t stride = 1;
    for (std::int32_t d = view.kept() - 1; d >= 0; --d) {
      view.strides[d] = stride;
      stride *= view.sizes[d];
    }
    return view;
  }

  static TensorView strided(const void* data, DataType dtype,
                            std::initializer_list<std::int64_t> sizes,
                            std::initializer_list<std::int64_t> strides, Device device = {}) {
    TensorView view = shaped(data, dtype, sizes, device);
    if (strides.size() != sizes.size()) view.ndim = -1;
    std::int32_t d = 0;
    for (const std::int64_t stride : strides) {
      if (d < view.kept()) view.strides[d++] = stride;
    }
    return view;
  }

  // Points into this view, which must outlive it.
  mindiesd_tensor c_view() const& {
    return {data, sizes, strides, ndim, static_cast<std::int32_t>(dtype), device.type, device.id};
  }
  void c_view() const&& = delete;

 private:
  static TensorView shaped(const void* data, DataType dtype,
                           std::initializer_list<std::int64_t> sizes, Device device) {
    TensorView view;
    view.data = const_cast<void*>(data);  // only outputs are written
    view.dtype = dtype;
    view.device = device;
    for (const std::int64_t size : sizes) {
      if (view.ndim < MINDIESD_MAX_NDIM) view.sizes[view.ndim] = size;
      ++view.ndim;
    }
    return view;
  }
  std::int32_t kept() const { return ndim <= MINDIESD_MAX_NDIM ? ndim : MINDIESD_MAX_NDIM; }
};

namespace internal {

inline Status status_of(mindiesd_status code) {
  if (code == MINDIESD_OK) return {};
  return {static_cast<StatusCode>(code), mindiesd_last_error()};
}

// A C view that may be absent.
class OptionalView {
 public:
  explicit OptionalView(const TensorView* view) {
    if (view != nullptr) c_view_ = view->c_view();
    present_ = view != nullptr;
  }
  const mindiesd_tensor* get() const { return present_ ? &c_view_ : nullptr; }

 private:
  mindiesd_tensor c_view_ = {};
  bool present_ = false;
};

inline double default_scale(const TensorView& query) {
  const bool known = query.ndim > 0 && query.ndim <= MINDIESD_MAX_NDIM;
  const std::int64_t head_dim = known ? query.sizes[query.ndim - 1] : 0;
  return head_dim > 0 ? 1.0 / std::sqrt(static_cast<double>(head_dim)) : 1.0;
}

}  // namespace internal

enum class Layout { kBSND = MINDIESD_BSND, kBNSD = MINDIESD_BNSD };

enum class Causal {
  kNone = MINDIESD_CAUSAL_NONE,
  kTopLeft = MINDIESD_CAUSAL_TOP_LEFT,
  kBottomRight = MINDIESD_CAUSAL_BOTTOM_RIGHT,
};

struct AttentionOptions {
  const TensorView* mask = nullptr;          // dense attention only
  const TensorView* alibi_slopes = nullptr;  // float32 [heads] or [batch, heads]
  double scale = NAN;                        // NAN: 1 / sqrt(head_dim)
  double softcap = 0.0;
  std::int64_t window_left = -1;
  std::int64_t window_right = -1;
  Layout layout = Layout::kBSND;  // dense attention only
  Causal causal = Causal::kNone;
  std::int32_t backend = 0;  // dense attention only; 0: the library chooses (see backend_named)
  // Receives the logarithms of the sums: float32 [B, N, Sq], or [N, Tq] of packed sequences.
  const TensorView* lse = nullptr;
};

// The number of a device's back end of attention, for AttentionOptions; 0: it has none of the name.
inline std::int32_t backend_named(const std::string& name, const Device& device = {}) {
  for (std::int32_t number = 1;; ++number) {
    const char* found = mindiesd_attention_backend_name(device.type, number);
    if (found == nullptr) return 0;
    if (name == found) return number;
  }
}

// See mindiesd_attention.
inline Status attention_forward(const TensorView& query, const TensorView& key,
                                const TensorView& value, const TensorView& output,
                                const AttentionOptions& options = {}, void* stream = nullptr) {
  const mindiesd_tensor q = query.c_view(), k = key.c_view(), v = value.c_view();
  const mindiesd_tensor out = output.c_view();
  const internal::OptionalView mask(options.mask), slopes(options.alibi_slopes), lse(options.lse);
  mindiesd_attention_args args = {};
  args.struct_size = sizeof(args);
  args.query = &q;
  args.key = &k;
  args.value = &v;
  args.output = &out;
  args.mask = mask.get();
  args.alibi_slopes = slopes.get();
  args.scale = std::isnan(options.scale) ? internal::default_scale(query) : options.scale;
  args.softcap = options.softcap;
  args.window_left = options.window_left;
  args.window_right = options.window_right;
  args.layout = static_cast<std::int32_t>(options.layout);
  args.causal = static_cast<std::int32_t>(options.causal);
  args.stream = stream;
  args.backend = options.backend;
  args.lse = lse.get();
  return internal::status_of(mindiesd_attention(&args));
}

// See mindiesd_attention_varlen.
inline Status attention_forward_varlen(const TensorView& query, const TensorView& key,
                                       const TensorView& value, const TensorView& cu_seqlens_query,
                                       const TensorView& cu_seqlens_key, const TensorView& output,
                                       const AttentionOptions& options = {},
                                       void* stream = nullptr) {
  if (options.mask != nullptr) {
    return {StatusCode::kInvalidArgument, "attention over packed sequences takes no mask"};
  }
  const mindiesd_tensor q = query.c_view(), k = key.c_view(), v = value.c_view();
  const mindiesd_tensor cu_q = cu_seqlens_query.c_view(), cu_k = cu_seqlens_key.c_view();
  const mindiesd_tensor out = output.c_view();
  const internal::OptionalView slopes(options.alibi_slopes), lse(options.lse);
  mindiesd_attention_varlen_args args = {};
  args.struct_size = sizeof(args);
  args.query = &q;
  args.key = &k;
  args.value = &v;
  args.output = &out;
  args.cu_seqlens_query = &cu_q;
  args.cu_seqlens_key = &cu_k;
  args.alibi_slopes = slopes.get();
  args.scale = std::isnan(options.scale) ? internal::default_scale(query) : options.scale;
  args.softcap = options.softcap;
  args.window_left = options.window_left;
  args.window_right = options.window_right;
  args.causal = static_cast<std::int32_t>(options.causal);
  args.stream = stream;
  args.lse = lse.get();
  return internal::status_of(mindiesd_attention_varlen(&args));
}

enum class Rotation {
  kHalf = MINDIESD_ROTATED_HALF,
  kInterleaved = MINDIESD_ROTATED_INTERLEAVED,
};

// See mindiesd_rotary.
inline Status rotary_position_embedding(const TensorView& input, const TensorView& cos,
                                        const TensorView& sin, const TensorView& output,
                                        Rotation rotation = Rotation::kHalf,
                                        void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), c = cos.c_view(), s = sin.c_view();
  const mindiesd_tensor out = output.c_view();
  mindiesd_rotary_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.cos = &c;
  args.sin = &s;
  args.output = &out;
  args.rotation = static_cast<std::int32_t>(rotation);
  args.stream = stream;
  return internal::status_of(mindiesd_rotary(&args));
}

// See mindiesd_rotary: neighbours times a table of 2x2 matrices [..., D/2, 2, 2].
inline Status rotary_matrix(const TensorView& input, const TensorView& matrices,
                            const TensorView& output, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), m = matrices.c_view(), out = output.c_view();
  mindiesd_rotary_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.cos = &m;
  args.output = &out;
  args.rotation = MINDIESD_ROTATED_INTERLEAVED;
  args.stream = stream;
  return internal::status_of(mindiesd_rotary(&args));
}

enum class QkNorm {
  kNone = MINDIESD_QK_NORM_NONE,
  kHead = MINDIESD_QK_NORM_HEAD,
  kAllHeads = MINDIESD_QK_NORM_ALL,
};

struct RotaryQkOptions {
  Rotation rotation = Rotation::kHalf;
  QkNorm norm = QkNorm::kNone;
  const TensorView* query_weight = nullptr;
  const TensorView* key_weight = nullptr;
  double eps = 1e-6;
  std::int32_t head_dimension = -2;  // read for QkNorm::kAllHeads
};

// See mindiesd_rotary_qk. `sin` may be null where cos is a table of matrices.
inline Status rotary_qk(const TensorView& query, const TensorView& key, const TensorView& cos,
                        const TensorView* sin, const TensorView& query_output,
                        const TensorView& key_output, const RotaryQkOptions& options = {},
                        void* stream = nullptr) {
  const mindiesd_tensor q = query.c_view(), k = key.c_view(), c = cos.c_view();
  const mindiesd_tensor q_out = query_output.c_view(), k_out = key_output.c_view();
  const internal::OptionalView s(sin);
  const internal::OptionalView q_weight(options.query_weight), k_weight(options.key_weight);
  mindiesd_rotary_qk_args args = {};
  args.struct_size = sizeof(args);
  args.query = &q;
  args.key = &k;
  args.query_weight = q_weight.get();
  args.key_weight = k_weight.get();
  args.cos = &c;
  args.sin = s.get();
  args.query_output = &q_out;
  args.key_output = &k_out;
  args.eps = options.eps;
  args.rotation =
      static_cast<std::int32_t>(sin != nullptr ? options.rotation : Rotation::kInterleaved);
  args.norm = static_cast<std::int32_t>(options.norm);
  args.head_dimension = options.head_dimension;
  args.stream = stream;
  return internal::status_of(mindiesd_rotary_qk(&args));
}

enum class NormKind { kLayer = MINDIESD_LAYER_NORM, kRms = MINDIESD_RMS_NORM };

// Query, key and value of one stream, and what happens to query and key; null: nothing.
struct HeadStream {
  const TensorView* query = nullptr;
  const TensorView* key = nullptr;
  const TensorView* value = nullptr;
  QkNorm norm = QkNorm::kNone;
  const TensorView* query_weight = nullptr;
  const TensorView* key_weight = nullptr;
  const TensorView* query_bias = nullptr;
  const TensorView* key_bias = nullptr;
  const TensorView* cos = nullptr;
  const TensorView* sin = nullptr;
  double eps = 1e-6;
};

struct JointHeadsOptions {
  NormKind kind = NormKind::kRms;
  Rotation rotation = Rotation::kHalf;
  std::int32_t sequence_dimension = -3;
  std::int32_t head_dimension = -2;
};

// See mindiesd_joint_heads: `other` stands behind `first` in the joint sequence.
inline Status joint_heads(const HeadStream& first, const HeadStream& other,
                          const TensorView& query_output, const TensorView& key_output,
                          const TensorView& value_output, const JointHeadsOptions& options = {},
                          void* stream = nullptr) {
  using View = internal::OptionalView;
  const View inputs[2][3] = {{View(first.query), View(first.key), View(first.value)},
                             {View(other.query), View(other.key), View(other.value)}};
  const View weights[2][2] = {{View(first.query_weight), View(first.key_weight)},
                              {View(other.query_weight), View(other.key_weight)}};
  const View biases[2][2] = {{View(first.query_bias), View(first.key_bias)},
                             {View(other.query_bias), View(other.key_bias)}};
  const View cos[2] = {View(first.cos), View(other.cos)};
  const View sin[2] = {View(first.sin), View(other.sin)};
  const View outputs[3] = {View(&query_output), View(&key_output), View(&value_output)};
  const HeadStream* const streams[2] = {&first, &other};
  mindiesd_joint_heads_args args = {};
  args.struct_size = sizeof(args);
  for (int s = 0; s < 2; ++s) {
    for (int part = 0; part < 3; ++part) args.inputs[s][part] = inputs[s][part].get();
    for (int part = 0; part < 2; ++part) {
      args.weights[s][part] = weights[s][part].get();
      args.biases[s][part] = biases[s][part].get();
      args.eps[s][part] = streams[s]->eps;
      args.norms[s][part] = static_cast<std::int32_t>(streams[s]->norm);
    }
    args.cos[s] = cos[s].get();
    args.sin[s] = sin[s].get();
  }
  for (int part = 0; part < 3; ++part) args.outputs[part] = outputs[part].get();
  const bool matrices = (cos[0].get() != nullptr && sin[0].get() == nullptr) ||
                        (cos[1].get() != nullptr && sin[1].get() == nullptr);
  args.kind = static_cast<std::int32_t>(options.kind);
  args.rotation = static_cast<std::int32_t>(matrices ? Rotation::kInterleaved : options.rotation);
  args.sequence_dimension = options.sequence_dimension;
  args.head_dimension = options.head_dimension;
  args.stream = stream;
  return internal::status_of(mindiesd_joint_heads(&args));
}

struct RmsNormOptions {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  double eps = 1e-6;
  DataType normalized = DataType::kFloat32;  // what y is rounded to before the weight
  DataType product = DataType::kFloat32;     // what weight * y is rounded to before the bias
};

// See mindiesd_rms_norm.
inline Status rms_norm(const TensorView& input, const TensorView& output,
                       const RmsNormOptions& options = {}, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), out = output.c_view();
  const internal::OptionalView weight(options.weight), bias(options.bias);
  mindiesd_rms_norm_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.weight = weight.get();
  args.bias = bias.get();
  args.output = &out;
  args.eps = options.eps;
  args.normalized_dtype = static_cast<std::int32_t>(options.normalized);
  args.product_dtype = static_cast<std::int32_t>(options.product);
  args.stream = stream;
  return internal::status_of(mindiesd_rms_norm(&args));
}

enum class GateFunction { kItself = MINDIESD_GATE_ITSELF, kTanh = MINDIESD_GATE_TANH };

struct FusedNormOptions {
  NormKind kind = NormKind::kLayer;
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  const TensorView* branch = nullptr;  // added to the input, times the gate
  const TensorView* gate = nullptr;
  const TensorView* scale = nullptr;  // output = y * (1 + scale) + shift
  const TensorView* shift = nullptr;
  const TensorView* sum = nullptr;  // a result: input + gate * branch
  double eps = 1e-5;
  GateFunction gate_function = GateFunction::kItself;
  bool branch_norm = false;  // the branch has an RMSNorm of its own
  const TensorView* branch_weight = nullptr;
  double branch_eps = 1e-6;
};

// See mindiesd_fused_norm. Without an output only the sum is computed.
inline Status fused_norm(const TensorView& input, const TensorView* output,
                         const FusedNormOptions& options = {}, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view();
  const internal::OptionalView out(output), weight(options.weight), bias(options.bias);
  const internal::OptionalView branch_weight(options.branch_weight);
  const internal::OptionalView branch(options.branch), gate(options.gate), sum(options.sum);
  const internal::OptionalView scale(options.scale), shift(options.shift);
  mindiesd_fused_norm_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.branch = branch.get();
  args.gate = gate.get();
  args.weight = weight.get();
  args.bias = bias.get();
  args.scale = scale.get();
  args.shift = shift.get();
  args.sum = sum.get();
  args.output = out.get();
  args.eps = options.eps;
  args.kind = static_cast<std::int32_t>(options.kind);
  args.stream = stream;
  args.branch_weight = branch_weight.get();
  args.branch_eps = options.branch_eps;
  args.branch_norm = options.branch_norm ? 1 : 0;
  args.gate_function = static_cast<std::int32_t>(options.gate_function);
  return internal::status_of(mindiesd_fused_norm(&args));
}
inline Status fused_norm(const TensorView& input, const TensorView& output,
                         const FusedNormOptions& options = {}, void* stream = nullptr) {
  return fused_norm(input, &output, options, stream);
}

// input + gate * branch; of `options` what concerns branch and gate counts.
inline Status residual(const TensorView& input, const TensorView& branch, const TensorView& sum,
                       const FusedNormOptions& options = {}, void* stream = nullptr) {
  FusedNormOptions all = options;
  all.branch = &branch;
  all.sum = &sum;
  return fused_norm(input, nullptr, all, stream);
}

enum class Activation {
  kGelu = MINDIESD_GELU,
  kGeluTanh = MINDIESD_GELU_TANH,
  kGeluFast = MINDIESD_GELU_FAST,
  kSilu = MINDIESD_SILU,
  kMish = MINDIESD_MISH,
  kRelu = MINDIESD_RELU,
};

// See mindiesd_activation: activation(input), or input * activation(*gate).
inline Status activation(const TensorView& input, const TensorView& output, Activation kind,
                         const TensorView* gate = nullptr, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), out = output.c_view();
  const internal::OptionalView factor(gate);
  mindiesd_activation_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.gate = factor.get();
  args.output = &out;
  args.activation = static_cast<std::int32_t>(kind);
  args.stream = stream;
  return internal::status_of(mindiesd_activation(&args));
}

// See mindiesd_weighted_sum: scale * (weights[0] * terms[0] + ...), `count` terms and weights.
inline Status weighted_sum(const TensorView* terms, const double* weights, std::int32_t count,
                           const TensorView& output, double scale = 1.0, void* stream = nullptr) {
  if (count < 1 || count > MINDIESD_MAX_TERMS) {
    return {StatusCode::kInvalidArgument, "a weighted sum must have 1 to " +
                                              std::to_string(MINDIESD_MAX_TERMS) +
                                              " terms, but has " + std::to_string(count)};
  }
  const mindiesd_tensor out = output.c_view();
  mindiesd_tensor views[MINDIESD_MAX_TERMS];
  mindiesd_weighted_sum_args args = {};
  args.struct_size = sizeof(args);
  for (std::int32_t k = 0; k < count; ++k) {
    views[k] = terms[k].c_view();
    args.terms[k] = &views[k];
    args.weights[k] = weights[k];
  }
  args.output = &out;
  args.scale = scale;
  args.stream = stream;
  return internal::status_of(mindiesd_weighted_sum(&args));
}

// See mindiesd_upsample_nearest2x.
inline Status upsample_nearest2x(const TensorView& input, const TensorView& output,
                                 void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), out = output.c_view();
  mindiesd_upsample_nearest2x_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.output = &out;
  args.stream = stream;
  return internal::status_of(mindiesd_upsample_nearest2x(&args));
}

// See mindiesd_rotary_grid.
inline Status rotary_grid(const TensorView& input, const TensorView& table,
                          const TensorView& grid_sizes, const TensorView& output,
                          std::int64_t frame_pairs, std::int64_t row_pairs,
                          void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), turns = table.c_view(), out = output.c_view();
  const mindiesd_tensor grids = grid_sizes.c_view();
  mindiesd_rotary_grid_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.table = &turns;
  args.grid_sizes = &grids;
  args.output = &out;
  args.frame_pairs = frame_pairs;
  args.row_pairs = row_pairs;
  args.stream = stream;
  return internal::status_of(mindiesd_rotary_grid(&args));
}

struct GroupNormOptions {
  const TensorView* weight = nullptr;
  const TensorView* bias = nullptr;
  double eps = 1e-5;
  bool silu = false;
};

// See mindiesd_group_norm.
inline Status group_norm(const TensorView& input, std::int64_t groups, const TensorView& output,
                         const GroupNormOptions& options = {}, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), out = output.c_view();
  const internal::OptionalView weight(options.weight), bias(options.bias);
  mindiesd_group_norm_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.weight = weight.get();
  args.bias = bias.get();
  args.output = &out;
  args.eps = options.eps;
  args.groups = groups;
  args.activation = options.silu ? MINDIESD_SILU : MINDIESD_NO_ACTIVATION;
  args.stream = stream;
  return internal::status_of(mindiesd_group_norm(&args));
}

// See mindiesd_linear_activation: activation(input weight^T + *bias).
inline Status linear_activation(const TensorView& input, const TensorView& weight,
                                const TensorView* bias, const TensorView& output, Activation kind,
                                void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), matrix = weight.c_view(), out = output.c_view();
  const internal::OptionalView vector(bias);
  mindiesd_linear_activation_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.weight = &matrix;
  args.bias = vector.get();
  args.output = &out;
  args.activation = static_cast<std::int32_t>(kind);
  args.stream = stream;
  return internal::status_of(mindiesd_linear_activation(&args));
}

// See mindiesd_int8_linear: scales * (input weight^T) + *bias with an int8 weight.
inline Status int8_linear(const TensorView& input, const TensorView& weight,
                          const TensorView& scales, const TensorView* bias,
                          const TensorView& output, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), matrix = weight.c_view(), factors = scales.c_view();
  const mindiesd_tensor out = output.c_view();
  const internal::OptionalView vector(bias);
  mindiesd_int8_linear_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.weight = &matrix;
  args.scales = &factors;
  args.bias = vector.get();
  args.output = &out;
  args.stream = stream;
  return internal::status_of(mindiesd_int8_linear(&args));
}

enum class Subtract {
  kNone = MINDIESD_SUBTRACT_NONE,
  kRow = MINDIESD_SUBTRACT_ROW,
  kGlobal = MINDIESD_SUBTRACT_GLOBAL,
};

struct SoftmaxOptions {
  std::int32_t dim = -1;
  double scale = 1.0;  // of the input; not 0
  const TensorView* bias = nullptr;
  Subtract subtract = Subtract::kNone;
  double clamp_min = -INFINITY;
  double clamp_max = INFINITY;
  const TensorView* mask = nullptr;
  double mask_value = -INFINITY;  // for a boolean mask
};

// See mindiesd_softmax.
inline Status softmax(const TensorView& input, const TensorView& output,
                      const SoftmaxOptions& options = {}, void* stream = nullptr) {
  const mindiesd_tensor in = input.c_view(), out = output.c_view();
  const internal::OptionalView mask(options.mask), bias(options.bias);
  mindiesd_softmax_args args = {};
  args.struct_size = sizeof(args);
  args.input = &in;
  args.mask = mask.get();
  args.output = &out;
  args.mask_value = options.mask_value;
  args.clamp_min = options.clamp_min;
  args.clamp_max = options.clamp_max;
  args.has_clamp_min = options.clamp_min != -INFINITY ? 1 : 0;
  args.has_clamp_max = options.clamp_max != INFINITY ? 1 : 0;
  args.subtract = static_cast<std::int32_t>(options.subtract);
  args.dim = options.dim;
  args.stream = stream;
  args.scale = options.scale;
  args.bias = bias.get();
  return internal::status_of(mindiesd_softmax(&args));
}

}  // namespace mindiesd

#endif  // MINDIESD_MINDIESD_H_
