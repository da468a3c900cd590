// LayerNorm of rows that lie side by side against the formula in float64.

#include <cmath>
#include <vector>

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

struct Planes {
  std::int64_t samples, channels, places;
};

void expect_normed(const cpu::Launchers& launchers, DataType type, DataType to, const Planes& s,
                   bool affine, double mean) {
  const std::int64_t count = s.samples * s.channels * s.places;
  Memory input(type, count), output(to, count);
  Memory weight(DataType::kFloat16, s.channels), bias(DataType::kFloat32, s.channels);
  for (std::int64_t i = 0; i < count; ++i) {
    input.set(i, mean + 2.0 * std::sin(0.37 * static_cast<double>(i)));
  }
  for (std::int64_t c = 0; c < s.channels; ++c) {
    weight.set(c, 0.5 + 0.125 * static_cast<double>(c % 7));
    bias.set(c, static_cast<double>(c % 5) - 2.0);
  }
  FusedNorm p;
  p.rows.rank = 2;
  p.rows.sizes[0] = s.samples;
  p.rows.sizes[1] = s.places;
  p.width = s.channels;
  p.eps = 1e-5F;
  for (RowOperand* operand : {&p.input, &p.output}) {
    operand->strides[0] = s.channels * s.places;
    operand->strides[1] = 1;
    operand->step = s.places;
  }
  p.input.data = input.data();
  p.input.type = type;
  p.output.data = output.data();
  p.output.type = to;
  if (affine) {
    p.weight = weight.data();
    p.weight_type = weight.type();
    p.bias = bias.data();
    p.bias_type = bias.type();
  }
  ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
  for (std::int64_t n = 0; n < s.samples; ++n) {
    for (std::int64_t place = 0; place < s.places; ++place) {
      const auto index = [&](std::int64_t c) { return (n * s.channels + c) * s.places + place; };
      double sum = 0.0, squares = 0.0;
      for (std::int64_t c = 0; c < s.channels; ++c) sum += input.get(index(c));
      const double average = sum / static_cast<double>(s.channels);
      for (std::int64_t c = 0; c < s.channels; ++c) {
        squares += std::pow(input.get(index(c)) - average, 2);
      }
      const double root = std::sqrt(squares / static_cast<double>(s.channels) + 1e-5);
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const double normal = (input.get(index(c)) - average) / root;
        const double gain = affine ? weight.get(c) : 1.0, offset = affine ? bias.get(c) : 0.0;
        const double wanted = normal * gain + offset;
        const double size = std::abs(normal * gain) + std::abs(offset);
        const double bound = 0.51 * ulp(wanted, to) + 3 * ulp(size, DataType::kFloat32);
        ASSERT_NEAR(output.get(index(c)), wanted, bound) << n << " " << c << " " << place;
      }
    }
  }
}

TEST(PlanesNorm, TypesShapesAndVectors) {
  for_each_isa([](const cpu::Launchers& launchers) {
    // The fewest rows, a block, blocks and a rest; one channel, few and many; more than one share.
    for (const Planes& s : {Planes{2, 6, 16}, Planes{1, 1, 64}, Planes{3, 40, 67},
                            Planes{1, 300, 200}, Planes{2, 96, 1024}}) {
      for (const bool affine : {false, true}) {
        for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
          expect_normed(launchers, type, type, s, affine, 0.25);
        }
        expect_normed(launchers, DataType::kBFloat16, DataType::kFloat32, s, affine, 0.25);
      }
    }
  });
}

TEST(PlanesNorm, MeansFarFromZero) {
  for_each_isa([](const cpu::Launchers& launchers) {
    expect_normed(launchers, DataType::kFloat32, DataType::kFloat32, {1, 128, 80}, true, 3e4);
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
