// Query and key rotated in one launch, by tables and by matrices, after norms over a head and over
// all heads, against the plain formulas in float64.

#include <deque>

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

constexpr std::int64_t kPositions = 3;

struct Part {
  std::int64_t heads;
  Rows x, y, cos, sin, matrix;
  Memory weight;

  Part(Random& random, std::int64_t count, std::int64_t width, std::int64_t table,
       const DataType types[3])
      : heads(count),
        x(random.float_type(), kPositions, count, width, random),
        y(random.float_type(), kPositions, count, width, random),
        cos(types[0], kPositions, count, table, random, true, random.pick(1, 2)),
        sin(types[1], kPositions, count, table, random, true, random.pick(1, 2)),
        matrix(types[2], kPositions, count, width / 2 * 4, random, true),
        weight(random.float_type(), count * width) {
    fill(weight, count * width, random);
  }
};

// y = norm(x) * weight of one position, and the bound on its error.
std::vector<double> normalized(const Part& part, const RotaryQk& p, int operand, std::int64_t a) {
  const std::int64_t width = p.operands[0].width;
  std::vector<double> values;
  for (std::int64_t h = 0; h < part.heads; ++h) {
    for (std::int64_t i = 0; i < width; ++i) values.push_back(part.x.get(a, h, i));
  }
  if (p.norm == NormSpan::kNone) return values;
  const std::int64_t span = p.norm == NormSpan::kHeads ? part.heads * width : width;
  for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(span)) {
    double squares = 0.0;
    for (std::int64_t i = 0; i < span; ++i) {
      squares += std::pow(values[first + static_cast<std::size_t>(i)], 2);
    }
    const double root =
        1.0 / std::sqrt(squares / static_cast<double>(span) + static_cast<double>(p.eps));
    for (std::int64_t i = 0; i < span; ++i) {
      double& value = values[first + static_cast<std::size_t>(i)];
      value *= root;
      if (p.weight[operand] != nullptr) value *= const_cast<Memory&>(part.weight).get(i);
    }
  }
  return values;
}

void check_part(const Part& part, const RotaryQk& p, int operand) {
  const Rotary& r = p.operands[operand];
  const std::int64_t width = r.width, pairs = width / 2;
  for (std::int64_t a = 0; a < kPositions; ++a) {
    const std::vector<double> values = normalized(part, p, operand, a);
    for (std::int64_t h = 0; h < part.heads; ++h) {
      const auto value = [&](std::int64_t i) {
        return values[static_cast<std::size_t>(h * width + i)];
      };
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t pair = r.interleaved ? i / 2 : i % pairs;
        const bool first = r.interleaved ? i % 2 == 0 : i < pairs;
        const std::int64_t other = r.interleaved ? i ^ 1 : (i + pairs) % width;
        double own, cross;
        if (r.has_matrix) {
          own = part.matrix.get(a, h, 4 * pair + (first ? 0 : 3)) * value(i);
          cross = part.matrix.get(a, h, 4 * pair + (first ? 1 : 2)) * value(other);
        } else {
          const std::int64_t entry = r.half_width_tables ? pair : i;
          own = part.cos.get(a, h, entry) * value(i);
          cross = (first ? -1 : 1) * part.sin.get(a, h, entry) * value(other);
        }
        const double wanted = own + cross;
        ASSERT_NEAR(part.y.get(a, h, i), wanted,
                    0.51 * ulp(wanted, part.y.operand.type) +
                        6 * ulp(std::abs(own) + std::abs(cross), DataType::kFloat32))
            << "operand " << operand << " column " << i;
      }
    }
  }
}

void check(const cpu::Launchers& launchers, unsigned seed) {
  Random random(seed);
  const std::int64_t width = 2 * random.pick(1, 40);
  const bool half_width = random.flip();
  const DataType types[3] = {random.float_type(), random.float_type(), random.float_type()};
  RotaryQk p;
  p.count = random.pick(0, 3) == 0 ? 1 : 2;
  p.norm = static_cast<NormSpan>(random.pick(0, 2));
  p.eps = 1e-5F;
  const bool interleaved = random.flip(), matrices = random.flip();
  std::deque<Part> parts;
  for (int k = 0; k < p.count; ++k) {
    Part& part =
        parts.emplace_back(random, random.pick(1, 4), width, half_width ? width / 2 : width, types);
    Rotary& r = p.operands[k];
    r.rows = space(kPositions, part.heads);
    r.width = width;
    r.input = part.x.operand;
    r.output = part.y.operand;
    r.cos = part.cos.operand;
    r.sin = part.sin.operand;
    r.matrix = part.matrix.operand;
    r.matrix.step = 4;
    r.has_matrix = matrices;
    r.interleaved = interleaved;
    r.half_width_tables = half_width;
    if (random.flip()) {
      p.weight[k] = part.weight.data();
      p.weight_type[k] = part.weight.type();
    }
  }
  ASSERT_EQ(launchers.rotary(p), LaunchStatus::kOk);
  for (int k = 0; k < p.count; ++k) check_part(parts[static_cast<std::size_t>(k)], p, k);
}

TEST(RotaryQk, TablesMatricesAndNorms) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 250; ++seed) {
      SCOPED_TRACE(seed);
      check(launchers, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(RotaryQk, MayWriteOverItsInputAfterANormOverAllHeads) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(5);
    const DataType types[3] = {DataType::kFloat32, DataType::kFloat32, DataType::kFloat32};
    Part part(random, 3, 16, 16, types);
    RotaryQk p;
    p.norm = NormSpan::kHeads;
    Rotary& r = p.operands[0];
    r.rows = space(kPositions, 3);
    r.width = 16;
    r.cos = part.cos.operand;
    r.sin = part.sin.operand;
    r.input = r.output = part.x.operand;
    Rows copy(part.x.operand.type, kPositions, 3, 16, random);
    for (std::int64_t a = 0; a < kPositions; ++a) {
      for (std::int64_t h = 0; h < 3; ++h) {
        for (std::int64_t i = 0; i < 16; ++i) {
          copy.memory->set(copy.index(a, h, i), part.x.get(a, h, i));
        }
      }
    }
    Rows apart(part.x.operand.type, kPositions, 3, 16, random);
    RotaryQk other = p;
    other.operands[0].input = copy.operand;
    other.operands[0].output = apart.operand;
    ASSERT_EQ(launchers.rotary(p), LaunchStatus::kOk);
    ASSERT_EQ(launchers.rotary(other), LaunchStatus::kOk);
    for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(part.x.get(2, 1, i), apart.get(2, 1, i));
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
