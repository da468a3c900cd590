// LayerNorm and RMSNorm with residual, scale and shift against the plain formulas in float64.

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

constexpr std::int64_t kOuter = 3, kInner = 4;

// Operands with random types, strides and broadcasts for one random choice of what is present.
struct Case {
  Random random;
  std::int64_t width;
  Rows x, y, branch, gate, sum, scale, shift;
  Memory weight, bias, branch_weight;
  FusedNorm p;

  Case(unsigned seed, std::int64_t columns)
      : random(seed),
        width(columns),
        x(rows(false)),
        y(rows(false)),
        branch(rows(false)),
        gate(rows(true)),
        sum(rows(false)),
        scale(rows(true)),
        shift(rows(true)),
        weight(random.float_type(), columns),
        bias(random.float_type(), columns),
        branch_weight(random.float_type(), columns) {
    fill(weight, width, random);
    fill(bias, width, random);
    fill(branch_weight, width, random);
    p.rows = space(kOuter, kInner);
    p.width = width;
    p.kind = random.flip() ? NormKind::kLayer : NormKind::kRms;
    p.input = x.operand;
    p.output = y.operand;
    p.eps = 1e-5F;
    p.has_branch = random.flip();
    p.branch = branch.operand;
    p.has_gate = p.has_branch && random.flip();
    p.gate = gate.operand;
    p.has_sum = p.has_branch && random.flip();
    p.sum = sum.operand;
    p.has_scale = random.flip();
    p.scale = scale.operand;
    p.has_shift = random.flip();
    p.shift = shift.operand;
    if (random.flip()) {
      p.weight = weight.data();
      p.weight_type = weight.type();
    }
    if (random.flip()) {
      p.bias = bias.data();
      p.bias_type = bias.type();
    }
    p.gate_tanh = p.has_gate && random.flip();
    p.branch_norm = p.has_branch && random.flip();
    p.branch_eps = 1e-3F;
    if (p.branch_norm && random.flip()) {
      p.branch_weight = branch_weight.data();
      p.branch_weight_type = branch_weight.type();
    }
    if (p.has_sum && random.pick(0, 3) == 0) p.output.data = nullptr;
  }

  Rows rows(bool broadcast) {
    const std::int64_t step = broadcast ? random.pick(0, 2) : random.pick(1, 2);
    return {random.float_type(), kOuter, kInner, width, random, broadcast, step};
  }

  double branch_factor(std::int64_t a, std::int64_t b) const {
    if (!p.branch_norm) return 1.0;
    double squares = 0.0;
    for (std::int64_t i = 0; i < width; ++i) squares += std::pow(branch.get(a, b, i), 2);
    const auto eps = static_cast<double>(p.branch_eps);
    return 1.0 / std::sqrt(squares / static_cast<double>(width) + eps);
  }

  // The sum before the norm, and the magnitude of its terms.
  double term(std::int64_t a, std::int64_t b, std::int64_t i, double factor, double* size) {
    const double first = x.get(a, b, i);
    double added = p.has_branch ? branch.get(a, b, i) * factor : 0.0;
    if (p.branch_weight != nullptr) added *= branch_weight.get(i);
    if (p.has_gate) added *= p.gate_tanh ? std::tanh(gate.get(a, b, i)) : gate.get(a, b, i);
    *size = std::abs(first) + std::abs(added);
    return first + added;
  }

  void check_row(std::int64_t a, std::int64_t b) {
    std::vector<double> s(static_cast<std::size_t>(width));
    double total = 0.0, largest = 0.0;
    const double factor = branch_factor(a, b);
    // What the branch's own norm and a tanh round beside the sum itself.
    const int steps = 1 + (p.branch_norm ? 2 : 0) + (p.gate_tanh ? 3 : 0);
    for (std::int64_t i = 0; i < width; ++i) {
      double size = 0.0;
      s[static_cast<std::size_t>(i)] = term(a, b, i, factor, &size);
      total += s[static_cast<std::size_t>(i)];
      largest = std::max(largest, size);
      if (p.has_sum) {
        const double wanted = s[static_cast<std::size_t>(i)];
        ASSERT_NEAR(sum.get(a, b, i), wanted,
                    0.51 * ulp(wanted, sum.operand.type) + steps * ulp(size, DataType::kFloat32));
      }
    }
    if (p.output.data == nullptr) return;
    const double mean = p.kind == NormKind::kLayer ? total / static_cast<double>(width) : 0.0;
    double squares = 0.0;
    for (double& value : s) {
      value -= mean;
      squares += value * value;
    }
    const double root =
        1.0 / std::sqrt(squares / static_cast<double>(width) + static_cast<double>(p.eps));
    for (std::int64_t i = 0; i < width; ++i) {
      const double w = p.weight != nullptr ? weight.get(i) : 1.0;
      const double c = p.bias != nullptr ? bias.get(i) : 0.0;
      const double g = p.has_scale ? 1.0 + scale.get(a, b, i) : 1.0;
      const double h = p.has_shift ? shift.get(a, b, i) : 0.0;
      const double normal = s[static_cast<std::size_t>(i)] * root;
      const double wanted = (normal * w + c) * g + h;
      // What rounding takes before the norm is magnified by it, and everything later rounds in
      // float32 at the size of its terms.
      const double terms = (std::abs(normal * w) + std::abs(c)) * (1.0 + std::abs(g)) + std::abs(h);
      const double bound = 0.51 * ulp(wanted, y.operand.type) +
                           (3 + steps) * ulp(largest, DataType::kFloat32) * root * std::abs(w * g) +
                           6 * ulp(terms, DataType::kFloat32);
      ASSERT_NEAR(y.get(a, b, i), wanted, bound) << "width " << width << " column " << i;
    }
  }
};

TEST(FusedNorm, TypesStridesBroadcastsAndAbsentOperands) {
  for_each_isa([](const cpu::Launchers& launchers) {
    unsigned seed = 0;
    for (const std::int64_t width : {2, 3, 8, 17, 64, 72, 129, 1000}) {
      for (int i = 0; i < 24; ++i) {
        Case c(++seed, width);
        SCOPED_TRACE(seed);
        ASSERT_EQ(launchers.fused_norm(c.p), LaunchStatus::kOk);
        for (std::int64_t a = 0; a < kOuter; ++a) {
          for (std::int64_t b = 0; b < kInner; ++b) c.check_row(a, b);
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

// The first values of a row are far from the others, or all are the same.
TEST(FusedNorm, LayerNormOfRowsWhoseBeginningMisleads) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(2);
    for (const std::int64_t width : {40, 500, 3072}) {
      for (const double first : {3000.0, -3000.0, 1.1}) {
        Rows x(DataType::kFloat32, 1, 1, width, random), y(DataType::kFloat32, 1, 1, width, random);
        double total = 0.0, squares = 0.0;
        for (std::int64_t i = 0; i < width; ++i) {
          const bool constant = first == 1.1;
          x.memory->set(i, constant || i < 32 ? first : 7.0 + random.normal());
          total += x.get(0, 0, i);
        }
        const double mean = total / static_cast<double>(width);
        for (std::int64_t i = 0; i < width; ++i) squares += std::pow(x.get(0, 0, i) - mean, 2);
        FusedNorm p;
        p.rows = space(1, 1);
        p.width = width;
        p.input = x.operand;
        p.output = y.operand;
        p.eps = 1e-5F;
        ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
        const double root = 1.0 / std::sqrt(squares / static_cast<double>(width) + 1e-5);
        for (std::int64_t i = 0; i < width; ++i) {
          const double wanted = (x.get(0, 0, i) - mean) * root;
          ASSERT_NEAR(
              y.get(0, 0, i), wanted,
              2 * ulp(wanted, DataType::kFloat32) + ulp(std::abs(first), DataType::kFloat32) * root)
              << "width " << width << " column " << i;
        }
      }
    }
  });
}

TEST(FusedNorm, LayerNormKeepsItsDigitsFarFromZero) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(1);
    const std::int64_t width = 500;
    Rows x(DataType::kFloat32, 1, 1, width, random), y(DataType::kFloat32, 1, 1, width, random);
    for (std::int64_t i = 0; i < width; ++i) x.memory->set(i, 4096.0 + random.normal());
    FusedNorm p;
    p.rows = space(1, 1);
    p.width = width;
    p.input = x.operand;
    p.output = y.operand;
    ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
    double mean = 0.0, variance = 0.0;
    for (std::int64_t i = 0; i < width; ++i) mean += x.get(0, 0, i) / width;
    for (std::int64_t i = 0; i < width; ++i) variance += std::pow(x.get(0, 0, i) - mean, 2) / width;
    for (std::int64_t i = 0; i < width; ++i) {
      EXPECT_NEAR(y.get(0, 0, i), (x.get(0, 0, i) - mean) / std::sqrt(variance), 1e-6);
    }
  });
}

TEST(FusedNorm, SumMayBeTheInputAndOutputTheBranch) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(2);
    Rows x(DataType::kFloat32, 2, 3, 40, random), b(DataType::kFloat32, 2, 3, 40, random);
    Rows sum(DataType::kFloat32, 2, 3, 40, random), y(DataType::kFloat32, 2, 3, 40, random);
    FusedNorm p;
    p.rows = space(2, 3);
    p.width = 40;
    p.input = x.operand;
    p.has_branch = p.has_sum = true;
    p.branch = b.operand;
    p.sum = sum.operand;
    p.output = y.operand;
    ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
    p.sum = x.operand;
    p.output = b.operand;
    ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
    for (std::int64_t i = 0; i < 40; ++i) {
      EXPECT_EQ(x.get(1, 2, i), sum.get(1, 2, i));
      EXPECT_EQ(b.get(1, 2, i), y.get(1, 2, i));
    }
  });
}

TEST(FusedNorm, NanStaysInItsRow) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
      Random random(3);
      Rows x(DataType::kFloat32, 2, 2, 40, random), y(DataType::kFloat32, 2, 2, 40, random);
      x.memory->set(x.index(1, 0, 7), NAN);
      x.memory->set(x.index(0, 1, 7), INFINITY);
      FusedNorm p;
      p.rows = space(2, 2);
      p.width = 40;
      p.kind = kind;
      p.input = x.operand;
      p.output = y.operand;
      ASSERT_EQ(launchers.fused_norm(p), LaunchStatus::kOk);
      EXPECT_TRUE(std::isnan(y.get(1, 0, 0)));
      EXPECT_TRUE(std::isfinite(y.get(0, 0, 0)) && std::isfinite(y.get(1, 1, 0)));
      // torch: an infinite mean makes NaN of everything, a root mean square divides by infinity.
      EXPECT_EQ(std::isnan(y.get(0, 1, 0)), kind == NormKind::kLayer);
      EXPECT_TRUE(std::isnan(y.get(0, 1, 7)));
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
