// POSIX threads, since only they can be asked for a stack. See workers.hpp.
#include "rewriter/plan/workers.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace refit {

namespace {

// Address space, not memory: the kernel gives pages as they are touched. Lowering takes some
// hundred bytes a level of nesting, and follows 10,000 levels.
constexpr size_t kStack = size_t{256} << 20;

struct Shared {
  std::atomic<size_t> next{0};
  size_t count;
  const std::function<void(size_t)>& work;
};

void* loop(void* given) {
  auto& shared = *static_cast<Shared*>(given);
  for (size_t i = shared.next++; i < shared.count; i = shared.next++) shared.work(i);
  return nullptr;
}

}  // namespace

void each_of(size_t count, unsigned threads, const std::function<void(size_t)>& work) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  Shared shared{{0}, count, work};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  std::vector<pthread_t> started;
  for (unsigned t = 0; t < threads && t < count; ++t) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, loop, &shared) == 0) started.push_back(thread);
  }
  pthread_attr_destroy(&attributes);
  if (started.empty()) loop(&shared);  // no thread to be had: then here
  for (pthread_t thread : started) pthread_join(thread, nullptr);
}

}  // namespace refit
