// What the library refuses, and in which words. Each case starts from a valid call and changes one
// thing.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mindiesd/mindiesd.h"

namespace mindiesd {
namespace {

void expect_refused(const Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

class Checks : public testing::Test {
 protected:
  TensorView view(std::initializer_list<std::int64_t> sizes, int slot = 0,
                  DataType type = DataType::kFloat32) {
    return TensorView::dense(memory_.data() + slot * 1024, type, sizes);
  }
  std::vector<float> memory_ = std::vector<float>(11 * 1024);
  TensorView q_ = view({2, 3, 4, 8}, 0), k_ = view({2, 5, 2, 8}, 1), v_ = view({2, 5, 2, 8}, 2),
             out_ = view({2, 3, 4, 8}, 3);
};

TEST_F(Checks, AttentionRanksAndSizes) {
  ASSERT_TRUE(attention_forward(q_, k_, v_, out_).ok());
  expect_refused(attention_forward(view({3, 4, 8}), k_, v_, out_),
                 "query must have 4 dimensions [batch, sequence, heads, head_dim], but has shape "
                 "[3, 4, 8]");
  expect_refused(attention_forward(q_, view({2, 5, 2, 9}, 1), v_, out_), "query's head_dim, 8");
  expect_refused(attention_forward(q_, view({2, 5, 3, 8}, 1), view({2, 5, 3, 8}, 2), out_),
                 "multiple of key's");
  expect_refused(attention_forward(q_, view({2, 5, 0, 8}, 1), view({2, 5, 0, 8}, 2), out_),
                 "multiple of key's");
  expect_refused(attention_forward(q_, k_, view({2, 6, 2, 8}, 2), out_), "key's length, 5");
  expect_refused(attention_forward(q_, view({3, 5, 2, 8}, 1), v_, out_), "batch 2");
  expect_refused(attention_forward(q_, k_, v_, view({2, 3, 4, 9}, 3)), "value's head_dim, 8");
  expect_refused(attention_forward(q_, k_, v_, view({2, 4, 4, 8}, 3)), "query's length, 3");
}

TEST_F(Checks, AttentionTypesAndLayout) {
  expect_refused(attention_forward(view({2, 3, 4, 8}, 0, DataType::kInt32), k_, v_, out_),
                 "query must be float32, float16 or bfloat16, but is int32");
  expect_refused(attention_forward(q_, view({2, 5, 2, 8}, 1, DataType::kFloat16), v_, out_),
                 "key must have the type of query, float32, but is float16");
  TensorView wide = k_;
  wide.strides[3] = 2;
  expect_refused(attention_forward(q_, wide, v_, out_), "dense in its last dimension");
  TensorView elsewhere = k_;
  elsewhere.device.id = 1;
  expect_refused(attention_forward(q_, elsewhere, v_, out_), "device of query");
  TensorView unknown = q_;
  unknown.dtype = static_cast<DataType>(99);
  expect_refused(attention_forward(unknown, k_, v_, out_), "unknown dtype 99");
}

TEST_F(Checks, AttentionScalars) {
  AttentionOptions options;
  options.scale = INFINITY;
  expect_refused(attention_forward(q_, k_, v_, out_, options), "scale must be finite");
  options = {};
  options.softcap = -1.0;
  expect_refused(attention_forward(q_, k_, v_, out_, options), "softcap must be 0");
  options = {};
  options.causal = static_cast<Causal>(9);
  expect_refused(attention_forward(q_, k_, v_, out_, options), "causal must be 0, 1 or 2");
  options = {};
  options.layout = static_cast<Layout>(9);
  expect_refused(attention_forward(q_, k_, v_, out_, options), "layout must be 0");
  options = {};
  options.window_left = options.window_right = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(attention_forward(q_, k_, v_, out_, options).ok());
}

TEST_F(Checks, AttentionMasksAndSlopes) {
  AttentionOptions options;
  TensorView mask = view({4, 5}, 4);
  options.mask = &mask;
  expect_refused(attention_forward(q_, k_, v_, out_, options),
                 "mask must broadcast to [batch, heads, query, key] [2, 4, 3, 5], but has shape "
                 "[4, 5]");
  mask = view({1, 2, 4, 3, 5}, 4);
  expect_refused(attention_forward(q_, k_, v_, out_, options), "mask must broadcast");
  mask = view({3, 5}, 4, DataType::kInt64);
  expect_refused(attention_forward(q_, k_, v_, out_, options), "mask must be float32");
  options = {};
  TensorView slopes = view({3}, 4);
  options.alibi_slopes = &slopes;
  expect_refused(attention_forward(q_, k_, v_, out_, options), "alibi_slopes must broadcast");
  slopes = view({4}, 4, DataType::kFloat16);
  expect_refused(attention_forward(q_, k_, v_, out_, options), "alibi_slopes must be float32");
}

TEST_F(Checks, VarlenSequences) {
  const TensorView q = view({6, 4, 8}, 0), k = view({7, 4, 8}, 1), out = view({6, 4, 8}, 3);
  std::vector<std::int32_t> starts = {0, 2, 6}, key_starts = {0, 5, 7};
  const auto cu = [](const std::vector<std::int32_t>& values) {
    return TensorView::dense(values.data(), DataType::kInt32,
                             {static_cast<std::int64_t>(values.size())});
  };
  ASSERT_TRUE(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out).ok());
  starts = {0, 4, 3};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out),
                 "entry 2 is 3 after 4");
  starts = {0, 4, 7};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out),
                 "must lie in 0 to 6");
  starts = {-1, 4, 6};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out),
                 "entry 0 is -1");
  starts = {0, 6};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out),
                 "the length of cu_seqlens_q, 2");
  starts = {};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out),
                 "at least one entry");
  AttentionOptions options;
  options.mask = &q;
  starts = {0, 2, 6};
  expect_refused(attention_forward_varlen(q, k, k, cu(starts), cu(key_starts), out, options),
                 "takes no mask");
}

TEST_F(Checks, Overlap) {
  expect_refused(attention_forward(q_, k_, v_, q_), "output must not share memory with query");
  TensorView repeated = out_;
  repeated.strides[0] = 0;
  expect_refused(attention_forward(q_, k_, v_, repeated), "output must not overlap itself");
  TensorView shifted = view({4, 8}, 0);
  shifted.data = memory_.data() + 4;
  expect_refused(rms_norm(view({4, 8}), shifted), "output must not share memory with input");

  // Query, key, value and output interleaved in one buffer do not overlap.
  const auto packed = [this](std::int64_t part) {
    TensorView slice = TensorView::strided(memory_.data() + part * 32, DataType::kFloat32,
                                           {2, 3, 4, 8}, {3 * 128, 128, 8, 1});
    return slice;
  };
  const Status status = attention_forward(packed(0), packed(1), packed(2), packed(3));
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(Checks, ViewsThatAreNoTensors) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1);
  TensorView bad = x;
  bad.data = nullptr;
  expect_refused(rms_norm(bad, y), "its data pointer is null");
  bad = x;
  bad.sizes[0] = -4;
  expect_refused(rms_norm(bad, y), "negative size -4");
  bad = x;
  bad.ndim = 12;
  expect_refused(rms_norm(bad, y), "0 to 9 dimensions, but has 12");
  bad = x;
  bad.data = reinterpret_cast<char*>(memory_.data()) + 1;
  expect_refused(rms_norm(bad, y), "aligned");
  bad = x;
  bad.sizes[0] = std::int64_t{1} << 62;
  expect_refused(rms_norm(bad, bad), "larger than memory can be");
  bad = x;
  bad.strides[0] = std::numeric_limits<std::int64_t>::min();
  expect_refused(rms_norm(bad, y), "larger than memory can be");
  expect_refused(rms_norm(view({}), view({}, 1)), "at least one dimension");
  expect_refused(rms_norm(TensorView::strided(memory_.data(), DataType::kFloat32, {2, 2}, {1}), y),
                 "dimensions");
}

TEST_F(Checks, RmsNorm) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1);
  RmsNormOptions options;
  for (const double eps : {static_cast<double>(NAN), static_cast<double>(INFINITY), -1e-6}) {
    options.eps = eps;
    expect_refused(rms_norm(x, y, options), "eps must be finite and not negative");
  }
  options = {};
  TensorView weight = view({7}, 2);
  options.weight = &weight;
  expect_refused(rms_norm(x, y, options), "weight must have input's width, 8");
  weight = view({1, 8}, 2);
  expect_refused(rms_norm(x, y, options), "weight must have 1 dimensions");
  options = {};
  options.normalized = DataType::kInt32;
  expect_refused(rms_norm(x, y, options), "normalized_dtype");
  expect_refused(rms_norm(x, view({4, 7}, 1)), "output must have the shape of input, [4, 8]");
}

TEST_F(Checks, Rotary) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1), table = view({4, 8}, 2);
  expect_refused(rotary_position_embedding(view({4, 7}), table, table, view({4, 7}, 1)),
                 "even last dimension");
  expect_refused(rotary_position_embedding(x, view({4, 6}, 2), table, y), "8 or 4 columns");
  expect_refused(rotary_position_embedding(x, view({4, 4}, 2), table, y), "same number of columns");
  expect_refused(rotary_position_embedding(x, view({3, 8}, 2), table, y), "cos must broadcast");
  expect_refused(rotary_position_embedding(x, table, view({1, 4, 8}, 2), y), "sin must broadcast");
  expect_refused(rotary_position_embedding(x, table, table, y, static_cast<Rotation>(5)),
                 "rotation must be 0");
}

TEST_F(Checks, Softmax) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1);
  SoftmaxOptions options;
  options.dim = 2;
  expect_refused(softmax(x, y, options), "dim must lie in -2 to 1, but is 2");
  options = {};
  options.clamp_min = NAN;
  expect_refused(softmax(x, y, options), "one is NaN");
  options = {};
  options.subtract = static_cast<Subtract>(3);
  expect_refused(softmax(x, y, options), "subtract must be 0, 1 or 2");
  options = {};
  const TensorView mask = view({3, 8}, 2);
  options.mask = &mask;
  expect_refused(softmax(x, y, options), "mask must broadcast");
  options = {};
  options.subtract = Subtract::kGlobal;
  expect_refused(softmax(x, x, options), "must not share memory");
}

TEST_F(Checks, SoftmaxScaleAndBias) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1);
  SoftmaxOptions options;
  options.scale = INFINITY;
  expect_refused(softmax(x, y, options), "scale must be finite");
  options = {};
  const TensorView bias = view({3, 8}, 2), whole = view({4, 8}, 2, DataType::kInt32);
  options.bias = &bias;
  expect_refused(softmax(x, y, options), "bias must broadcast to input, [4, 8]");
  options.bias = &whole;
  expect_refused(softmax(x, y, options), "bias must be float32");
  options.bias = &y;
  expect_refused(softmax(x, y, options), "output must not share memory with bias");
}

TEST_F(Checks, FusedNorm) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1), other = view({4, 8}, 2);
  const TensorView third = view({4, 8}, 3), narrow = view({7}, 4), few = view({3, 8}, 4);
  FusedNormOptions options;
  EXPECT_TRUE(fused_norm(x, y, options).ok());
  options.eps = NAN;
  expect_refused(fused_norm(x, y, options), "eps must be finite");
  options = {};
  options.kind = static_cast<NormKind>(2);
  expect_refused(fused_norm(x, y, options), "kind must be 0 (LayerNorm) or 1");
  options = {};
  options.weight = &narrow;
  expect_refused(fused_norm(x, y, options), "weight must have input's width, 8");
  options = {};
  options.gate = &other;
  expect_refused(fused_norm(x, y, options), "gate must be null where branch is");
  options = {};
  options.sum = &other;
  expect_refused(fused_norm(x, y, options), "sum must be null where branch is");
  options.branch = &few;
  expect_refused(fused_norm(x, y, options), "branch must have the shape of input, [4, 8]");
  options.branch = &third;
  options.gate = &few;
  expect_refused(fused_norm(x, y, options), "gate must broadcast to input, [4, 8]");
  options.gate = nullptr;
  options.sum = &y;
  expect_refused(fused_norm(x, y, options), "output must not share memory with sum");
  options.sum = &x;  // in place
  EXPECT_TRUE(fused_norm(x, third, options).ok());
  options.scale = &y;
  expect_refused(fused_norm(x, y, options), "output must not share memory with scale");
  options.scale = &x;
  expect_refused(fused_norm(x, y, options), "sum must not share memory with scale");
  options = {};
  options.shift = &few;
  expect_refused(fused_norm(x, y, options), "shift must broadcast");
}

TEST_F(Checks, ResidualsAndNormedBranches) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1), sum = view({4, 8}, 2);
  const TensorView weight = view({8}, 3), narrow = view({7}, 3);
  FusedNormOptions options;
  EXPECT_TRUE(residual(x, y, sum, options).ok());
  EXPECT_TRUE(residual(x, y, y, options).ok());
  expect_refused(fused_norm(x, nullptr, options), "output must be a tensor where sum is null");
  options.gate_function = static_cast<GateFunction>(2);
  expect_refused(residual(x, y, sum, options), "gate_function must be 0 or 1 (tanh), but is 2");
  options = {};
  options.branch_norm = true;
  expect_refused(fused_norm(x, sum, options), "branch_norm must be null where branch is");
  options.branch_weight = &narrow;
  expect_refused(residual(x, y, sum, options), "branch_weight must have input's width, 8");
  options.branch_weight = &weight;
  EXPECT_TRUE(residual(x, y, sum, options).ok());
  options.branch_eps = -1.0;
  expect_refused(residual(x, y, sum, options), "branch_eps must be finite and not negative");
  options.branch_eps = 0.0;
  options.branch_weight = &y;
  expect_refused(residual(x, y, sum, options), "branch_weight must have 1 dimensions");
  options.branch_weight = &weight;
  expect_refused(residual(x, y, view({4, 8}, 3), options),
                 "sum must not share memory with branch_weight");
}

TEST_F(Checks, RotaryQk) {
  const TensorView q = view({4, 2, 8}), k = view({4, 1, 8}, 1), table = view({4, 1, 8}, 2);
  const TensorView q_out = view({4, 2, 8}, 3), k_out = view({4, 1, 8}, 4);
  RotaryQkOptions options;
  ASSERT_TRUE(rotary_qk(q, k, table, &table, q_out, k_out, options).ok());
  ASSERT_TRUE(rotary_qk(q, k, table, &table, q, k, options).ok());
  expect_refused(rotary_qk(q, k, table, &table, k, k_out, options),
                 "query_output must have the shape of query, [4, 2, 8]");
  expect_refused(rotary_qk(q, k, table, &table, q_out, view({4, 1, 8}, 3), options),
                 "key_output must not share memory with query_output");
  expect_refused(rotary_qk(q, view({4, 1, 6}, 1), table, &table, q_out, view({4, 1, 6}, 4)),
                 "6 or 3 columns");
  const TensorView half = view({4, 1, 4}, 2), wide = view({4, 1, 16}, 1);
  expect_refused(rotary_qk(q, wide, table, &table, q_out, view({4, 1, 16}, 4)),
                 "query's head_dim, 8");
  expect_refused(rotary_qk(q, k, table, &half, q_out, k_out), "same number of columns");
  const TensorView weight = view({8}, 5), all = view({16}, 5);
  options.norm = QkNorm::kHead;
  options.query_weight = &all;
  expect_refused(rotary_qk(q, k, table, &table, q_out, k_out, options), "the normalised width, 8");
  options.norm = QkNorm::kAllHeads;
  EXPECT_TRUE(rotary_qk(q, k, table, &table, q_out, k_out, options).ok());
  options.query_weight = &weight;
  expect_refused(rotary_qk(q, k, table, &table, q_out, k_out, options), "the normalised width, 16");
  options.query_weight = nullptr;
  options.head_dimension = -1;
  expect_refused(rotary_qk(q, k, table, &table, q_out, k_out, options),
                 "head_dimension must name a dimension before the last");
  options.head_dimension = -2;
  options.eps = -1.0;
  expect_refused(rotary_qk(q, k, table, &table, q_out, k_out, options), "eps must be finite");
  options = {};
  options.norm = static_cast<QkNorm>(3);
  expect_refused(rotary_qk(q, k, table, &table, q_out, k_out, options), "norm must be 0, 1 or 2");
}

TEST_F(Checks, JointHeads) {
  const TensorView q = view({4, 2, 8}), k = view({4, 1, 8}, 1), v = view({4, 1, 6}, 2);
  const TensorView other_q = view({3, 2, 8}, 3), other_k = view({3, 1, 8}, 4);
  const TensorView other_v = view({3, 1, 6}, 5), table = view({4, 1, 8}, 6);
  const TensorView q_out = view({7, 2, 8}, 7), k_out = view({7, 1, 8}, 8);
  const TensorView v_out = view({7, 1, 6}, 9);
  HeadStream first, other;
  first.query = &q;
  first.key = &k;
  first.value = &v;
  other.query = &other_q;
  other.key = &other_k;
  other.value = &other_v;
  JointHeadsOptions options;
  const auto run = [&] { return joint_heads(first, other, q_out, k_out, v_out, options); };
  ASSERT_TRUE(run().ok());
  expect_refused(joint_heads(first, other, view({6, 2, 8}, 7), k_out, v_out),
                 "query_output must have the shape of both streams together, [7, 2, 8]");
  expect_refused(joint_heads(first, other, q_out, view({7, 1, 8}, 7), v_out),
                 "must not share memory with");
  expect_refused(joint_heads(first, other, q_out, k_out, view({7, 1, 6}, 4)),
                 "value_output must not share memory with other_key");
  other.key = &other_q;
  expect_refused(run(), "other_key must have the shape of key, [4, 1, 8], but for dimension 0");
  other.key = nullptr;
  expect_refused(run(), "other_key");
  other.key = &other_k;
  first.cos = &table;
  first.sin = &table;
  ASSERT_TRUE(run().ok());
  first.cos = nullptr;
  expect_refused(run(), "sin must be null where cos is");
  first.cos = &other_q;
  expect_refused(run(), "cos");
  first.cos = first.sin = nullptr;
  const TensorView weight = view({8}, 10), all = view({16}, 10);
  other.norm = QkNorm::kHead;
  other.query_weight = &all;
  expect_refused(run(), "other_query_weight must have the normalised width, 8");
  other.norm = QkNorm::kAllHeads;
  ASSERT_TRUE(run().ok());
  other.key_bias = &all;
  expect_refused(run(), "other_key_bias must have the normalised width, 8");
  other.key_bias = &weight;
  ASSERT_TRUE(run().ok());
  other.eps = -1.0;
  expect_refused(run(), "eps must be finite");
  other.eps = 1e-6;
  other.norm = static_cast<QkNorm>(3);
  expect_refused(run(), "norms must be 0, 1 or 2");
  other.norm = QkNorm::kNone;
  options.head_dimension = 0;
  expect_refused(run(), "head_dimension must not be sequence_dimension");
  options.head_dimension = -1;
  expect_refused(run(), "head_dimension must name a dimension before the last");
  options.head_dimension = -2;
  options.kind = static_cast<NormKind>(2);
  expect_refused(run(), "kind must be 0 (LayerNorm) or 1 (RMSNorm)");
}

TEST_F(Checks, RotaryMatrices) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1);
  EXPECT_TRUE(rotary_matrix(x, view({4, 4, 2, 2}, 2), y).ok());
  EXPECT_TRUE(rotary_matrix(x, view({4, 2, 2}, 2), y).ok());
  expect_refused(rotary_matrix(x, view({4, 3, 2, 2}, 2), y), "matrices [..., 4, 2, 2]");
  expect_refused(rotary_matrix(x, view({4, 4}, 2), y), "matrices [..., 4, 2, 2]");
  expect_refused(rotary_matrix(x, view({3, 4, 2, 2}, 2), y), "cos must broadcast");
  expect_refused(rotary_matrix(x, view({4, 4, 2, 2}, 1), y),
                 "output must not share memory with cos");
}

TEST_F(Checks, Activation) {
  const TensorView x = view({4, 8}), y = view({4, 8}, 1), gate = view({8}, 2);
  expect_refused(activation(x, y, static_cast<Activation>(6)), "activation must be 0 to 5");
  expect_refused(activation(x, y, Activation::kSilu, &gate), "gate must have the shape of input");
  expect_refused(activation(x, view({8, 4}, 1), Activation::kSilu), "output must have the shape");
  expect_refused(activation(view({4, 8}, 0, DataType::kBool), y, Activation::kSilu),
                 "input must be float32");
  TensorView shifted = view({4, 7});
  shifted.data = memory_.data() + 1;
  expect_refused(activation(view({4, 7}), shifted, Activation::kSilu), "must not share memory");
  EXPECT_TRUE(activation(x, x, Activation::kSilu).ok());
  EXPECT_TRUE(activation(view({}), view({}, 1), Activation::kGelu).ok());
}

TEST_F(Checks, AttentionBackends) {
  AttentionOptions options;
  options.backend = backend_named("cpu");
  ASSERT_EQ(options.backend, 1);
  EXPECT_TRUE(attention_forward(q_, k_, v_, out_, options).ok());
  EXPECT_EQ(backend_named("none of the name"), 0);
  EXPECT_EQ(backend_named("cpu", {99, 0}), 0);
  for (const std::int32_t wrong : {-1, 2}) {
    options.backend = wrong;
    expect_refused(attention_forward(q_, k_, v_, out_, options), "backend must lie in 0 to 1");
  }
}

}  // namespace
}  // namespace mindiesd
