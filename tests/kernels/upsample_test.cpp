// Images of twice the size against the formula.

#include <vector>

#include "kernels/upsample.h"
#include "support.h"

namespace mindiesd::kernels::test {
namespace {

struct Shape {
  std::int64_t count, height, width, channels;  // one channel: planes
};

TEST(Upsample, EveryTypeAndLayout) {
  for_each_isa([](const cpu::Launchers& launchers) {
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16}) {
      // One place, less than a vector, vectors and a rest, none, more than one thread's share.
      for (const Shape& s : {Shape{1, 1, 1, 1}, Shape{2, 3, 5, 1}, Shape{3, 4, 67, 1},
                             Shape{0, 4, 6, 1}, Shape{2, 3, 4, 5}, Shape{64, 40, 64, 1}}) {
        const std::int64_t places = s.count * s.height * s.width;
        Memory input(type, places * s.channels), output(type, 4 * places * s.channels);
        for (std::int64_t i = 0; i < places * s.channels; ++i) {
          input.set(i, static_cast<double>(i % 251) - 100.0);
        }
        Upsample problem;
        problem.count = s.count;
        problem.height = s.height;
        problem.width = s.width;
        problem.bytes = s.channels * static_cast<std::int64_t>(bytes_of(type));
        problem.input = input.data();
        problem.output = output.data();
        ASSERT_EQ(launchers.upsample(problem), LaunchStatus::kOk);
        for (std::int64_t i = 0; i < 4 * places * s.channels; ++i) {
          const std::int64_t channel = i % s.channels, place = i / s.channels;
          const std::int64_t column = place % (2 * s.width), row = place / (2 * s.width);
          const std::int64_t from = ((row / 2) * s.width + column / 2) * s.channels + channel;
          ASSERT_EQ(output.get(i), input.get(from)) << i;
        }
      }
    }
  });
}

TEST(Upsample, EveryPatternOfBits) {
  for_each_isa([](const cpu::Launchers& launchers) {
    std::vector<std::uint16_t> input(65536), output(4 * 65536);
    for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::uint16_t>(i);
    Upsample problem;
    problem.count = 1;
    problem.height = 1;
    problem.width = 65536;
    problem.bytes = 2;
    problem.input = input.data();
    problem.output = output.data();
    ASSERT_EQ(launchers.upsample(problem), LaunchStatus::kOk);
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_EQ(output[i], input[(i % 131072) / 2]) << i;
    }
  });
}

}  // namespace
}  // namespace mindiesd::kernels::test
