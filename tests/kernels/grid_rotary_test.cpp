// Rotation by places in a grid, with padding behind it, against complex products in float64.

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

struct Case {
  std::int64_t samples, positions, heads, pairs, places;
  std::vector<std::int64_t> grids;
  Memory x, y;
  std::vector<double> wide;
  std::vector<float> narrow;
  GridRotary problem;

  explicit Case(Random& random)
      : samples(random.pick(1, 3)),
        positions(random.pick(1, 40)),
        heads(random.pick(1, 4)),
        pairs(random.pick(1, 40)),
        places(random.pick(4, 9)),
        x(random.float_type(), size()),
        y(random.float_type(), size()) {
    fill(x, size(), random);
    for (std::int64_t i = 0; i < 2 * pairs * places; ++i) wide.push_back(random.normal());
    narrow.assign(wide.begin(), wide.end());
    for (std::int64_t s = 0; s < samples; ++s) {
      std::int64_t left = positions;
      for (int d = 0; d < 3; ++d) {
        grids.push_back(random.pick(d == 1 && random.flip() ? 0 : 1, std::min(left, places)));
        left /= std::max<std::int64_t>(grids.back(), 1);
      }
    }
    GridRotary& p = problem;
    p.samples = samples;
    p.positions = positions;
    p.heads = heads;
    p.width = 2 * pairs;
    p.input = x.data();
    p.output = y.data();
    p.input_type = x.type();
    p.output_type = y.type();
    // Either order of positions and heads.
    const bool turned = random.flip();
    for (std::int64_t* strides : {p.input_strides, p.output_strides}) {
      strides[0] = positions * heads * p.width;
      strides[1] = turned ? p.width : heads * p.width;
      strides[2] = turned ? positions * p.width : p.width;
    }
    const bool is_wide = random.flip();
    p.table = is_wide ? static_cast<const void*>(wide.data()) : narrow.data();
    p.table_type = is_wide ? DataType::kFloat64 : DataType::kFloat32;
    p.table_stride = 2 * pairs;
    p.pairs[0] = random.pick(0, pairs);
    p.pairs[1] = random.pick(0, pairs - p.pairs[0]);
    p.grids = grids.data();
  }

  std::int64_t size() const { return samples * positions * heads * 2 * pairs; }
};

// The rounding of the table, of two products and of their sum, beside that of the result.
void check_pair(Case& tested, std::int64_t at, std::int64_t entry) {
  const double a = tested.x.get(at), b = tested.x.get(at + 1);
  const double c = entry < 0 ? 1.0 : tested.wide[static_cast<std::size_t>(entry)];
  const double s = entry < 0 ? 0.0 : tested.wide[static_cast<std::size_t>(entry) + 1];
  const double wanted[2] = {a * c - b * s, a * s + b * c};
  const double sizes[2] = {std::abs(a * c) + std::abs(b * s), std::abs(a * s) + std::abs(b * c)};
  for (int i = 0; i < 2; ++i) {
    ASSERT_NEAR(tested.y.get(at + i), wanted[i],
                0.51 * ulp(wanted[i], tested.y.type()) + 3 * ulp(sizes[i], DataType::kFloat32));
  }
}

void check(const cpu::Launchers& launchers, unsigned seed) {
  Random random(seed);
  Case tested(random);
  const GridRotary& p = tested.problem;
  ASSERT_EQ(launchers.grid_rotary(p), LaunchStatus::kOk);
  for (std::int64_t n = 0; n < p.samples; ++n) {
    const std::int64_t* grid = p.grids + 3 * n;
    for (std::int64_t i = 0; i < p.positions; ++i) {
      for (std::int64_t h = 0; h < p.heads; ++h) {
        for (std::int64_t j = 0; j < tested.pairs; ++j) {
          std::int64_t entry = -1;
          if (i < grid[0] * grid[1] * grid[2]) {
            const std::int64_t frame = i / (grid[1] * grid[2]), column = i % grid[2];
            const std::int64_t row = i / grid[2] % grid[1];
            const std::int64_t place = j < p.pairs[0]                ? frame
                                       : j < p.pairs[0] + p.pairs[1] ? row
                                                                     : column;
            entry = place * p.table_stride + 2 * j;
          }
          check_pair(
              tested,
              n * p.input_strides[0] + i * p.input_strides[1] + h * p.input_strides[2] + 2 * j,
              entry);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(GridRotary, GridsWithPadding) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      check(launchers, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
