// Descriptions of the operations: raw pointers, sizes and strides, no framework and no device.
// Every back end takes the same structs; the CPU launchers are in cpu/launch.h. All strides count
// elements and may be zero (broadcast) or negative. Nothing here is checked: callers pass valid
// descriptions.

#pragma once

#include <cstdint>

namespace mindiesd::kernels {

// kFloat64: of the tables of rotations alone, which count as float32. kInt8: of the weight of
// int8_linear.h alone.
enum class DataType : std::int32_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kBool,
  kInt32,
  kInt64,
  kFloat64,
  kInt8,
};

// kUnsupported: valid, but not by this back end; kFailed: the device refused, and says why in words
// of its own.
enum class LaunchStatus { kOk, kOutOfMemory, kUnsupported, kFailed };

inline constexpr int kMaxRank = 8;

// An operand of an operation over rows: the rows are indexed by the leading dimensions, `strides`
// belongs to those, `step` is the stride inside a row.
struct RowOperand {
  void* data = nullptr;
  DataType type = DataType::kFloat32;
  std::int64_t strides[kMaxRank] = {};
  std::int64_t step = 1;
};

// The leading dimensions that operands share.
struct RowSpace {
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};

  // Always inlined: the CPU kernels are compiled for several instruction sets and the linker must
  // not let one of them supply this function to the others.
  [[gnu::always_inline]] std::int64_t count() const {
    std::int64_t rows = 1;
    for (int i = 0; i < rank; ++i) rows *= sizes[i];
    return rows;
  }
};

enum class CausalAlignment { kNone, kTopLeft, kBottomRight };

// softmax(scale * query * key^T + bias) * value over [batch, heads, length, width] operands whose
// last dimension is dense. The score of query i and key j is, in this order:
//   s = scale * <q_i, k_j>
//   s = softcap * tanh(s / softcap)                          where softcap > 0
//   s = s - slope * |i + key_length - query_length - j|      where slopes are given
//   s = s + mask[i, j]  (float mask),  or -inf where a boolean mask is false
//   s = -inf outside the causal triangle and outside the window
// softcap, slopes and window as flash-attn defines them (flash_attn_interface.py, flash_attn_func).
// A row none of whose keys has a finite score or a NaN gives zeros.
struct Attention {
  std::int64_t batch = 0, query_heads = 0, key_heads = 0;
  std::int64_t query_length = 0, key_length = 0, head_dim = 0, value_dim = 0;

  DataType type = DataType::kFloat32;  // of query, key, value and output
  const void* query = nullptr;
  const void* key = nullptr;
  const void* value = nullptr;
  void* output = nullptr;
  // Strides of [batch, head, position].
  std::int64_t query_strides[3] = {}, key_strides[3] = {}, value_strides[3] = {},
               output_strides[3] = {};

  // The natural logarithm of the sum of each query's exponentials, -infinity where it sees no key;
  // null: not wanted. Strides as above.
  float* lse = nullptr;
  std::int64_t lse_strides[3] = {};

  const void* mask = nullptr;  // [batch, head, query, key], any strides
  DataType mask_type = DataType::kBool;
  std::int64_t mask_strides[4] = {};

  const float* alibi_slopes = nullptr;  // [batch, head]
  std::int64_t alibi_strides[2] = {};

  float scale = 1.0F;
  float softcap = 0.0F;
  CausalAlignment causal = CausalAlignment::kNone;
  // Keys j with i + key_length - query_length - left <= j <= i + key_length - query_length + right;
  // a negative bound is no bound.
  std::int64_t window_left = -1, window_right = -1;
};

// The same over packed sequences: `problem` describes [tokens, heads, width] operands (its batch
// strides, batch and lengths are not read), sequence s owns tokens cu_seqlens[s] to
// cu_seqlens[s + 1]. Slopes are [sequence, head].
struct VarlenAttention {
  Attention problem;
  std::int64_t sequences = 0;
  const void* cu_seqlens_query = nullptr;
  const void* cu_seqlens_key = nullptr;
  DataType cu_seqlens_type = DataType::kInt32;
};

// output = input * cos + rotate(input) * sin over rows of `width` values, where rotate maps
// (a, b) to (-b, a) on halves (a = x[j], b = x[j + width/2]; GPT-NeoX) or on neighbours
// (a = x[2j], b = x[2j + 1]; RoFormer, arXiv 2104.09864, eq. 34). Full-width tables hold one value
// for each element, half-width tables one for each pair. A complex table is two half-width tables
// of step 2. Tables may be of kFloat64 too. Output may be the same view as input.
//
// With has_matrix, pair j becomes (m00 a + m01 b, m10 a + m11 b) instead, m being the 2x2 matrix at
// matrix.data + row offset + j * matrix.step, its rows and columns matrix_row and matrix_column
// apart; cos and sin are not read.
struct Rotary {
  RowSpace rows;
  std::int64_t width = 0;
  RowOperand input, cos, sin, output;
  bool interleaved = false;
  bool half_width_tables = false;
  bool has_matrix = false;
  RowOperand matrix;
  std::int64_t matrix_row = 2, matrix_column = 1;
};

enum class NormSpan : std::int32_t { kNone, kRow, kHeads };

// One or two rotations (query and key) in one launch, each after an RMSNorm where `norm` says so:
//   kRow    over the row:  y = x / sqrt(mean(x^2) + eps) * weight[width]
//   kHeads  over all rows of the last leading dimension together, whose index is the head:
//           heads = rows.sizes[rank - 1], mean over heads * width values, weight[heads * width].
// y is not rounded before the rotation. The operands share width, interleaved, half_width_tables,
// has_matrix and the tables' data and types; rows and strides are each operand's own.
struct RotaryQk {
  int count = 1;
  Rotary operands[2];
  NormSpan norm = NormSpan::kNone;
  const void* weight[2] = {};  // null: ones
  DataType weight_type[2] = {};
  std::int64_t weight_step[2] = {1, 1};
  float eps = 0.0F;
};

enum class NormKind : std::int32_t { kLayer, kRms };

// The heads of query, key or value of one stream: rows of `width` values, copied, after a norm
// where `norm` says so over one row or all heads,
//   y = x / sqrt(mean(x^2) + eps) * weight + bias  or  (x - mean(x)) / sqrt(variance(x) + eps) ...
// with weight and bias as of RotaryQk, and then a rotation where `rotates`. Nothing is rounded
// between.
struct Stretch {
  Rotary rotary;  // without `rotates` its tables are absent
  bool rotates = false;
  NormSpan norm = NormSpan::kNone;
  NormKind kind = NormKind::kRms;
  const void* weight = nullptr;  // null: ones
  DataType weight_type = DataType::kFloat32;
  std::int64_t weight_step = 1;
  const void* bias = nullptr;  // null: zeros
  DataType bias_type = DataType::kFloat32;
  std::int64_t bias_step = 1;
  float eps = 0.0F;
};

// Query, key and value of two streams, each written into its part of the joint tensors.
inline constexpr int kMaxStretches = 6;
struct JointHeads {
  int count = 0;
  Stretch stretches[kMaxStretches];
};

// y = input / sqrt(mean(input^2) + eps) over rows of `width` values (arXiv 1910.07467), then
// output = bias + weight * y. `normalized` and `product` are the types to which y and weight * y
// are rounded before the next step; float32 there means no rounding.
struct RmsNorm {
  RowSpace rows;
  std::int64_t width = 0;
  RowOperand input, output;
  const void* weight = nullptr;
  DataType weight_type = DataType::kFloat32;
  std::int64_t weight_step = 1;
  const void* bias = nullptr;
  DataType bias_type = DataType::kFloat32;
  std::int64_t bias_step = 1;
  DataType normalized = DataType::kFloat32;
  DataType product = DataType::kFloat32;
  float eps = 0.0F;
};

// Over rows of `width` values, each step where its operand is present and none rounded before the
// results are stored:
//   b = branch / sqrt(mean(branch^2) + branch_eps) * branch_weight    with branch_norm, else branch
//   sum = input + gate * b                                            tanh(gate) with gate_tanh
//   y = (sum - mean(sum)) / sqrt(variance(sum) + eps)  or  y = sum / sqrt(mean(sum^2) + eps)
//   y = y * weight + bias
//   output = y * (1 + scale) + shift
// The variance is that of the population (arXiv 1607.06450). gate, scale and shift repeat by
// strides of 0, within a row too. `sum` may be the same view as input or branch; `output` as any of
// input, branch where `sum` is elsewhere. Without an output (null) only the sum is computed.
struct FusedNorm {
  RowSpace rows;
  std::int64_t width = 0;
  NormKind kind = NormKind::kLayer;
  RowOperand input, output;
  bool has_branch = false, has_gate = false, has_sum = false;
  RowOperand branch, gate, sum;
  bool has_scale = false, has_shift = false;
  RowOperand scale, shift;
  const void* weight = nullptr;
  DataType weight_type = DataType::kFloat32;
  std::int64_t weight_step = 1;
  const void* bias = nullptr;
  DataType bias_type = DataType::kFloat32;
  std::int64_t bias_step = 1;
  float eps = 0.0F;
  bool gate_tanh = false, branch_norm = false;
  const void* branch_weight = nullptr;
  DataType branch_weight_type = DataType::kFloat32;
  std::int64_t branch_weight_step = 1;
  float branch_eps = 0.0F;
};

// Over each group of `channels` channels of each sample, with all their positions:
//   y = (x - mean(x)) / sqrt(variance(x) + eps) * weight[channel] + bias[channel]
//   output = y, or with `silu` y * sigmoid(y), y not rounded before
// The variance is that of the population (arXiv 1803.08494). Strides are those of a sample, of a
// channel, of which a sample has groups * channels, and of a position. Output may be the same view
// as input.
struct GroupNorm {
  std::int64_t samples = 0, groups = 0, channels = 0, positions = 0;
  const void* input = nullptr;
  void* output = nullptr;
  DataType input_type = DataType::kFloat32, output_type = DataType::kFloat32;
  std::int64_t input_strides[3] = {}, output_strides[3] = {};
  const void* weight = nullptr;  // null: ones
  DataType weight_type = DataType::kFloat32;
  std::int64_t weight_step = 1;
  const void* bias = nullptr;  // null: zeros
  DataType bias_type = DataType::kFloat32;
  std::int64_t bias_step = 1;
  float eps = 0.0F;
  bool silu = false;
};

enum class Subtract : std::int32_t { kNone, kRow, kGlobal };

// Softmax over rows of `width` values after, in this order: scale * input + bias, subtraction of a
// maximum, clamp to [clamp_min, clamp_max], mask. A boolean mask replaces what it forbids by
// mask_value, any other is added. A row that is -inf throughout gives NaN, as the formula does.
struct Softmax {
  RowSpace rows;
  std::int64_t width = 0;
  RowOperand input, output;
  float scale = 1.0F;
  bool has_bias = false;
  RowOperand bias;
  bool has_mask = false;
  RowOperand mask;
  float mask_value = 0.0F;
  Subtract subtract = Subtract::kNone;
  bool has_clamp_min = false, has_clamp_max = false;
  float clamp_min = 0.0F, clamp_max = 0.0F;
};

// gelu: x (1 + erf(x / sqrt(2))) / 2; tanh form: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2;
// fast: x sigmoid(1.702 x) (arXiv 1606.08415); silu: x sigmoid(x); mish: x tanh(log(1 + e^x))
// (arXiv 1908.08681).
enum class Activation : std::int32_t { kGelu, kGeluTanh, kGeluFast, kSilu, kMish, kRelu };

// output = activation(input), or input * activation(gate) where there is a gate. Elementwise: a
// dense tensor comes as one row. Output may be the same view as input or gate.
struct Activate {
  RowSpace rows;
  std::int64_t width = 0;
  RowOperand input, output;
  bool has_gate = false;
  RowOperand gate;
  Activation activation = Activation::kGelu;
};

// output = activation(input * weight^T + bias) over `rows` rows of `depth` values, which give rows
// of `width` values. Rows are dense and their strides at least as long; weight has `width` rows of
// `depth` values. All have one type; sums are float32, and only the result is rounded.
struct LinearActivation {
  std::int64_t rows = 0, depth = 0, width = 0;
  DataType type = DataType::kFloat32;
  const void* input = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;  // dense
  void* output = nullptr;
  std::int64_t input_stride = 0, weight_stride = 0, output_stride = 0;
  Activation activation = Activation::kGelu;
};

}  // namespace mindiesd::kernels
