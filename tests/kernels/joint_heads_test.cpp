// Heads that are copied, normalised in either way with weight and bias, and rotated or not, against
// the plain formulas in float64.

#include <deque>

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

constexpr std::int64_t kPositions = 3;

struct Case {
  std::int64_t heads, width;
  Rows x, y, cos, sin;
  Memory weight, bias;

  Case(Random& random, std::int64_t count, std::int64_t size)
      : heads(count),
        width(size),
        x(random.float_type(), kPositions, count, size, random),
        y(random.float_type(), kPositions, count, size, random),
        cos(random.float_type(), kPositions, count, size, random, true),
        sin(random.float_type(), kPositions, count, size, random, true),
        weight(random.float_type(), count * size),
        bias(random.float_type(), count * size) {
    fill(weight, count * size, random);
    fill(bias, count * size, random);
  }
};

// The normalised values of one position, and what their rounding is relative to.
std::vector<double> normalized(const Case& part, const Stretch& p, std::int64_t a) {
  std::vector<double> values;
  for (std::int64_t h = 0; h < part.heads; ++h) {
    for (std::int64_t i = 0; i < part.width; ++i) values.push_back(part.x.get(a, h, i));
  }
  if (p.norm == NormSpan::kNone) return values;
  const auto span =
      static_cast<std::size_t>(p.norm == NormSpan::kHeads ? part.heads * part.width : part.width);
  for (std::size_t first = 0; first < values.size(); first += span) {
    double mean = 0.0, squares = 0.0;
    for (std::size_t i = first; i < first + span; ++i) mean += values[i];
    mean = p.kind == NormKind::kLayer ? mean / static_cast<double>(span) : 0.0;
    for (std::size_t i = first; i < first + span; ++i) squares += std::pow(values[i] - mean, 2);
    const double root =
        1.0 / std::sqrt(squares / static_cast<double>(span) + static_cast<double>(p.eps));
    for (std::size_t i = first; i < first + span; ++i) {
      const auto at = static_cast<std::int64_t>(i - first);
      values[i] = (values[i] - mean) * root;
      if (p.weight != nullptr) values[i] *= const_cast<Memory&>(part.weight).get(at);
      if (p.bias != nullptr) values[i] += const_cast<Memory&>(part.bias).get(at);
    }
  }
  return values;
}

void check_part(const Case& part, const Stretch& p) {
  const std::int64_t width = part.width, half = width / 2;
  for (std::int64_t a = 0; a < kPositions; ++a) {
    const std::vector<double> values = normalized(part, p, a);
    for (std::int64_t h = 0; h < part.heads; ++h) {
      for (std::int64_t i = 0; i < width; ++i) {
        const auto value = [&](std::int64_t j) {
          return values[static_cast<std::size_t>(h * width + j)];
        };
        double wanted = value(i), size = std::abs(wanted);
        if (p.rotates) {
          const std::int64_t other = (i + half) % width;
          const double own = part.cos.get(a, h, i) * value(i);
          const double cross = (i < half ? -1 : 1) * part.sin.get(a, h, i) * value(other);
          wanted = own + cross;
          size = std::abs(own) + std::abs(cross);
        }
        // The mean and the bias may cancel what was rounded.
        const double slack = p.norm == NormSpan::kNone ? 0.0 : 2e-6 * (4.0 + size);
        ASSERT_NEAR(
            part.y.get(a, h, i), wanted,
            0.51 * ulp(wanted, part.y.operand.type) + 6 * ulp(size, DataType::kFloat32) + slack)
            << "column " << i;
      }
    }
  }
}

void check(const cpu::Launchers& launchers, unsigned seed) {
  Random random(seed);
  JointHeads problem;
  problem.count = 6;
  std::deque<Case> parts;
  for (int k = 0; k < problem.count; ++k) {
    Stretch& p = problem.stretches[k];
    p.rotates = random.flip();
    // A LayerNorm of one value or two is all about its eps.
    const std::int64_t width = p.rotates ? 2 * random.pick(3, 40) : random.pick(5, 80);
    Case& part = parts.emplace_back(random, random.pick(1, 4), width);
    Rotary& r = p.rotary;
    r.rows = space(kPositions, part.heads);
    r.width = width;
    r.input = part.x.operand;
    r.output = part.y.operand;
    if (p.rotates) {
      r.cos = part.cos.operand;
      r.sin = part.sin.operand;
    }
    p.norm = static_cast<NormSpan>(random.pick(0, 2));
    p.kind = random.flip() ? NormKind::kLayer : NormKind::kRms;
    p.eps = 1e-3F;
    if (random.flip()) {
      p.weight = part.weight.data();
      p.weight_type = part.weight.type();
    }
    if (random.flip()) {
      p.bias = part.bias.data();
      p.bias_type = part.bias.type();
    }
  }
  ASSERT_EQ(launchers.joint_heads(problem), LaunchStatus::kOk);
  for (int k = 0; k < problem.count; ++k) {
    SCOPED_TRACE(k);
    check_part(parts[static_cast<std::size_t>(k)], problem.stretches[k]);
  }
}

TEST(JointHeads, NormsRotationsAndCopies) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 120; ++seed) {
      SCOPED_TRACE(seed);
      check(launchers, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(JointHeads, RowsWhoseSquaresDoNotFitFloat32) {
  for_each_isa([](const cpu::Launchers& launchers) {
    const std::vector<float> x = {3e30F, 1e30F, -1e30F, -3e30F};
    for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
      std::vector<float> y(4);
      JointHeads problem;
      problem.count = 1;
      Stretch& p = problem.stretches[0];
      p.rotary.rows = space(1, 1);
      p.rotary.width = 4;
      p.rotary.input.data = const_cast<float*>(x.data());
      p.rotary.output.data = y.data();
      p.norm = NormSpan::kRow;
      p.kind = kind;
      p.eps = 1e-6F;
      ASSERT_EQ(launchers.joint_heads(problem), LaunchStatus::kOk);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(y[i], static_cast<double>(x[i]) / (std::sqrt(5.0) * 1e30), 1e-6);
      }
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
