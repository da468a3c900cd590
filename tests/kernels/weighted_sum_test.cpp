// Weighted sums against the formula in float64.

#include <deque>

#include "kernels/weighted_sum.h"
#include "support.h"

namespace mindiesd::kernels::test {
namespace {

constexpr double kWeights[] = {55.0, -59.0, 37.0, -9.0, 0.25, -0.125, 1.5, 3.0};

struct Tested {
  std::deque<Memory> terms;
  Memory output;
  WeightedSum problem;

  Tested(DataType type, std::int64_t count, int term_count) : output(type, count) {
    for (int k = 0; k < term_count; ++k) {
      terms.emplace_back(type, count);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<double>(i);
        terms.back().set(i, 3.0 * std::sin(0.7 * at + 1.3 * k));
      }
    }
    for (int k = 0; k < term_count; ++k) {
      problem.terms[k] = terms[static_cast<std::size_t>(k)].data();
      problem.weights[k] = static_cast<float>(kWeights[k]);
    }
    problem.term_count = term_count;
    problem.count = count;
    problem.type = type;
    problem.scale = 0.125F;
    problem.output = output.data();
  }
};

TEST(WeightedSum, EveryTypeAndNumberOfTerms) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
      for (const int terms : {1, 2, 3, 4, 5, kMaxTerms}) {
        // Less than a vector, a block and a rest, more than one thread's share.
        for (const std::int64_t count : {0, 1, 5, 1027, 70001}) {
          Tested tested(type, count, terms);
          ASSERT_EQ(launchers.weighted_sum(tested.problem), LaunchStatus::kOk);
          for (std::int64_t i = 0; i < count; ++i) {
            double wanted = 0, size = 0;
            for (int k = 0; k < terms; ++k) {
              const double part = kWeights[k] * tested.terms[static_cast<std::size_t>(k)].get(i);
              wanted += part;
              size += std::abs(part);
            }
            wanted *= 0.125;
            size *= 0.125;
            const double bound =
                0.51 * ulp(wanted, type) + (terms + 1) * ulp(size, DataType::kFloat32);
            ASSERT_NEAR(tested.output.get(i), wanted, bound) << i << " of " << count;
          }
        }
      }
    }
  });
}

TEST(WeightedSum, OverATerm) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : {DataType::kFloat32, DataType::kBFloat16}) {
      Tested apart(type, 3000, 3), over(type, 3000, 3);
      over.problem.output = over.terms[1].data();
      ASSERT_EQ(launchers.weighted_sum(apart.problem), LaunchStatus::kOk);
      ASSERT_EQ(launchers.weighted_sum(over.problem), LaunchStatus::kOk);
      for (std::int64_t i = 0; i < 3000; ++i) {
        ASSERT_EQ(over.terms[1].get(i), apart.output.get(i));
      }
    }
  });
}

TEST(WeightedSum, TermsThatAreNotFinite) {
  for_each_isa([](const cpu::Launchers& launchers) {
    Tested tested(DataType::kFloat32, 40, 3);
    tested.terms[0].set(3, INFINITY);
    tested.terms[1].set(3, INFINITY);
    tested.terms[1].set(7, NAN);
    tested.terms[2].set(9, -INFINITY);
    ASSERT_EQ(launchers.weighted_sum(tested.problem), LaunchStatus::kOk);
    EXPECT_TRUE(std::isnan(tested.output.get(3)));
    EXPECT_TRUE(std::isnan(tested.output.get(7)));
    EXPECT_EQ(tested.output.get(9), -INFINITY);
    EXPECT_TRUE(std::isfinite(tested.output.get(8)));
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
