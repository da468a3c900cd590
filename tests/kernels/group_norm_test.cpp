// GroupNorm with and without SiLU over planes, channels last and any other strides, against the
// formula in float64.

#include "support.h"

namespace mindiesd::kernels::test {
namespace {

struct Sizes {
  std::int64_t samples, groups, channels, positions;

  std::int64_t all_channels() const { return groups * channels; }
};

// Strides of [sample, channel, position] for the dimensions in a random order, with gaps; or dense
// planes, or channels last. Gives how many elements they span.
std::int64_t lay_out(const Sizes& sizes, Random& random, std::int64_t (&strides)[3]) {
  const std::int64_t extents[3] = {sizes.samples, sizes.all_channels(), sizes.positions};
  int order[3] = {0, 1, 2};
  const std::int64_t form = random.pick(0, 2);
  if (form == 1) std::swap(order[1], order[2]);
  if (form == 2)
    std::shuffle(order, order + 3, std::mt19937(static_cast<unsigned>(random.pick(0, 99))));
  std::int64_t stride = form == 2 ? random.pick(1, 2) : 1;
  for (int i = 2; i >= 0; --i) {
    strides[order[i]] = stride;
    stride = stride * extents[order[i]] + (form == 2 ? random.pick(0, 3) : 0);
  }
  return stride;
}

struct Case {
  Sizes sizes;
  GroupNorm problem;
  std::unique_ptr<Memory> x, y;
  Memory weight, bias;

  Case(const Sizes& of, Random& random, double mean)
      : sizes(of),
        weight(random.float_type(), of.all_channels()),
        bias(random.float_type(), of.all_channels()) {
    problem.samples = of.samples;
    problem.groups = of.groups;
    problem.channels = of.channels;
    problem.positions = of.positions;
    problem.eps = 1e-4F;
    problem.silu = random.flip();
    const std::int64_t reach = lay_out(of, random, problem.input_strides);
    x = std::make_unique<Memory>(random.float_type(), reach);
    for (std::int64_t i = 0; i < reach; ++i) x->set(i, random.normal() + mean);
    y = std::make_unique<Memory>(random.float_type(), lay_out(of, random, problem.output_strides));
    problem.input = x->data();
    problem.input_type = x->type();
    problem.output = y->data();
    problem.output_type = y->type();
    fill(weight, of.all_channels(), random);
    fill(bias, of.all_channels(), random);
    if (random.flip()) {
      problem.weight = weight.data();
      problem.weight_type = weight.type();
    }
    if (random.flip()) {
      problem.bias = bias.data();
      problem.bias_type = bias.type();
    }
  }

  static std::int64_t place(const std::int64_t (&strides)[3], std::int64_t n, std::int64_t c,
                            std::int64_t s) {
    return n * strides[0] + c * strides[1] + s * strides[2];
  }
  double input(std::int64_t n, std::int64_t c, std::int64_t s) const {
    return x->get(place(problem.input_strides, n, c, s));
  }
  double output(std::int64_t n, std::int64_t c, std::int64_t s) const {
    return y->get(place(problem.output_strides, n, c, s));
  }
};

void check_group(Case& tested, std::int64_t n, std::int64_t group) {
  const GroupNorm& p = tested.problem;
  const std::int64_t first = group * p.channels;
  const auto each = [&](auto body) {
    for (std::int64_t c = first; c < first + p.channels; ++c) {
      for (std::int64_t s = 0; s < p.positions; ++s) body(c, s);
    }
  };
  const auto count = static_cast<double>(p.channels * p.positions);
  double mean = 0.0, squares = 0.0;
  each([&](std::int64_t c, std::int64_t s) { mean += tested.input(n, c, s) / count; });
  each([&](std::int64_t c, std::int64_t s) {
    squares += std::pow(tested.input(n, c, s) - mean, 2) / count;
  });
  const double root = 1.0 / std::sqrt(squares + static_cast<double>(p.eps));
  each([&](std::int64_t c, std::int64_t s) {
    double wanted = (tested.input(n, c, s) - mean) * root;
    // The mean is that of float32 sums, whose terms are as large as the deviation.
    double size = std::abs(wanted) + std::abs(mean) * root * 0.25 + 0.05;
    if (p.weight != nullptr) {
      wanted *= tested.weight.get(c);
      size *= std::abs(tested.weight.get(c));
    }
    if (p.bias != nullptr) {
      wanted += tested.bias.get(c);
      size += std::abs(tested.bias.get(c));
    }
    if (p.silu) wanted /= 1.0 + std::exp(-wanted);
    ASSERT_NEAR(tested.output(n, c, s), wanted,
                0.51 * ulp(wanted, p.output_type) + 8 * ulp(1.5 * size, DataType::kFloat32))
        << "sample " << n << ", channel " << c << ", position " << s;
  });
}

void check(const cpu::Launchers& launchers, const Sizes& sizes, unsigned seed, double mean) {
  Random random(seed);
  Case tested(sizes, random, mean);
  ASSERT_EQ(launchers.group_norm(tested.problem), LaunchStatus::kOk);
  for (std::int64_t n = 0; n < sizes.samples; ++n) {
    for (std::int64_t group = 0; group < sizes.groups; ++group) check_group(tested, n, group);
  }
}

TEST(GroupNorm, EveryLayoutAndType) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Random random(7);
    for (unsigned seed = 0; seed < 150; ++seed) {
      SCOPED_TRACE(seed);
      const Sizes sizes = {random.pick(1, 3), random.pick(1, 4), random.pick(1, 5),
                           random.pick(2, 150)};
      check(launchers, sizes, seed, seed % 3 == 0 ? 30.0 : 0.0);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(GroupNorm, GroupsOfSeveralStretches) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(seed);
      check(launchers, {1, 2, 3, 9001}, seed, 1.0);
      check(launchers, {1, 1, 5000, 3}, seed, 1.0);
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TEST(GroupNorm, SquaresThatDoNotFitFloat32) {
  for_each_isa([](const cpu::Launchers& launchers) {
    const std::vector<float> x = {3e30F, 1e30F, -1e30F, -3e30F};
    std::vector<float> y(4);
    GroupNorm p;
    p.samples = p.groups = 1;
    p.channels = p.positions = 2;
    p.input = x.data();
    p.output = y.data();
    for (std::int64_t(*strides)[3] : {&p.input_strides, &p.output_strides}) {
      (*strides)[0] = 4;
      (*strides)[1] = 2;
      (*strides)[2] = 1;
    }
    p.eps = 1e-5F;
    ASSERT_EQ(launchers.group_norm(p), LaunchStatus::kOk);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(y[i], static_cast<double>(x[i]) / (std::sqrt(5.0) * 1e30), 1e-6);
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
