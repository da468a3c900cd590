// What the library refuses of the operations that stand in blocks of models beside attention and
// its norms: linear layers, GroupNorm, places in a grid. As checks_test.cpp.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "mindiesd/mindiesd.h"

namespace mindiesd {
namespace {

void expect_refused(const Status& status, const std::string& text) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find(text), std::string::npos) << status.message();
}

class BlockChecks : public testing::Test {
 protected:
  TensorView view(std::initializer_list<std::int64_t> sizes, int slot = 0,
                  DataType type = DataType::kFloat32) {
    return TensorView::dense(memory_.data() + slot * 1024, type, sizes);
  }
  std::vector<float> memory_ = std::vector<float>(4 * 1024);
};

TEST_F(BlockChecks, RotaryGrid) {
  const TensorView x = view({1, 6, 2, 8}), y = view({1, 6, 2, 8}, 1), table = view({4, 4, 2}, 2);
  std::vector<std::int64_t> sizes = {1, 2, 3};
  const TensorView grids = TensorView::dense(sizes.data(), DataType::kInt64, {1, 3});
  const auto run = [&] { return rotary_grid(x, table, grids, y, 2, 1); };
  ASSERT_TRUE(run().ok());
  sizes = {1, 2, 4};
  expect_refused(run(), "at most input's positions, 6, as cells");
  sizes = {1, 5, 1};
  expect_refused(run(), "grid_sizes must lie in 0 to the table's rows, 4, but one is 5");
  sizes = {-1, 2, 3};
  expect_refused(run(), "grid_sizes must lie in 0");
  sizes = {0, 4, 4};
  ASSERT_TRUE(run().ok());
  expect_refused(rotary_grid(x, table, grids, y, 3, 2), "at most 4 together, but are 3 and 2");
  expect_refused(rotary_grid(x, table, grids, y, -1, 2), "must not be negative");
  expect_refused(rotary_grid(x, view({4, 3, 2}, 2), grids, y, 2, 1), "half of input's width");
  expect_refused(rotary_grid(x, table, view({1, 3}, 3), y, 2, 1), "grid_sizes must be int64");
  expect_refused(rotary_grid(x, table, grids, x, 2, 1), "must not share memory with input");
  expect_refused(rotary_grid(x, table, grids, view({1, 6, 2, 8}, 2), 2, 1), "share memory with");
  expect_refused(rotary_grid(view({6, 2, 8}), table, grids, y, 2, 1), "input must have 4 dim");
  expect_refused(rotary_grid(view({1, 6, 2, 7}), table, grids, y, 2, 1), "even last dimension");
}

TEST_F(BlockChecks, UpsampleNearest2x) {
  const TensorView x = view({1, 2, 2, 3}), out = view({1, 2, 4, 6}, 1);
  for (int i = 0; i < 12; ++i) memory_[i] = static_cast<float>(i);
  ASSERT_TRUE(upsample_nearest2x(x, out).ok());
  EXPECT_EQ(memory_[1024 + 24 + 17], 11.0F);
  EXPECT_EQ(memory_[1024 + 6 + 4], 2.0F);
  ASSERT_TRUE(upsample_nearest2x(view({0, 2, 2, 3}), view({0, 2, 4, 6}, 1)).ok());
  expect_refused(upsample_nearest2x(view({2, 2, 3}), out), "input must have 4 dim");
  expect_refused(upsample_nearest2x(x, view({2, 4, 6}, 1)), "output must have 4 dim");
  expect_refused(upsample_nearest2x(x, view({1, 2, 4, 5}, 1)),
                 "twice input's size 6 in dimension 3");
  expect_refused(upsample_nearest2x(x, view({2, 2, 4, 6}, 1)), "input's size 1 in dimension 0");
  expect_refused(upsample_nearest2x(x, view({1, 2, 4, 6}, 1, DataType::kFloat16)), "float16");
  expect_refused(upsample_nearest2x(view({1, 2, 2, 3}, 0, DataType::kInt32), out), "input must be");
  expect_refused(upsample_nearest2x(x, view({1, 2, 4, 6})), "must not share memory with input");
  const float* data = memory_.data();
  const TensorView last =
      TensorView::strided(data, DataType::kFloat32, {1, 2, 2, 3}, {12, 1, 6, 2});
  EXPECT_EQ(upsample_nearest2x(last, out).code(), StatusCode::kUnsupported);
  const TensorView wide =
      TensorView::strided(data + 1024, DataType::kFloat32, {1, 2, 4, 6}, {48, 1, 12, 2});
  ASSERT_TRUE(upsample_nearest2x(last, wide).ok());
  EXPECT_EQ(memory_[1024 + 3 * 12 + 5 * 2 + 1], 11.0F);
}

TEST_F(BlockChecks, WeightedSum) {
  const TensorView x = view({4, 6}), y = view({4, 6}, 1), out = view({4, 6}, 2);
  const double weights[MINDIESD_MAX_TERMS + 1] = {0.5, -2.0, 1.5};
  const auto sum = [&](std::vector<TensorView> terms, const TensorView& output, double scale = 1) {
    return weighted_sum(terms.data(), weights, static_cast<std::int32_t>(terms.size()), output,
                        scale);
  };
  for (int i = 0; i < 24; ++i) memory_[i] = static_cast<float>(i), memory_[1024 + i] = 1.0F;
  ASSERT_TRUE(sum({x, y, x}, out, 2.0).ok());
  EXPECT_EQ(memory_[2048 + 7], 2.0F * (0.5F * 7 - 2.0F + 1.5F * 7));
  ASSERT_TRUE(sum({x, y, x}, x).ok());
  ASSERT_TRUE(sum({view({0, 6}), view({0, 6}, 1)}, view({0, 6}, 2)).ok());
  ASSERT_TRUE(sum({view({}), view({}, 1)}, view({}, 2)).ok());
  expect_refused(sum({}, out), "must have 1 to 8 terms, but has 0");
  expect_refused(sum(std::vector<TensorView>(9, x), out), "must have 1 to 8 terms, but has 9");
  expect_refused(sum({x, view({6, 4}, 1)}, out), "terms[1] must have the shape of terms[0]");
  expect_refused(sum({x, y}, view({6, 4}, 2)), "output must have the shape of terms[0]");
  expect_refused(sum({x, view({4, 6}, 1, DataType::kFloat16)}, out), "float16");
  expect_refused(sum({x, y}, view({4, 6}, 2, DataType::kFloat16)), "float16");
  expect_refused(sum({view({4, 6}, 0, DataType::kInt32), y}, out), "terms[0] must be");
  expect_refused(sum({x, y}, out, NAN), "scale must be a number, but is NaN");
  TensorView shifted = x;
  shifted.data = memory_.data() + 1;
  expect_refused(sum({x, shifted}, x), "output must not share memory with terms[1]");
  // Other orders of dimensions, gaps and repeated places.
  const float* data = memory_.data();
  const TensorView turned = TensorView::strided(data, DataType::kFloat32, {4, 6}, {1, 4});
  const TensorView apart = TensorView::strided(data, DataType::kFloat32, {4, 6}, {7, 1});
  const TensorView repeated = TensorView::strided(data, DataType::kFloat32, {4, 6}, {0, 1});
  for (const TensorView& other : {turned, apart, repeated}) {
    EXPECT_EQ(sum({y, other}, out).code(), StatusCode::kUnsupported);
  }
  const TensorView result = TensorView::strided(data + 2048, DataType::kFloat32, {4, 6}, {1, 4});
  EXPECT_TRUE(sum({turned, turned}, result).ok());
  mindiesd_weighted_sum_args args = {};
  args.struct_size = sizeof(args);
  const mindiesd_tensor in = x.c_view(), to = out.c_view();
  args.terms[0] = args.terms[2] = &in;
  args.output = &to;
  EXPECT_EQ(mindiesd_weighted_sum(&args), MINDIESD_INVALID_ARGUMENT);
}

TEST_F(BlockChecks, GroupNorm) {
  const TensorView x = view({2, 6, 4, 3}), y = view({2, 6, 4, 3}, 1), weight = view({6}, 2);
  GroupNormOptions options;
  options.weight = options.bias = &weight;
  ASSERT_TRUE(group_norm(x, 3, y, options).ok());
  ASSERT_TRUE(group_norm(x, 3, x, options).ok());
  ASSERT_TRUE(group_norm(view({2, 6}), 2, view({2, 6}, 1)).ok());
  ASSERT_TRUE(group_norm(view({0, 6, 4}), 2, view({0, 6, 4}, 1)).ok());
  expect_refused(group_norm(view({6}), 3, view({6}, 1)), "input must have the dimensions");
  expect_refused(group_norm(x, 4, y), "groups must divide input's channels, 6, but is 4");
  expect_refused(group_norm(x, 0, y), "groups must divide input's channels, 6, but is 0");
  expect_refused(group_norm(x, 3, view({2, 6, 12}, 1)), "output must have the shape of input");
  expect_refused(group_norm(x, 3, y, {.eps = -1.0}), "eps must be finite and not negative");
  const TensorView seven = view({7}, 2);
  expect_refused(group_norm(x, 3, y, {.bias = &seven}), "bias must have input's channels, 6");
  options.bias = &y;
  expect_refused(group_norm(x, 3, y, options), "bias must have 1 dimensions");
  mindiesd_group_norm_args args = {};
  args.struct_size = sizeof(args);
  const mindiesd_tensor in = x.c_view(), out = y.c_view();
  args.input = &in;
  args.output = &out;
  args.groups = 3;
  args.activation = MINDIESD_GELU;
  EXPECT_EQ(mindiesd_group_norm(&args), MINDIESD_INVALID_ARGUMENT);
  // Positions whose strides do not merge.
  TensorView apart = view({2, 6, 4, 3});
  apart.strides[2] = 5;
  EXPECT_EQ(group_norm(apart, 3, y).code(), StatusCode::kUnsupported);
}

TEST_F(BlockChecks, Int8Linear) {
  const TensorView x = view({2, 3, 8}), scales = view({4}, 2), y = view({2, 3, 4}, 3);
  std::vector<std::int8_t> values(64, 2);
  const TensorView weight = TensorView::dense(values.data(), DataType::kInt8, {4, 8});
  const auto run = [&](const TensorView& in, const TensorView& matrix, const TensorView& factors,
                       const TensorView& out, const TensorView* bias = nullptr) {
    return int8_linear(in, matrix, factors, bias, out);
  };
  for (int i = 0; i < 48; ++i) memory_[i] = static_cast<float>(i);
  for (int n = 0; n < 4; ++n) memory_[2 * 1024 + n] = 0.5F;
  ASSERT_TRUE(run(x, weight, scales, y).ok());
  EXPECT_EQ(memory_[3 * 1024 + 4], 0.5F * 2 * (8 + 9 + 10 + 11 + 12 + 13 + 14 + 15));
  ASSERT_TRUE(run(x, weight, scales, y, &scales).ok());
  EXPECT_EQ(memory_[3 * 1024 + 4], 0.5F * 2 * (8 + 9 + 10 + 11 + 12 + 13 + 14 + 15) + 0.5F);
  ASSERT_TRUE(run(view({0, 8}), weight, scales, view({0, 4}, 3)).ok());
  EXPECT_EQ(run(view({17, 8}), weight, scales, view({17, 4}, 3)).code(), StatusCode::kUnsupported);
  expect_refused(run(x, view({4, 8}, 1), scales, y), "weight must be int8, but is float32");
  const TensorView narrow = TensorView::dense(values.data(), DataType::kInt8, {4, 7});
  expect_refused(run(x, narrow, scales, y), "weight must have input's last dimension, 8");
  const TensorView flat = TensorView::dense(values.data(), DataType::kInt8, {8});
  expect_refused(run(x, flat, scales, y), "weight must have 2 dimensions");
  expect_refused(run(x, weight, view({5}, 2), y), "scales must have weight's first dimension, 4");
  expect_refused(run(x, weight, view({4, 1}, 2), y), "scales must have 1 dimensions");
  expect_refused(run(x, weight, view({4}, 2, DataType::kFloat16), y), "scales must be float32");
  expect_refused(run(x, weight, scales, view({2, 3, 5}, 3)), "output must have input's shape");
  expect_refused(run(x, weight, scales, view({2, 3, 4}, 3, DataType::kFloat16)), "type of input");
  expect_refused(run(x, weight, scales, view({2, 3, 4})), "share memory with input");
  expect_refused(run(x, weight, scales, view({2, 3, 4}, 2)), "share memory with scales");
  const TensorView five = view({5}, 1);
  expect_refused(run(x, weight, scales, y, &five), "bias must have weight's first dimension, 4");
  expect_refused(run(TensorView::dense(values.data(), DataType::kInt8, {2, 8}), weight, scales, y),
                 "input must be float32, float16 or bfloat16, but is int8");
}

TEST_F(BlockChecks, LinearActivation) {
  const TensorView x = view({2, 3, 8}), weight = view({4, 8}, 1), bias = view({4}, 2);
  const TensorView y = view({2, 3, 4}, 3);
  const auto run = [&](const TensorView& in, const TensorView& matrix, const TensorView& vector,
                       const TensorView& out) {
    return linear_activation(in, matrix, &vector, out, Activation::kGeluTanh);
  };
  // Matrix products are no CPU kernel's.
  EXPECT_EQ(run(x, weight, bias, y).code(), StatusCode::kUnsupported);
  expect_refused(run(x, view({4, 7}, 1), bias, y), "weight must have input's last dimension, 8");
  expect_refused(run(x, view({8}, 1), bias, y), "weight must have 2 dimensions");
  expect_refused(run(x, view({4, 8}, 1, DataType::kFloat16), bias, y),
                 "weight must have the type of input, float32");
  expect_refused(run(x, weight, view({3}, 2), y), "bias must have weight's first dimension, 4");
  expect_refused(run(x, weight, bias, view({2, 3, 8}, 3)),
                 "output must have input's shape with weight's first dimension as its last, "
                 "[2, 3, 4], but has [2, 3, 8]");
  expect_refused(run(x, weight, bias, view({2, 3, 4}, 3, DataType::kBFloat16)),
                 "output must have the type of input");
  expect_refused(run(x, weight, bias, view({2, 3, 4}, 0)), "must not share memory with input");
  expect_refused(run(x, weight, bias, view({2, 3, 4}, 1)), "must not share memory with weight");
  expect_refused(run(x, weight, bias, view({2, 3, 4}, 2)), "must not share memory with bias");
  expect_refused(linear_activation(x, weight, nullptr, y, static_cast<Activation>(9)),
                 "activation must be 0 to 5");
}

}  // namespace
}  // namespace mindiesd
