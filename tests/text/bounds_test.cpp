#include "rewriter/text/bounds.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

namespace refit {
namespace {

const BoundReached& of(const BoundsReached& log, Bound bound) {
  return log[static_cast<size_t>(bound)];
}

TEST(Bounds, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (size_t b = 0; b < kBounds; ++b) names.insert(name_of(static_cast<Bound>(b)));
  EXPECT_EQ(names.size(), kBounds);
  EXPECT_FALSE(names.contains(""));
  EXPECT_EQ(name_of(Bound::alias_rounds), "alias_rounds");
  EXPECT_EQ(name_of(Bound::value_kind), "value_kind");
}

TEST(Bounds, AreCountedWithTheFirstPlace) {
  BoundsReached log{};
  EXPECT_FALSE(any_reached(log));
  {
    const BoundsScope scope(log);
    reached(Bound::match_steps, 7);
    reached(Bound::match_steps, 3);
    reached(Bound::rounds, 9);
  }
  reached(Bound::match_steps, 1);  // outside
  EXPECT_TRUE(any_reached(log));
  EXPECT_EQ(of(log, Bound::match_steps).times, 2U);
  EXPECT_EQ(of(log, Bound::match_steps).first, 3U);
  EXPECT_EQ(of(log, Bound::rounds).times, 1U);
  EXPECT_EQ(of(log, Bound::spelling).times, 0U);
}

TEST(Bounds, OfATextMadeFromTheFileAreCountedWhereTheFileHasThem) {
  BoundsReached log{};
  const BoundsScope outer(log);
  {
    const BoundsScope made([](uint32_t at) { return at + 100; });
    const BoundsScope twice([](uint32_t at) { return at + 10; });
    reached(Bound::rounds, 1);
  }
  reached(Bound::rounds, 500);
  EXPECT_EQ(of(log, Bound::rounds).times, 2U);
  EXPECT_EQ(of(log, Bound::rounds).first, 111U);
}

TEST(Bounds, OfAnotherThreadAreItsOwn) {
  BoundsReached log{}, other{};
  const BoundsScope scope(log);
  std::thread([&] {
    const BoundsScope there(other);
    reached(Bound::retries, 5);
  }).join();
  EXPECT_FALSE(any_reached(log));
  EXPECT_EQ(of(other, Bound::retries).first, 5U);
}

}  // namespace
}  // namespace refit
