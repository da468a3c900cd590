// Activations and gated products against the formulas in float64.

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

constexpr Activation kAll[] = {Activation::kGelu, Activation::kGeluTanh, Activation::kGeluFast,
                               Activation::kSilu, Activation::kMish,     Activation::kRelu};

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double reference(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return x * sigmoid(2.0 * std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x));
    case Activation::kGeluFast:
      return x * sigmoid(1.702 * x);
    case Activation::kSilu:
      return x * sigmoid(x);
    case Activation::kMish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::kRelu:
      return std::max(x, 0.0);
  }
  return NAN;
}

// A few units in the last place of float32 arithmetic, and what rounding of the exponent costs in
// the tail, where e^-v carries |v| units.
double bound(double wanted, double x, DataType type) {
  const double tail = x < 0 ? std::abs(wanted) * (4.0 + 2.0 * x * x + std::abs(x * x * x) / 2) : 0;
  return 0.51 * ulp(wanted, type) + 6 * ulp(wanted, DataType::kFloat32) + tail * 0x1p-23;
}

TEST(Activation, EveryFunctionOverItsRange) {
  for_each_isa([](const cpu::Launchers& launchers) {
    std::vector<double> values;
    for (double x = -12.0; x < 14.0; x += 1.0 / 64) values.push_back(x);
    for (int e = -126; e < 100; e += 3) {
      values.push_back(std::ldexp(1.1, e));
      if (e < 3) values.push_back(-std::ldexp(1.1, e));
    }
    const auto width = static_cast<std::int64_t>(values.size());
    Memory x(DataType::kFloat32, width), y(DataType::kFloat32, width);
    for (std::int64_t i = 0; i < width; ++i) x.set(i, values[static_cast<std::size_t>(i)]);
    for (const Activation activation : kAll) {
      Activate p;
      p.width = width;
      p.input.data = x.data();
      p.output.data = y.data();
      p.activation = activation;
      ASSERT_EQ(launchers.activation(p), LaunchStatus::kOk);
      for (std::int64_t i = 0; i < width; ++i) {
        const double wanted = reference(activation, x.get(i));
        ASSERT_NEAR(y.get(i), wanted, bound(wanted, x.get(i), DataType::kFloat32))
            << "activation " << static_cast<int>(activation) << " of " << x.get(i);
      }
    }
  });
}

// They have loops of their own.
TEST(Activation, EveryBfloat16) {
  for_each_isa([](const cpu::Launchers& launchers) {
    constexpr std::int64_t kWidth = 65536;
    Memory x(DataType::kBFloat16, kWidth), y(DataType::kBFloat16, kWidth);
    auto* bits = static_cast<std::uint16_t*>(x.data());
    for (std::int64_t i = 0; i < kWidth; ++i) bits[i] = static_cast<std::uint16_t>(i);
    Activate p;
    p.width = kWidth;
    p.input.data = x.data();
    p.output.data = y.data();
    p.input.type = p.output.type = DataType::kBFloat16;
    for (const Activation activation :
         {Activation::kGelu, Activation::kGeluTanh, Activation::kGeluFast, Activation::kSilu}) {
      p.activation = activation;
      ASSERT_EQ(launchers.activation(p), LaunchStatus::kOk);
      constexpr double kSmallest = 0x1p-133;  // step of the subnormal numbers
      for (std::int64_t i = 0; i < kWidth; ++i) {
        const double wanted = reference(activation, x.get(i));
        if (!std::isfinite(wanted)) {
          const bool same = std::isnan(wanted) ? std::isnan(y.get(i)) : y.get(i) == wanted;
          ASSERT_TRUE(same) << "activation " << static_cast<int>(activation) << " of " << x.get(i)
                            << " gives " << y.get(i);
          continue;
        }
        ASSERT_NEAR(y.get(i), wanted, 0.51 * std::max(ulp(wanted, DataType::kBFloat16), kSmallest))
            << "activation " << static_cast<int>(activation) << " of " << x.get(i);
      }
    }
  });
}

TEST(Activation, NanAndInfinityAsTheFormulasHaveThem) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Memory x(DataType::kFloat32, 3), y(DataType::kFloat32, 3);
    x.set(0, NAN);
    x.set(1, INFINITY);
    x.set(2, -INFINITY);
    for (const Activation activation : kAll) {
      Activate p;
      p.width = 3;
      p.input.data = x.data();
      p.output.data = y.data();
      p.activation = activation;
      ASSERT_EQ(launchers.activation(p), LaunchStatus::kOk);
      EXPECT_TRUE(std::isnan(y.get(0))) << static_cast<int>(activation);
      EXPECT_EQ(y.get(1), INFINITY) << static_cast<int>(activation);
      // -inf times 0, except where there is no product.
      EXPECT_EQ(std::isnan(y.get(2)), activation != Activation::kRelu)
          << static_cast<int>(activation);
    }
  });
}

TEST(Activation, TypesStridesGatesAndLongRows) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 60; ++seed) {
      Random random(seed);
      const std::int64_t width = seed % 5 == 0 ? 5000 : random.pick(1, 200);
      Rows x(random.float_type(), 2, 3, width, random, false, random.pick(1, 2));
      Rows gate(random.float_type(), 2, 3, width, random, true, random.pick(0, 2));
      Rows y(random.float_type(), 2, 3, width, random, false, random.pick(1, 2));
      Activate p;
      p.rows = space(2, 3);
      p.width = width;
      p.input = x.operand;
      p.output = y.operand;
      p.has_gate = random.flip();
      p.gate = gate.operand;
      p.activation = kAll[random.pick(0, 5)];
      ASSERT_EQ(launchers.activation(p), LaunchStatus::kOk);
      for (std::int64_t a = 0; a < 2; ++a) {
        for (std::int64_t b = 0; b < 3; ++b) {
          for (std::int64_t i = 0; i < width; ++i) {
            const double source = p.has_gate ? gate.get(a, b, i) : x.get(a, b, i);
            double wanted = reference(p.activation, source);
            if (p.has_gate) wanted *= x.get(a, b, i);
            ASSERT_NEAR(y.get(a, b, i), wanted, bound(wanted, source, y.operand.type));
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
