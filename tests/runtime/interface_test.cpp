// The C++ interface: every operation once with a result that is known, views, DLPack. What the
// kernels compute over types and shapes is tested in tests/kernels.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "mindiesd/dlpack.h"
#include "mindiesd/mindiesd.h"

namespace mindiesd {
namespace {

TensorView floats(const std::vector<float>& values, std::initializer_list<std::int64_t> sizes) {
  return TensorView::dense(values.data(), DataType::kFloat32, sizes);
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i));
  return values;
}

TEST(Interface, AttentionInBothLayoutsIsTheSame) {
  const std::vector<float> q = counting(2 * 5 * 4 * 8), k = counting(2 * 7 * 2 * 8);
  std::vector<float> bsnd(q.size()), bnsd(q.size());
  const auto query = floats(q, {2, 5, 4, 8});
  const auto key = floats(k, {2, 7, 2, 8});
  AttentionOptions options;
  options.causal = Causal::kBottomRight;
  Status status = attention_forward(query, key, key, floats(bsnd, {2, 5, 4, 8}), options);
  ASSERT_TRUE(status.ok()) << status.message();

  options.layout = Layout::kBNSD;
  const auto heads_first = [](const TensorView& view) {
    TensorView swapped = view;
    std::swap(swapped.sizes[1], swapped.sizes[2]);
    std::swap(swapped.strides[1], swapped.strides[2]);
    return swapped;
  };
  status = attention_forward(heads_first(query), heads_first(key), heads_first(key),
                             floats(bnsd, {2, 4, 5, 8}), options);
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t s = 0; s < 5; ++s) {
      for (std::size_t h = 0; h < 4; ++h) {
        for (std::size_t d = 0; d < 8; ++d) {
          EXPECT_EQ(bsnd[((b * 5 + s) * 4 + h) * 8 + d], bnsd[((b * 4 + h) * 5 + s) * 8 + d]);
        }
      }
    }
  }
}

TEST(Interface, AttentionMasksByBroadcast) {
  // One key is left to every query: the result is its value.
  const std::vector<float> q = counting(3 * 2 * 4), v = counting(5 * 2 * 4);
  std::vector<float> out(q.size());
  const bool keep[5] = {false, false, true, false, false};
  const TensorView mask = TensorView::dense(keep, DataType::kBool, {1, 5});
  AttentionOptions options;
  options.mask = &mask;
  const Status status =
      attention_forward(floats(q, {1, 3, 2, 4}), floats(v, {1, 5, 2, 4}), floats(v, {1, 5, 2, 4}),
                        floats(out, {1, 3, 2, 4}), options);
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], v[2 * 8 + i % 8], 1e-6F);
}

TEST(Interface, VarlenAttentionKeepsSequencesApart) {
  const std::vector<float> q = counting(6 * 1 * 4);
  std::vector<float> whole(q.size()), part(2 * 4);
  const std::int32_t starts[3] = {0, 2, 6};
  const TensorView cu = TensorView::dense(starts, DataType::kInt32, {3});
  const TensorView query = floats(q, {6, 1, 4});
  Status status = attention_forward_varlen(query, query, query, cu, cu, floats(whole, {6, 1, 4}));
  ASSERT_TRUE(status.ok()) << status.message();
  const TensorView first = floats(q, {1, 2, 1, 4});
  status = attention_forward(first, first, first, floats(part, {1, 2, 1, 4}));
  ASSERT_TRUE(status.ok()) << status.message();
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_EQ(whole[i], part[i]);
}

TEST(Interface, RotaryTurnsAQuarter) {
  const std::vector<float> x = {1, 2, 3, 4}, cos(2, 0.0F), sin(2, 1.0F);
  std::vector<float> half(4), interleaved(4);
  Status status = rotary_position_embedding(floats(x, {1, 4}), floats(cos, {2}), floats(sin, {2}),
                                            floats(half, {1, 4}));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(half, (std::vector<float>{-3, -4, 1, 2}));
  status = rotary_position_embedding(floats(x, {1, 4}), floats(cos, {2}), floats(sin, {2}),
                                     floats(interleaved, {1, 4}), Rotation::kInterleaved);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(interleaved, (std::vector<float>{-2, 1, -4, 3}));
}

TEST(Interface, RmsNormInPlaceWithWeightAndBias) {
  std::vector<float> x = {3, -3, 3, -3};
  const std::vector<float> weight = {1, 2, 3, 4}, bias = {10, 10, 10, 10};
  const TensorView w = floats(weight, {4}), b = floats(bias, {4});
  RmsNormOptions options;
  options.weight = &w;
  options.bias = &b;
  options.eps = 0.0;
  const Status status = rms_norm(floats(x, {1, 4}), floats(x, {1, 4}), options);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(x, (std::vector<float>{11, 8, 13, 6}));
}

TEST(Interface, SoftmaxAlongAnyDimension) {
  const std::vector<float> x = {0, 100, 0, 0, 0, 0};
  std::vector<float> y(6);
  SoftmaxOptions options;
  options.dim = 0;
  options.clamp_max = 0.0;
  const Status status = softmax(floats(x, {2, 3}), floats(y, {2, 3}), options);
  ASSERT_TRUE(status.ok()) << status.message();
  for (const float value : y) EXPECT_EQ(value, 0.5F);
}

TEST(Interface, EmptyTensorsAreFine) {
  const std::vector<float> none;
  std::vector<float> out(2 * 3 * 4, 7.0F);
  const TensorView query = floats(none, {0, 3, 2, 4});
  EXPECT_TRUE(attention_forward(query, query, query, query).ok());
  EXPECT_TRUE(rms_norm(floats(none, {0, 4}), floats(none, {0, 4})).ok());
  EXPECT_TRUE(softmax(floats(none, {3, 0}), floats(none, {3, 0})).ok());
  const std::vector<float> table(4);
  EXPECT_TRUE(rotary_position_embedding(floats(none, {0, 4}), floats(table, {4}),
                                        floats(table, {4}), floats(none, {0, 4}))
                  .ok());
  // Queries without any key.
  const TensorView no_keys = floats(none, {1, 0, 2, 4});
  EXPECT_TRUE(attention_forward(floats(counting(24), {1, 3, 2, 4}), no_keys, no_keys,
                                floats(out, {1, 3, 2, 4}))
                  .ok());
  EXPECT_EQ(out, std::vector<float>(24, 0.0F));
}

// DLTensor as dlpack.h declares it.
struct DLDevice {
  int device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

TEST(DlPack, ThereAndBack) {
  std::vector<float> x(24);
  TensorView view = TensorView::strided(x.data(), DataType::kBFloat16, {2, 3}, {8, 1});
  DLTensor tensor;
  to_dlpack(view, &tensor);
  EXPECT_EQ(tensor.dtype.code, 4);
  EXPECT_EQ(tensor.dtype.bits, 16);
  EXPECT_EQ(tensor.device.device_type, 1);
  tensor.byte_offset = 4;
  TensorView back;
  ASSERT_TRUE(from_dlpack(tensor, &back).ok());
  EXPECT_EQ(back.data, reinterpret_cast<char*>(x.data()) + 4);
  EXPECT_EQ(back.dtype, DataType::kBFloat16);
  EXPECT_EQ(back.sizes[1], 3);
  EXPECT_EQ(back.strides[0], 8);
  tensor.strides = nullptr;
  ASSERT_TRUE(from_dlpack(tensor, &back).ok());
  EXPECT_EQ(back.strides[0], 3);
}

TEST(DlPack, RefusesWhatIsNotATensorOfOurs) {
  std::int64_t shape[1] = {4};
  DLTensor tensor = {};
  tensor.ndim = 1;
  tensor.shape = shape;
  tensor.dtype = {5, 64, 1};  // complex numbers
  TensorView view;
  const Status status = from_dlpack(tensor, &view);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("64 bits"), std::string::npos) << status.message();
  tensor.dtype = {2, 32, 1};
  tensor.ndim = 40;
  EXPECT_FALSE(from_dlpack(tensor, &view).ok());
}

TEST(Interface, QueryAndKeyRotateTogetherAsEachAlone) {
  const std::vector<float> q = counting(5 * 4 * 8), k = counting(5 * 2 * 8), cos = counting(5 * 8);
  const std::vector<float> sin(cos.rbegin(), cos.rend());
  std::vector<float> q_out(q.size()), k_out(k.size()), alone(k.size());
  const auto s = floats(sin, {5, 1, 8}), c = floats(cos, {5, 1, 8});
  ASSERT_TRUE(rotary_qk(floats(q, {5, 4, 8}), floats(k, {5, 2, 8}), c, &s, floats(q_out, {5, 4, 8}),
                        floats(k_out, {5, 2, 8}))
                  .ok());
  ASSERT_TRUE(rotary_position_embedding(floats(k, {5, 2, 8}), c, s, floats(alone, {5, 2, 8})).ok());
  EXPECT_EQ(k_out, alone);
  EXPECT_NE(q_out, q);
}

TEST(Interface, NormOverHeadsInEitherOrderOfDimensions) {
  const std::vector<float> q = counting(3 * 4 * 8), ones(8, 1.0F), zeros(8, 0.0F);
  std::vector<float> out(q.size()), turned(q.size());
  const auto c = floats(ones, {8}), s = floats(zeros, {8});
  RotaryQkOptions options;
  options.norm = QkNorm::kAllHeads;
  mindiesd_rotary_qk_args args = {};
  const auto run = [&](const TensorView& x, const TensorView& y, std::int32_t heads) {
    const mindiesd_tensor in = x.c_view(), result = y.c_view();
    const mindiesd_tensor cosines = c.c_view(), sines = s.c_view();
    args.struct_size = sizeof(args);
    args.query = &in;
    args.query_output = &result;
    args.cos = &cosines;
    args.sin = &sines;
    args.norm = MINDIESD_QK_NORM_ALL;
    args.head_dimension = heads;
    return mindiesd_rotary_qk(&args);
  };
  ASSERT_EQ(run(floats(q, {3, 4, 8}), floats(out, {3, 4, 8}), 1), MINDIESD_OK);
  // The same memory seen with heads first.
  const auto heads_first = [](const std::vector<float>& values) {
    return TensorView::strided(values.data(), DataType::kFloat32, {4, 3, 8}, {8, 32, 1});
  };
  ASSERT_EQ(run(heads_first(q), heads_first(turned), 0), MINDIESD_OK);
  EXPECT_EQ(out, turned);
  double squares = 0.0;
  for (std::size_t i = 0; i < 32; ++i) squares += std::pow(static_cast<double>(q[i]), 2);
  EXPECT_NEAR(out[5], static_cast<double>(q[5]) / std::sqrt(squares / 32), 1e-6);
}

TEST(Interface, TwoStreamsJoinAsEachAloneWouldLie) {
  const std::vector<float> q = counting(5 * 4 * 8), k = counting(5 * 2 * 8), cos = counting(3 * 8);
  const std::vector<float> sin(cos.rbegin(), cos.rend()), weight = counting(8);
  std::vector<float> q_out(q.size()), k_out(k.size()), v_out(k.size()), alone(3 * 4 * 8);
  const auto at = [](const std::vector<float>& values, std::int64_t first, std::int64_t rows,
                     std::int64_t heads) {
    return TensorView::strided(values.data() + first * heads * 8, DataType::kFloat32,
                               {rows, heads, 8}, {heads * 8, 8, 1});
  };
  const auto c = floats(cos, {3, 1, 8}), s = floats(sin, {3, 1, 8}), w = floats(weight, {8});
  const auto first_q = at(q, 0, 3, 4), first_k = at(k, 0, 3, 2);
  const auto other_q = at(q, 3, 2, 4), other_k = at(k, 3, 2, 2);
  HeadStream first, other;
  first.query = &first_q;
  first.key = first.value = &first_k;
  other.query = &other_q;
  other.key = other.value = &other_k;
  first.norm = QkNorm::kHead;
  first.query_weight = first.key_weight = &w;
  first.cos = &c;
  first.sin = &s;
  ASSERT_TRUE(joint_heads(first, other, floats(q_out, {5, 4, 8}), floats(k_out, {5, 2, 8}),
                          floats(v_out, {5, 2, 8}))
                  .ok());
  EXPECT_EQ(v_out, k);
  EXPECT_TRUE(std::equal(k.begin() + 3 * 2 * 8, k.end(), k_out.begin() + 3 * 2 * 8));
  EXPECT_TRUE(std::equal(q.begin() + 3 * 4 * 8, q.end(), q_out.begin() + 3 * 4 * 8));
  RotaryQkOptions options;
  options.norm = QkNorm::kHead;
  options.query_weight = options.key_weight = &w;
  std::vector<float> key_alone(3 * 2 * 8);
  ASSERT_TRUE(rotary_qk(first_q, first_k, c, &s, floats(alone, {3, 4, 8}),
                        floats(key_alone, {3, 2, 8}), options)
                  .ok());
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), q_out.begin()));
  EXPECT_TRUE(std::equal(key_alone.begin(), key_alone.end(), k_out.begin()));
}

TEST(Interface, ActivationsOfAnyStrides) {
  const std::vector<float> x = counting(2 * 3 * 4);
  std::vector<float> dense(x.size()), strided(x.size());
  ASSERT_TRUE(activation(floats(x, {2, 3, 4}), floats(dense, {2, 3, 4}), Activation::kSilu).ok());
  // Transposed input and output, and every second column through a step.
  const auto turned = [](const std::vector<float>& values) {
    return TensorView::strided(values.data(), DataType::kFloat32, {4, 2, 3}, {1, 12, 4});
  };
  ASSERT_TRUE(activation(turned(x), turned(strided), Activation::kSilu).ok());
  EXPECT_EQ(dense, strided);
  std::vector<float> halves(12);
  const auto even = TensorView::strided(x.data(), DataType::kFloat32, {6, 2}, {4, 2});
  ASSERT_TRUE(activation(even, floats(halves, {6, 2}), Activation::kSilu).ok());
  for (std::size_t i = 0; i < 12; ++i) EXPECT_EQ(halves[i], dense[2 * i]);
}

TEST(Interface, ABlockOfATransformerInOnePass) {
  const std::vector<float> x = counting(2 * 3 * 8), gate = counting(8);
  std::vector<float> sum(x.size()), out(x.size()), branch(x.rbegin(), x.rend());
  const auto y = floats(branch, {2, 3, 8}), g = floats(gate, {8}), s = floats(sum, {2, 3, 8});
  FusedNormOptions options;
  options.branch = &y;
  options.gate = &g;
  options.sum = &s;
  options.scale = &g;
  ASSERT_TRUE(fused_norm(floats(x, {2, 3, 8}), floats(out, {2, 3, 8}), options).ok());
  double mean = 0.0, variance = 0.0;
  for (std::size_t i = 8; i < 16; ++i) {
    EXPECT_NEAR(sum[i], x[i] + gate[i - 8] * branch[i], 1e-6);
    mean += static_cast<double>(sum[i]) / 8;
  }
  for (std::size_t i = 8; i < 16; ++i) {
    variance += std::pow(static_cast<double>(sum[i]) - mean, 2) / 8;
  }
  const double normal = (static_cast<double>(sum[11]) - mean) / std::sqrt(variance + 1e-5);
  EXPECT_NEAR(out[11], normal * (1.0 + static_cast<double>(gate[3])), 1e-5);
}

TEST(Interface, TheSumAloneOfANormedBranch) {
  const std::vector<float> x = counting(2 * 8), gate = counting(8);
  std::vector<float> total(x.size()), branch(x.rbegin(), x.rend());
  const auto g = floats(gate, {8});
  FusedNormOptions options;
  options.gate = &g;
  options.gate_function = GateFunction::kTanh;
  options.branch_norm = true;
  options.branch_weight = &g;
  options.branch_eps = 0.5;
  ASSERT_TRUE(
      residual(floats(x, {2, 8}), floats(branch, {2, 8}), floats(total, {2, 8}), options).ok());
  double squares = 0.0;
  for (std::size_t i = 8; i < 16; ++i) squares += std::pow(static_cast<double>(branch[i]), 2) / 8;
  const double w = static_cast<double>(gate[2]), y = static_cast<double>(branch[10]);
  EXPECT_NEAR(total[10], x[10] + std::tanh(w) * w * y / std::sqrt(squares + 0.5), 1e-5);
}

}  // namespace
}  // namespace mindiesd
