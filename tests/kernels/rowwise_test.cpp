// Rotary embedding, RMSNorm and softmax kernels against the plain formulas in float64.

#include <algorithm>
#include <memory>

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

// A rotation of one operand without a norm.
RotaryQk alone(const Rotary& rotation) {
  RotaryQk problem;
  problem.operands[0] = rotation;
  return problem;
}

const std::int64_t kWidths[] = {1, 2, 3, 8, 15, 17, 64, 72, 129, 1000};

TEST(RmsNorm, TypesWidthsAndStrides) {
  for_each_isa([](const cpu::Launchers& launchers) {
    unsigned seed = 0;
    for (const std::int64_t width : kWidths) {
      for (const DataType in : kFloatTypes) {
        for (const DataType out : kFloatTypes) {
          Random random(++seed);
          Rows x(in, 3, 5, width, random, false, random.pick(1, 2));
          Rows y(out, 3, 5, width, random);
          const DataType weight_type = random.float_type();
          Memory weight(weight_type, width), bias(random.float_type(), width);
          fill(weight, width, random);
          fill(bias, width, random);
          RmsNorm p;
          p.rows = space(3, 5);
          p.width = width;
          p.input = x.operand;
          p.output = y.operand;
          p.eps = 1e-5F;
          if (random.flip()) {
            p.weight = weight.data();
            p.weight_type = weight_type;
          }
          if (random.flip()) {
            p.bias = bias.data();
            p.bias_type = bias.type();
          }
          p.normalized = random.float_type();
          p.product = random.float_type();
          ASSERT_EQ(launchers.rms_norm(p), LaunchStatus::kOk);
          for (std::int64_t a = 0; a < 3; ++a) {
            for (std::int64_t b = 0; b < 5; ++b) {
              double squares = 0.0;
              for (std::int64_t i = 0; i < width; ++i) squares += std::pow(x.get(a, b, i), 2);
              const double factor = 1.0 / std::sqrt(squares / static_cast<double>(width) +
                                                    static_cast<double>(p.eps));
              for (std::int64_t i = 0; i < width; ++i) {
                const double normal = x.get(a, b, i) * factor;
                const double w = p.weight != nullptr ? weight.get(i) : 1.0;
                const double product = normal * w;
                const double wanted = product + (p.bias != nullptr ? bias.get(i) : 0.0);
                // One rounding for each step that rounds, and float32 arithmetic.
                double bound = 0.51 * ulp(wanted, out) + 4 * ulp(product, DataType::kFloat32) +
                               2 * ulp(wanted, DataType::kFloat32);
                if (p.normalized != DataType::kFloat32) {
                  bound += 0.51 * ulp(normal, p.normalized) * std::abs(w);
                }
                if (p.bias != nullptr && p.product != DataType::kFloat32) {
                  bound += 0.51 * ulp(product, p.product);
                }
                ASSERT_NEAR(y.get(a, b, i), wanted, bound)
                    << "width " << width << " " << name_of(in) << " to " << name_of(out);
              }
            }
          }
        }
      }
    }
  });
}

TEST(RmsNorm, RoundsBetweenTheStepsWhereAsked) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(3);
    const std::int64_t width = 64;
    Rows x(DataType::kBFloat16, 4, 4, width, random), y(DataType::kFloat32, 4, 4, width, random);
    Memory weight(DataType::kFloat32, width);
    fill(weight, width, random);
    RmsNorm p;
    p.rows = space(4, 4);
    p.width = width;
    p.input = x.operand;
    p.output = y.operand;
    p.weight = weight.data();
    p.eps = 1e-6F;
    p.normalized = DataType::kBFloat16;
    ASSERT_EQ(launchers.rms_norm(p), LaunchStatus::kOk);
    for (std::int64_t i = 0; i < width; ++i) {
      const double normal = y.get(1, 2, i) / weight.get(i);
      EXPECT_NEAR(normal, rounded(normal, DataType::kBFloat16), 1e-6 * std::abs(normal));
    }
  });
}

TEST(RmsNorm, NanStaysInItsRow) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(4);
    Rows x(DataType::kFloat32, 2, 2, 40, random), y(DataType::kFloat32, 2, 2, 40, random);
    x.memory->set(x.index(1, 0, 7), NAN);
    x.memory->set(x.index(0, 1, 7), INFINITY);
    RmsNorm p;
    p.rows = space(2, 2);
    p.width = 40;
    p.input = x.operand;
    p.output = y.operand;
    ASSERT_EQ(launchers.rms_norm(p), LaunchStatus::kOk);
    EXPECT_TRUE(std::isnan(y.get(1, 0, 0)));
    EXPECT_TRUE(std::isfinite(y.get(0, 0, 0)) && std::isfinite(y.get(1, 1, 0)));
    EXPECT_EQ(y.get(0, 1, 0), 0.0);           // finite / infinite
    EXPECT_TRUE(std::isnan(y.get(0, 1, 7)));  // infinite / infinite
  });
}

void check_rotary(const cpu::Launchers& launchers, Random& random) {
  const std::int64_t pairs = random.pick(1, 70);
  const std::int64_t width = 2 * pairs;
  const bool half_width = random.flip(), interleaved = random.flip();
  const std::int64_t table = half_width ? pairs : width;
  Rows x(random.float_type(), 3, 7, width, random);
  Rows y(random.float_type(), 3, 7, width, random);
  // A step of two is a complex table read as real.
  Rows cos(random.float_type(), 3, 7, table, random, true, random.pick(1, 2));
  Rows sin(random.float_type(), 3, 7, table, random, true, random.pick(1, 2));
  Rotary p;
  p.rows = space(3, 7);
  p.width = width;
  p.input = x.operand;
  p.output = y.operand;
  p.cos = cos.operand;
  p.sin = sin.operand;
  p.interleaved = interleaved;
  p.half_width_tables = half_width;
  ASSERT_EQ(launchers.rotary(alone(p)), LaunchStatus::kOk);
  for (std::int64_t a = 0; a < 3; ++a) {
    for (std::int64_t b = 0; b < 7; ++b) {
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t pair = interleaved ? i / 2 : i % pairs;
        const bool first = interleaved ? i % 2 == 0 : i < pairs;
        const std::int64_t other = interleaved ? i ^ 1 : (i + pairs) % width;
        const std::int64_t t = half_width ? pair : i;
        const double direct = x.get(a, b, i) * cos.get(a, b, t);
        const double turned = (first ? -1.0 : 1.0) * x.get(a, b, other) * sin.get(a, b, t);
        const double wanted = direct + turned;
        const double bound =
            0.51 * ulp(wanted, y.operand.type) + 2e-7 * (std::abs(direct) + std::abs(turned));
        ASSERT_NEAR(y.get(a, b, i), wanted, bound)
            << "width " << width << (interleaved ? " interleaved" : " half") << " column " << i;
      }
    }
  }
}

TEST(Rotary, FormsTypesAndBroadcasts) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      ASSERT_NO_FATAL_FAILURE(check_rotary(launchers, random));
    }
  });
}

TEST(Rotary, MayWriteOverItsInput) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : kFloatTypes) {
      for (const bool interleaved : {false, true}) {
        Random random(11);
        Rows x(type, 2, 3, 48, random), y(type, 2, 3, 48, random);
        Rows cos(DataType::kFloat32, 2, 3, 48, random), sin(DataType::kFloat32, 2, 3, 48, random);
        Rotary p;
        p.rows = space(2, 3);
        p.width = 48;
        p.input = x.operand;
        p.output = y.operand;
        p.cos = cos.operand;
        p.sin = sin.operand;
        p.interleaved = interleaved;
        ASSERT_EQ(launchers.rotary(alone(p)), LaunchStatus::kOk);
        p.output = x.operand;
        ASSERT_EQ(launchers.rotary(alone(p)), LaunchStatus::kOk);
        for (std::int64_t i = 0; i < 48; ++i) EXPECT_EQ(x.get(1, 2, i), y.get(1, 2, i));
      }
    }
  });
}

double guarded(const Softmax& p, double value, double largest, double global, double mask) {
  if (p.subtract == Subtract::kRow) value -= largest;
  if (p.subtract == Subtract::kGlobal) value -= global;
  if (p.has_clamp_min) value = std::max(value, static_cast<double>(p.clamp_min));
  if (p.has_clamp_max) value = std::min(value, static_cast<double>(p.clamp_max));
  if (p.has_mask && p.mask.type == DataType::kBool) return mask != 0.0 ? value : p.mask_value;
  return p.has_mask ? value + mask : value;
}

void check_softmax(const cpu::Launchers& launchers, Random& random) {
  const std::int64_t width = random.pick(1, 300);
  Rows x(random.float_type(), 3, 5, width, random, false, random.pick(1, 2));
  Rows y(random.float_type(), 3, 5, width, random, false, random.pick(1, 2));
  const bool boolean = random.flip();
  Rows mask(boolean ? DataType::kBool : random.float_type(), 3, 5, width, random, true);
  if (boolean) {
    for (std::int64_t a = 0; a < 3; ++a) {
      for (std::int64_t b = 0; b < 5; ++b) {
        for (std::int64_t i = 0; i < width; ++i) {
          mask.memory->set(mask.index(a, b, i), i % 3 == 0 ? 0.0 : 1.0);
        }
      }
    }
  }
  Softmax p;
  p.rows = space(3, 5);
  p.width = width;
  p.input = x.operand;
  p.output = y.operand;
  p.has_mask = random.flip();
  p.mask = mask.operand;
  p.mask_value = -3.0F;
  p.subtract = static_cast<Subtract>(random.pick(0, 2));
  p.has_clamp_min = random.flip();
  p.clamp_min = -1.5F;
  p.has_clamp_max = random.flip();
  p.clamp_max = 0.5F;
  p.scale = random.flip() ? 1.0F : static_cast<float>(random.normal());
  p.has_bias = random.flip();
  Rows bias(random.float_type(), 3, 5, width, random, true, random.pick(0, 2));
  p.bias = bias.operand;
  ASSERT_EQ(launchers.softmax(p), LaunchStatus::kOk);
  const auto value = [&](std::int64_t a, std::int64_t b, std::int64_t i) {
    const double scaled = x.get(a, b, i) * static_cast<double>(p.scale);
    return p.has_bias ? scaled + bias.get(a, b, i) : scaled;
  };
  double global = -INFINITY;
  for (std::int64_t a = 0; a < 3; ++a) {
    for (std::int64_t b = 0; b < 5; ++b) {
      for (std::int64_t i = 0; i < width; ++i) global = std::max(global, value(a, b, i));
    }
  }
  for (std::int64_t a = 0; a < 3; ++a) {
    for (std::int64_t b = 0; b < 5; ++b) {
      double largest = -INFINITY, total = 0.0;
      for (std::int64_t i = 0; i < width; ++i) largest = std::max(largest, value(a, b, i));
      for (std::int64_t i = 0; i < width; ++i) {
        total += std::exp(guarded(p, value(a, b, i), largest, global, mask.get(a, b, i)));
      }
      for (std::int64_t i = 0; i < width; ++i) {
        const double score = guarded(p, value(a, b, i), largest, global, mask.get(a, b, i));
        const double wanted = std::exp(score) / total;
        ASSERT_NEAR(y.get(a, b, i), wanted, 0.51 * ulp(wanted, y.operand.type) + 3e-6 * wanted)
            << "width " << width << " column " << i;
      }
    }
  }
}

TEST(Softmax, GuardsTypesAndStrides) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 200; ++seed) {
      SCOPED_TRACE(seed);
      Random random(seed);
      ASSERT_NO_FATAL_FAILURE(check_softmax(launchers, random));
    }
  });
}

TEST(Softmax, RowWithoutFiniteValueIsNan) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(12);
    Rows x(DataType::kFloat32, 2, 2, 20, random), y(DataType::kFloat32, 2, 2, 20, random);
    for (std::int64_t i = 0; i < 20; ++i) x.memory->set(x.index(1, 1, i), -INFINITY);
    x.memory->set(x.index(0, 1, 4), NAN);
    Softmax p;
    p.rows = space(2, 2);
    p.width = 20;
    p.input = x.operand;
    p.output = y.operand;
    ASSERT_EQ(launchers.softmax(p), LaunchStatus::kOk);
    EXPECT_TRUE(std::isnan(y.get(1, 1, 0)) && std::isnan(y.get(0, 1, 0)));
    EXPECT_TRUE(std::isfinite(y.get(0, 0, 0)) && std::isfinite(y.get(1, 0, 0)));
  });
}

// The conversions of every float16 and bfloat16 value, and of what lies between neighbours.
TEST(Conversion, EveryHalfPrecisionValueAndTies) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : {DataType::kFloat16, DataType::kBFloat16}) {
      SCOPED_TRACE(name_of(type));
      // A rotation by the angle 0 converts and does nothing else.
      std::vector<double> values;
      for (unsigned bits = 0; bits < 0x7c00; bits += type == DataType::kFloat16 ? 1 : 7) {
        const std::uint16_t half[2] = {static_cast<std::uint16_t>(bits), 0};
        const double value = load(half, 0, type);
        const double next = value + ulp(value, type);
        values.insert(values.end(),
                      {value, -value, value + (next - value) / 2, value + (next - value) * 0.75});
      }
      values.insert(values.end(), {INFINITY, -INFINITY, 65519.9, 65520.0, 3.3e38, 1e-45});
      values.resize(values.size() / 2 * 2);
      const auto width = static_cast<std::int64_t>(values.size());
      Memory in(DataType::kFloat32, width), half(type, width), back(DataType::kFloat32, width);
      Memory cos(DataType::kFloat32, width), sin(DataType::kFloat32, width);
      for (std::int64_t i = 0; i < width; ++i) {
        in.set(i, values[static_cast<std::size_t>(i)]);
        cos.set(i, 1.0);
        sin.set(i, 0.0);
      }
      const auto step = [&](Memory& from, Memory& to) {
        Rotary r;
        r.rows = space(1, width / 2);
        r.width = 2;
        r.half_width_tables = true;
        for (auto [operand, memory] : {std::pair{&r.input, &from}, std::pair{&r.output, &to}}) {
          operand->data = memory->data();
          operand->type = memory->type();
          operand->strides[1] = 2;
        }
        r.cos.data = cos.data();
        r.sin.data = sin.data();
        ASSERT_EQ(launchers.rotary(alone(r)), LaunchStatus::kOk);
      };
      step(in, half);
      step(half, back);
      for (std::int64_t i = 0; i < width; ++i) {
        // Times sin = 0, an infinite neighbour makes a NaN; pairs are (value, -value).
        if (std::isinf(in.get(i)) || std::isinf(in.get(i ^ 1))) continue;
        if (std::isinf(rounded(in.get(i ^ 1), type))) continue;
        EXPECT_EQ(half.get(i), rounded(in.get(i), type)) << in.get(i);
        EXPECT_EQ(back.get(i), half.get(i));
      }
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
