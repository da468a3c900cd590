// The CUDA launchers: how rows are merged and cut (anywhere), what happens without a device, and on
// a device each operation against the plain formulas in float64. Types, widths and strides at large
// are tested from gpu/.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/cuda/host.h"
#include "kernels/cuda/launch.h"
#include "support.h"

namespace mindiesd::kernels::test {
namespace {

bool have_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

#define SKIP_WITHOUT_DEVICE() \
  if (!have_device()) GTEST_SKIP() << "no CUDA device"

RowOperand strides_of(std::initializer_list<std::int64_t> strides) {
  static char memory[64];
  RowOperand operand;
  operand.data = memory;
  int d = 0;
  for (const std::int64_t stride : strides) operand.strides[d++] = stride;
  return operand;
}

RowSpace sizes_of(std::initializer_list<std::int64_t> sizes) {
  RowSpace rows;
  for (const std::int64_t size : sizes) rows.sizes[rows.rank++] = size;
  return rows;
}

TEST(CudaRows, DenseDimensionsBecomeOne) {
  const RowOperand dense = strides_of({60, 12, 4});
  const auto rows = cuda::merge_rows<2>(sizes_of({2, 5, 3}), {&dense, &dense});
  EXPECT_EQ(rows.rank, 1);
  EXPECT_EQ(rows.sizes[0], 30);
  EXPECT_EQ(rows.strides[0][0], 4);
}

TEST(CudaRows, ABroadcastKeepsItsDimensionApart) {
  const RowOperand dense = strides_of({60, 12, 4});
  const RowOperand table = strides_of({0, 4, 0});
  const auto rows = cuda::merge_rows<2>(sizes_of({2, 5, 3}), {&dense, &table});
  EXPECT_EQ(rows.rank, 3);
  const RowOperand per_sample = strides_of({4, 0, 0});
  EXPECT_EQ(cuda::merge_rows<2>(sizes_of({2, 5, 3}), {&dense, &per_sample}).rank, 2);
}

TEST(CudaRows, DimensionsAreOrderedAsTheFirstOperandLies) {
  const RowOperand transposed = strides_of({4, 8});  // sizes 2, 5: memory order 5, 2
  const auto rows = cuda::merge_rows<1>(sizes_of({2, 5}), {&transposed});
  EXPECT_EQ(rows.rank, 1);
  EXPECT_EQ(rows.sizes[0], 10);
  EXPECT_EQ(rows.strides[0][0], 4);
}

TEST(CudaRows, NoRowsButOneIsOneRow) {
  const RowOperand operand = strides_of({});
  const auto rows = cuda::merge_rows<1>(RowSpace{}, {&operand});
  EXPECT_EQ(rows.rank, 1);
  EXPECT_EQ(rows.count(), 1);
}

TEST(CudaRows, PiecesCoverEveryRowOnceAndFit) {
  // 3 x 2^29 x 5 rows, more than 31 bits count.
  const std::int64_t sizes[] = {3, std::int64_t{1} << 29, 5};
  const RowOperand dense = strides_of({sizes[1] * 7, 7, sizes[0] * sizes[1] * 7});
  cuda::Rows<1> rows;
  rows.rank = 3;
  for (int d = 0; d < 3; ++d) {
    rows.sizes[d] = sizes[d];
    rows.strides[0][d] = dense.strides[d];
  }
  std::int64_t covered = 0;
  std::vector<std::int64_t> begins;
  const cuda::PieceBody<1> body = [&](const cuda::Rows<1>& piece,
                                      const std::array<std::int64_t, 1>& offsets) {
    EXPECT_LE(piece.count(), std::int64_t{1} << 30);
    covered += piece.count();
    begins.push_back(offsets[0]);
    return LaunchStatus::kOk;
  };
  EXPECT_EQ(cuda::for_each_piece<1>(rows, 1, body), LaunchStatus::kOk);
  EXPECT_EQ(covered, rows.count());
  ASSERT_FALSE(begins.empty());
  EXPECT_EQ(begins.front(), 0);
  for (std::size_t i = 1; i < begins.size(); ++i) EXPECT_GT(begins[i], begins[i - 1]);
}

TEST(CudaRows, DivisorDividesAsTheProcessorDoes) {
  for (const std::uint32_t value : {1U, 2U, 3U, 7U, 24U, 641U, 65536U, 1073741823U, 2147483647U}) {
    const cuda::Divisor divisor = cuda::divisor_of(value);
    for (const std::uint32_t n : {0U, 1U, 6U, 640U, 641U, 65535U, 1073741824U, 2147483647U}) {
      const auto high = static_cast<std::uint32_t>((std::uint64_t{n} * divisor.multiplier) >> 32);
      EXPECT_EQ(value == 1 ? n : high >> divisor.shift, n / value) << n << " / " << value;
    }
  }
}

TEST(CudaRows, ShapesCoverTheirRows) {
  cuda::Device device;
  device.multiprocessors = 132;
  const auto most = [](int per_thread) { return per_thread > 2 ? 512 : 1024; };
  for (const std::int64_t vectors :
       {1, 8, 9, 16, 20, 33, 64, 144, 288, 384, 640, 1728, 2048, 4096}) {
    for (const std::int64_t rows : {1, 16, 256, 4096, 65536}) {
      const auto shape = cuda::row_shape(vectors, rows, device, {4, 3, 2, 8, 1}, 512, most);
      EXPECT_GE(shape.threads * shape.per_thread, vectors);
      EXPECT_LE(shape.threads * shape.rows, most(shape.per_thread));
      EXPECT_EQ(shape.threads * shape.rows % 32, 0);
    }
  }
}

TEST(CudaLaunch, WithoutADeviceEveryLauncherFailsAndSaysWhy) {
  if (have_device()) GTEST_SKIP() << "there is a CUDA device";
  float memory[16] = {};
  Activate problem;
  problem.width = 16;
  problem.input.data = problem.output.data = memory;
  EXPECT_EQ(cuda::activation(problem, nullptr), LaunchStatus::kFailed);
  EXPECT_NE(std::string(cuda::last_error()).find("cudaError"), std::string::npos);
}

// Dense rows of values on the device, with their copy here.
class OnDevice {
 public:
  OnDevice(DataType type, std::int64_t rows, std::int64_t width, unsigned seed)
      : type_(type),
        width_(width),
        bytes_(static_cast<std::size_t>(rows * width) * bytes_of(type)) {
    host_.resize(bytes_);
    Random random(seed);
    for (std::int64_t i = 0; i < rows * width; ++i) {
      kernels::test::store(host_.data(), i, type, random.normal());
    }
    EXPECT_EQ(cudaMalloc(&data_, bytes_), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host_.data(), bytes_, cudaMemcpyHostToDevice), cudaSuccess);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }

  RowOperand operand() const {
    RowOperand result;
    result.data = data_;
    result.type = type_;
    result.strides[0] = width_;
    return result;
  }
  const void* data() const { return data_; }
  double get(std::int64_t row, std::int64_t i) const {
    return load(host_.data(), row * width_ + i, type_);
  }
  void fetch() {
    EXPECT_EQ(cudaMemcpy(host_.data(), data_, bytes_, cudaMemcpyDeviceToHost), cudaSuccess);
  }

 private:
  DataType type_;
  std::int64_t width_;
  std::size_t bytes_;
  std::vector<unsigned char> host_;
  void* data_ = nullptr;
};

constexpr std::int64_t kRows = 5;

void expect_close(OnDevice& output, std::int64_t row, std::int64_t i, double expected,
                  DataType type) {
  EXPECT_NEAR(output.get(row, i), expected, 2 * ulp(expected, type) + 1e-5) << row << ", " << i;
}

TEST(CudaLaunch, FusedNorm) {
  SKIP_WITHOUT_DEVICE();
  for (const DataType type : kFloatTypes) {
    for (const std::int64_t width : {8, 72, 100, 3072}) {
      OnDevice x(type, kRows, width, 1), y(type, kRows, width, 2), gate(type, 1, width, 3);
      OnDevice sum(DataType::kFloat32, kRows, width, 4), out(type, kRows, width, 5);
      FusedNorm p;
      p.rows = sizes_of({kRows});
      p.width = width;
      p.input = x.operand();
      p.output = out.operand();
      p.has_branch = p.has_gate = p.has_sum = true;
      p.branch = y.operand();
      p.gate = gate.operand();
      p.gate.strides[0] = 0;
      p.sum = sum.operand();
      p.eps = 1e-5F;
      ASSERT_EQ(cuda::fused_norm(p, nullptr), LaunchStatus::kOk) << cuda::last_error();
      sum.fetch();
      out.fetch();
      for (std::int64_t r = 0; r < kRows; ++r) {
        std::vector<double> s(static_cast<std::size_t>(width));
        double mean = 0.0, variance = 0.0;
        for (std::int64_t i = 0; i < width; ++i) {
          s[i] = x.get(r, i) + gate.get(0, i) * y.get(r, i);
          mean += s[i] / static_cast<double>(width);
        }
        for (const double value : s) {
          variance += (value - mean) * (value - mean) / static_cast<double>(width);
        }
        for (std::int64_t i = 0; i < width; ++i) {
          expect_close(sum, r, i, s[i], DataType::kFloat32);
          expect_close(out, r, i, (s[i] - mean) / std::sqrt(variance + 1e-5), type);
        }
      }
    }
  }
}

TEST(CudaLaunch, NormThenRotary) {
  SKIP_WITHOUT_DEVICE();
  for (const DataType type : kFloatTypes) {
    for (const std::int64_t width : {6, 64, 128}) {
      OnDevice x(type, kRows, width, 1), out(type, kRows, width, 2);
      OnDevice cos(DataType::kFloat32, kRows, width, 3), sin(DataType::kFloat32, kRows, width, 4);
      RotaryQk p;
      Rotary& rotary = p.operands[0];
      rotary.rows = sizes_of({kRows});
      rotary.width = width;
      rotary.input = x.operand();
      rotary.output = out.operand();
      rotary.cos = cos.operand();
      rotary.sin = sin.operand();
      p.norm = NormSpan::kRow;
      p.eps = 1e-6F;
      ASSERT_EQ(cuda::rotary(p, nullptr), LaunchStatus::kOk) << cuda::last_error();
      out.fetch();
      const std::int64_t half = width / 2;
      for (std::int64_t r = 0; r < kRows; ++r) {
        double square = 0.0;
        for (std::int64_t i = 0; i < width; ++i) square += x.get(r, i) * x.get(r, i);
        const double factor = 1.0 / std::sqrt(square / static_cast<double>(width) + 1e-6);
        for (std::int64_t j = 0; j < half; ++j) {
          const double a = x.get(r, j) * factor, b = x.get(r, j + half) * factor;
          const double left = a * cos.get(r, j) - b * sin.get(r, j);
          const double right = b * cos.get(r, j + half) + a * sin.get(r, j + half);
          const double size = std::abs(a) + std::abs(b);
          EXPECT_NEAR(out.get(r, j), left, 4 * ulp(size, type) + 1e-5);
          EXPECT_NEAR(out.get(r, j + half), right, 4 * ulp(size, type) + 1e-5);
        }
      }
    }
  }
}

TEST(CudaLaunch, SoftmaxWithEveryGuard) {
  SKIP_WITHOUT_DEVICE();
  for (const DataType type : kFloatTypes) {
    for (const std::int64_t width : {3, 64, 1000, 4096}) {
      OnDevice x(type, kRows, width, 1), bias(type, 1, width, 2), out(type, kRows, width, 3);
      Softmax p;
      p.rows = sizes_of({kRows});
      p.width = width;
      p.input = x.operand();
      p.output = out.operand();
      p.scale = 0.5F;
      p.has_bias = true;
      p.bias = bias.operand();
      p.bias.strides[0] = 0;
      p.subtract = Subtract::kGlobal;
      p.has_clamp_min = true;
      p.clamp_min = -2.0F;
      ASSERT_EQ(cuda::softmax(p, nullptr), LaunchStatus::kOk) << cuda::last_error();
      out.fetch();
      double largest = -INFINITY;
      const auto score = [&](std::int64_t r, std::int64_t i) {
        return 0.5 * x.get(r, i) + bias.get(0, i);
      };
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, score(r, i));
      }
      for (std::int64_t r = 0; r < kRows; ++r) {
        double total = 0.0;
        for (std::int64_t i = 0; i < width; ++i) {
          total += std::exp(std::max(score(r, i) - largest, -2.0));
        }
        for (std::int64_t i = 0; i < width; ++i) {
          expect_close(out, r, i, std::exp(std::max(score(r, i) - largest, -2.0)) / total, type);
        }
      }
    }
  }
}

TEST(CudaLaunch, GatedActivation) {
  SKIP_WITHOUT_DEVICE();
  for (const DataType type : kFloatTypes) {
    for (const std::int64_t width : {1, 50, 128}) {
      OnDevice x(type, kRows, width, 1), gate(type, kRows, width, 2), out(type, kRows, width, 3);
      Activate p;
      p.rows = sizes_of({kRows});
      p.width = width;
      p.input = x.operand();
      p.output = out.operand();
      p.has_gate = true;
      p.gate = gate.operand();
      p.activation = Activation::kGelu;
      ASSERT_EQ(cuda::activation(p, nullptr), LaunchStatus::kOk) << cuda::last_error();
      out.fetch();
      for (std::int64_t r = 0; r < kRows; ++r) {
        for (std::int64_t i = 0; i < width; ++i) {
          const double g = gate.get(r, i);
          expect_close(out, r, i, x.get(r, i) * 0.5 * g * (1.0 + std::erf(g / std::sqrt(2.0))),
                       type);
        }
      }
    }
  }
}

TEST(CudaLaunch, ADeviceThatIsNotThereIsSaid) {
  SKIP_WITHOUT_DEVICE();
  const auto previous = cuda::activate(1000);
  OnDevice x(DataType::kFloat32, 1, 16, 1);
  Activate p;
  p.width = 16;
  p.input = p.output = x.operand();
  EXPECT_EQ(cuda::activation(p, nullptr), LaunchStatus::kFailed);
  EXPECT_NE(std::string(cuda::last_error()).find("cudaErrorInvalidDevice"), std::string::npos);
  cuda::activate(previous);
  EXPECT_EQ(cuda::activation(p, nullptr), LaunchStatus::kOk) << cuda::last_error();
}

}  // namespace
}  // namespace mindiesd::kernels::test
