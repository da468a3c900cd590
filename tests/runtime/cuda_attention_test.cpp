// Attention on a CUDA device through the C++ interface, by each back end of the library, against
// the formula in float64. Types, widths and options at large are tested from tests/kernels/gpu.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "mindiesd/mindiesd.h"

namespace mindiesd {
namespace {

constexpr Device kDevice{MINDIESD_CUDA, 0};

bool have_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 &&
         mindiesd_has_device(MINDIESD_CUDA) == 1;
}

bool on_hopper() {
  int major = 0;
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major == 9 && backend_named("hopper", kDevice) > 0;
}

float bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Dense values on the device and here; the ones here are rounded to the type.
class Values {
 public:
  Values(DataType type, std::initializer_list<std::int64_t> sizes, int seed) : type_(type) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    for (std::int64_t i = 0; i < count; ++i) {
      const float value = std::sin(static_cast<float>(i * 7 + seed * 1000)) * 1.5F;
      host.push_back(type == DataType::kBFloat16 ? bfloat16(value) : value);
    }
    EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess);
    const std::vector<unsigned char> raw = packed();
    EXPECT_EQ(cudaMemcpy(data_, raw.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
    view_ = TensorView::dense(data_, type, sizes, kDevice);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { cudaFree(data_); }

  const TensorView& view() const { return view_; }
  void fetch() {
    std::vector<unsigned char> raw(bytes());
    EXPECT_EQ(cudaMemcpy(raw.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    for (std::size_t i = 0; i < host.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(reinterpret_cast<char*>(&bits) + 4 - item(), &raw[i * item()], item());
      std::memcpy(&host[i], &bits, sizeof(bits));
    }
  }

  std::vector<float> host;

 private:
  std::size_t item() const { return type_ == DataType::kBFloat16 ? 2 : 4; }
  std::size_t bytes() const { return host.size() * item(); }
  std::vector<unsigned char> packed() const {
    std::vector<unsigned char> raw(bytes());
    for (std::size_t i = 0; i < host.size(); ++i) {
      std::memcpy(&raw[i * item()], reinterpret_cast<const char*>(&host[i]) + 4 - item(), item());
    }
    return raw;
  }

  DataType type_;
  TensorView view_;
  void* data_ = nullptr;
};

constexpr int kQueries = 70, kKeys = 90, kHeads = 4, kKeyHeads = 2, kWidth = 64;

// Operands are [S, N, D] of one batch entry; query i sees the first `visible(i)` keys.
template <typename Visible>
void expect_attention(Values& output, const Values& query, const Values& key, const Values& value,
                      int queries, double tolerance, const Visible& visible) {
  constexpr int heads = kHeads, key_heads = kKeyHeads, width = kWidth;
  output.fetch();
  for (int h = 0; h < heads; ++h) {
    const int kh = h / (heads / key_heads);
    for (int i = 0; i < queries; ++i) {
      std::vector<double> weights;
      double total = 0.0;
      for (int j = 0; j < visible(i); ++j) {
        double score = 0.0;
        for (int d = 0; d < width; ++d) {
          score += static_cast<double>(query.host[(i * heads + h) * width + d]) *
                   key.host[(j * key_heads + kh) * width + d];
        }
        weights.push_back(std::exp(score / std::sqrt(width)));
        total += weights.back();
      }
      for (int d = 0; d < width; ++d) {
        double expected = 0.0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
          expected += weights[j] / total * value.host[(j * key_heads + kh) * width + d];
        }
        ASSERT_NEAR(output.host[(i * heads + h) * width + d], expected, tolerance)
            << "head " << h << " query " << i << " column " << d;
      }
    }
  }
}

TEST(CudaAttention, EveryBackEnd) {
  if (!have_device()) GTEST_SKIP() << "no CUDA device";
  for (const DataType type : {DataType::kFloat32, DataType::kBFloat16}) {
    const Values query(type, {1, kQueries, kHeads, kWidth}, 1);
    const Values key(type, {1, kKeys, kKeyHeads, kWidth}, 2);
    const Values value(type, {1, kKeys, kKeyHeads, kWidth}, 3);
    for (const std::string name : {"", "hopper", "tensor_core", "multiply_add"}) {
      if (type == DataType::kFloat32 && (name == "hopper" || name == "tensor_core")) continue;
      if (name == "hopper" && !on_hopper()) continue;
      SCOPED_TRACE(name);
      Values output(type, {1, kQueries, kHeads, kWidth}, 4);
      AttentionOptions options;
      if (!name.empty()) {
        options.backend = backend_named(name, kDevice);
        ASSERT_GT(options.backend, 0);
      }
      const Status status =
          attention_forward(query.view(), key.view(), value.view(), output.view(), options);
      ASSERT_TRUE(status.ok()) << status.message();
      expect_attention(output, query, key, value, kQueries,
                       type == DataType::kFloat32 ? 1e-5 : 1e-2, [](int) { return kKeys; });
    }
  }
}

TEST(CudaAttention, CausalWithRowsThatSeeNothing) {
  if (!have_device()) GTEST_SKIP() << "no CUDA device";
  const Values query(DataType::kBFloat16, {1, kKeys, kHeads, kWidth}, 1);
  const Values key(DataType::kBFloat16, {1, kQueries, kKeyHeads, kWidth}, 2);
  Values output(DataType::kBFloat16, {1, kKeys, kHeads, kWidth}, 4);
  AttentionOptions options;
  options.causal = Causal::kBottomRight;
  const Status status =
      attention_forward(query.view(), key.view(), key.view(), output.view(), options);
  ASSERT_TRUE(status.ok()) << status.message();
  expect_attention(output, query, key, key, kKeys, 1e-2,
                   [](int i) { return std::max(0, i + 1 + kQueries - kKeys); });
}

TEST(CudaAttention, PackedSequences) {
  if (!have_device()) GTEST_SKIP() << "no CUDA device";
  const Values query(DataType::kBFloat16, {kQueries, kHeads, kWidth}, 1);
  const Values key(DataType::kBFloat16, {kQueries, kKeyHeads, kWidth}, 2);
  Values output(DataType::kBFloat16, {kQueries, kHeads, kWidth}, 4);
  const std::int32_t boundaries[] = {0, kQueries - 10};  // nobody owns the last ten rows
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, sizeof(boundaries)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(data, boundaries, sizeof(boundaries), cudaMemcpyHostToDevice), cudaSuccess);
  const auto cu = TensorView::dense(data, DataType::kInt32, {2}, kDevice);
  const Status status =
      attention_forward_varlen(query.view(), key.view(), key.view(), cu, cu, output.view());
  ASSERT_TRUE(status.ok()) << status.message();
  expect_attention(output, query, key, key, kQueries, 1e-2,
                   [](int i) { return i < kQueries - 10 ? kQueries - 10 : 0; });
  cudaFree(data);
}

TEST(CudaAttention, ABackEndThatDoesNotComputeItSaysSo) {
  if (!have_device()) GTEST_SKIP() << "no CUDA device";
  const Values query(DataType::kFloat32, {1, kQueries, kHeads, kWidth}, 1);
  const Values output(DataType::kFloat32, {1, kQueries, kHeads, kWidth}, 2);
  AttentionOptions options;
  options.backend = backend_named("tensor_core", kDevice);
  const Status status =
      attention_forward(query.view(), query.view(), query.view(), output.view(), options);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  options.backend = 100;
  EXPECT_EQ(
      attention_forward(query.view(), query.view(), query.view(), output.view(), options).code(),
      StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mindiesd
