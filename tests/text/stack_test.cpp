#include "rewriter/text/stack.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

namespace refit {
namespace {

// Not a loop: each level keeps a part of the stack.
size_t levels(size_t depth) {
  volatile char page[1024] = {};
  page[depth % sizeof page] = 1;
  if (stack_is_low()) return depth;
  return levels(depth + 1) + (page[0] > 1 ? 1 : 0);
}

void* descend(void* reached) {
  *static_cast<size_t*>(reached) = levels(0);
  return nullptr;
}

TEST(Stack, AWalkStopsBeforeItsEnd) {
  for (size_t size : {size_t{512} << 10, size_t{8} << 20}) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    size_t reached = 0;
    pthread_t thread;
    ASSERT_EQ(pthread_create(&thread, &attributes, descend, &reached), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_GT(reached, size / 4096) << "a good part of it is used";
    EXPECT_LT(reached, size / 1024);
  }
}

}  // namespace
}  // namespace refit
