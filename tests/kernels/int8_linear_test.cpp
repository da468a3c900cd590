// Linear layers with an int8 weight against the formula in float64.

#include <vector>

#include "kernels/int8_linear.h"
#include "support.h"

namespace mindiesd::kernels::test {
namespace {

struct Tested {
  Memory input, bias, output;
  std::vector<std::int8_t> weight;
  std::vector<float> scales;
  Int8Linear problem;

  // Rows of the weight lie 5 values apart, those of the others 3.
  Tested(DataType type, std::int64_t rows, std::int64_t depth, std::int64_t width)
      : input(type, rows * (depth + 3)),
        bias(type, width),
        output(type, rows * (width + 3)),
        weight(static_cast<std::size_t>(width * (depth + 5))),
        scales(static_cast<std::size_t>(width)) {
    for (std::int64_t i = 0; i < rows * (depth + 3); ++i) {
      input.set(i, std::sin(0.7 * static_cast<double>(i)));
    }
    for (std::size_t i = 0; i < weight.size(); ++i) {
      weight[i] = static_cast<std::int8_t>(static_cast<int>(i * 37 % 256) - 128);
    }
    for (std::int64_t n = 0; n < width; ++n) {
      bias.set(n, 0.25 * static_cast<double>(n % 7));
      scales[static_cast<std::size_t>(n)] = 0.01F * static_cast<float>(n % 5 + 1);
    }
    problem.rows = rows, problem.depth = depth, problem.width = width;
    problem.type = type;
    problem.input = input.data(), problem.bias = bias.data(), problem.output = output.data();
    problem.weight = weight.data(), problem.scales = scales.data();
    problem.input_stride = depth + 3, problem.weight_stride = depth + 5;
    problem.output_stride = width + 3;
  }

  void check(bool biased) {
    for (std::int64_t row = 0; row < problem.rows; ++row) {
      for (std::int64_t n = 0; n < problem.width; ++n) {
        const double scale = scales[static_cast<std::size_t>(n)];
        double sum = 0, size = 0;
        for (std::int64_t k = 0; k < problem.depth; ++k) {
          const double part = scale * input.get(row * problem.input_stride + k) *
                              weight[static_cast<std::size_t>(n * problem.weight_stride + k)];
          sum += part, size += std::abs(part);
        }
        if (biased) sum += bias.get(n);
        const double bound =
            0.51 * ulp(sum, problem.type) + 0.05 * static_cast<double>(problem.depth + 40) *
                                                ulp(size + std::abs(sum), DataType::kFloat32);
        ASSERT_NEAR(output.get(row * problem.output_stride + n), sum, bound) << row << " " << n;
      }
    }
  }
};

TEST(Int8Linear, EveryTypeAndSize) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
      for (const std::int64_t rows : {0, 1, 2, 7, 16}) {
        // Nothing to add up, less than a vector, a part and a rest.
        for (const std::int64_t depth : {0, 1, 37, 2051}) {
          for (const std::int64_t width : {0, 1, 70}) {
            for (const bool biased : {true, false}) {
              Tested tested(type, rows, depth, width);
              if (!biased) tested.problem.bias = nullptr;
              ASSERT_EQ(launchers.int8_linear(tested.problem), LaunchStatus::kOk);
              tested.check(biased);
            }
          }
        }
      }
    }
  });
}

TEST(Int8Linear, MoreRowsAreAnotherKernels) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Tested tested(DataType::kFloat32, kMostInt8Rows + 1, 16, 4);
    EXPECT_EQ(launchers.int8_linear(tested.problem), LaunchStatus::kUnsupported);
  });
}

TEST(Int8Linear, InputThatIsNotFinite) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Tested tested(DataType::kFloat32, 3, 24, 6);
    tested.input.set(tested.problem.input_stride + 5, NAN);
    ASSERT_EQ(launchers.int8_linear(tested.problem), LaunchStatus::kOk);
    for (std::int64_t n = 0; n < 6; ++n) {
      EXPECT_TRUE(std::isfinite(tested.output.get(n)));
      EXPECT_TRUE(std::isnan(tested.output.get(tested.problem.output_stride + n)));
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
