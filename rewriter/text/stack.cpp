// The bounds of a thread's stack, asked of the system once a thread. See stack.hpp.
#include "rewriter/text/stack.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace refit {

namespace {

constexpr size_t kRest = size_t{128} << 10;
constexpr size_t kUnknown = size_t{512} << 10;  // taken for a stack's size where nobody tells

// The lowest address that a walk may reach: stacks grow downwards.
uintptr_t lowest(uintptr_t here) {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &begin, &size);
    pthread_attr_destroy(&attributes);
  }
  if (begin == nullptr || size == 0) return here - std::min<uintptr_t>(here, kUnknown);
  return reinterpret_cast<uintptr_t>(begin) + std::max(size / 8, kRest);
}

}  // namespace

bool stack_is_low() {
  const char mark = 0;
  const auto here = reinterpret_cast<uintptr_t>(&mark);
  thread_local const uintptr_t kLowest = lowest(here);
  return here < kLowest;
}

}  // namespace refit
