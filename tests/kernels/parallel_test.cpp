// The thread pool: every index exactly once, nested and concurrent callers, forked children.

#include "kernels/cpu/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace mindiesd::kernels::cpu {
namespace {

class Parallel : public testing::Test {
 protected:
  void SetUp() override { set_num_threads(4); }
  void TearDown() override { set_num_threads(0); }
};

bool covers_once(std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
  });
  for (const auto& visit : visits) {
    if (visit != 1) return false;
  }
  return true;
}

TEST_F(Parallel, CoversEveryIndexOnce) {
  for (const std::int64_t count : {1, 2, 3, 7, 64, 1000, 4099}) {
    for (const std::int64_t grain : {0, 1, 5, 64, 10000}) {
      EXPECT_TRUE(covers_once(count, grain)) << count << " by " << grain;
    }
  }
}

TEST_F(Parallel, DoesNothingForNothing) {
  parallel_for(0, 1, [](std::int64_t, std::int64_t) { FAIL() << "called for an empty range"; });
}

TEST_F(Parallel, NestedCallsFinish) {
  std::atomic<int> total{0};
  parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      parallel_for(10, 1,
                   [&](std::int64_t b, std::int64_t e) { total += static_cast<int>(e - b); });
    }
  });
  EXPECT_EQ(total, 80);
}

TEST_F(Parallel, ConcurrentCallersFinish) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) wrong += covers_once(257, 3) ? 0 : 1;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Parallel, ForkedChildHasItsOwnPool) {
  ASSERT_TRUE(covers_once(1000, 1));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a pool without its threads would wait for ever
    _exit(covers_once(1000, 1) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(covers_once(1000, 1));
}

TEST_F(Parallel, ScratchIsAlignedAndGrows) {
  float* small = scratch(ScratchSlot::kRow, 3);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small) % 64, 0U);
  float* large = scratch(ScratchSlot::kRow, 100000);
  ASSERT_NE(large, nullptr);
  large[99999] = 1.0F;
  EXPECT_EQ(scratch(ScratchSlot::kRow, 10), large);
  EXPECT_NE(scratch(ScratchSlot::kKernel, 10), large);
}

}  // namespace
}  // namespace mindiesd::kernels::cpu
