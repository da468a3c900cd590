// The thread pool and the scratch memory of parallel.h. Ranges are claimed from an atomic counter,
// so a worker that wakes late costs nothing: the others take its share.

#include "kernels/cpu/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace mindiesd::kernels::cpu {
namespace {

thread_local bool t_inside_job = false;

int default_threads() {
  if (const char* text = std::getenv("MINDIESD_NUM_THREADS")) {
    const int wanted = std::atoi(text);
    if (wanted > 0) return std::min(wanted, 1024);
  }
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1U, std::thread::hardware_concurrency());
}

struct Job {
  RangeFunction function;
  void* context;
  std::int64_t count;
  std::int64_t chunk;
  std::atomic<std::int64_t> next{0};

  void work() {
    for (;;) {
      const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      function(context, begin, std::min(count, begin + chunk));
    }
  }
};

class Pool {
 public:
  // Runs the job on up to `threads` threads, the caller among them. False: the pool is in use.
  bool run(Job& job, int threads) {
    std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      grow(threads - 1);
      job_ = &job;
      wanted_ = std::min<int>(threads - 1, static_cast<int>(workers_.size()));
    }
    wake_.notify_all();
    t_inside_job = true;
    job.work();
    t_inside_job = false;
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr;  // nobody joins any more
    wanted_ = 0;
    done_.wait(lock, [this] { return active_ == 0; });
    return true;
  }

 private:
  void grow(int workers) {
    while (static_cast<int>(workers_.size()) < workers) {
      try {
        workers_.emplace_back([this] { serve(); });
        workers_.back().detach();
      } catch (const std::system_error&) {
        return;  // no more threads to be had: fewer do the work
      } catch (const std::bad_alloc&) {
        return;
      }
    }
  }

  void serve() {
    t_inside_job = true;
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return wanted_ > 0; });
      --wanted_;
      ++active_;
      Job* job = job_;
      lock.unlock();
      job->work();
      lock.lock();
      if (--active_ == 0) done_.notify_one();
    }
  }

  std::mutex owner_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::thread> workers_;
  Job* job_ = nullptr;
  int wanted_ = 0;
  int active_ = 0;
};

// Never destroyed: detached workers wait in it until the process ends. After fork() the child has
// none of the threads, so it forgets the pool and makes a new one.
std::atomic<Pool*> g_pool{nullptr};
std::atomic<int> g_threads{0};

Pool* pool() {
  Pool* current = g_pool.load(std::memory_order_acquire);
  if (current != nullptr) return current;
  static const int registered = pthread_atfork(nullptr, nullptr, [] {
    g_pool.store(nullptr, std::memory_order_release);
    t_inside_job = false;
  });
  static_cast<void>(registered);
  Pool* made = new (std::nothrow) Pool;
  if (made == nullptr) return nullptr;
  if (g_pool.compare_exchange_strong(current, made, std::memory_order_acq_rel)) return made;
  delete made;  // another thread was first; this one has no workers yet
  return current;
}

struct Scratch {
  void* data = nullptr;
  std::size_t bytes = 0;
  ~Scratch() { std::free(data); }
};

}  // namespace

void parallel_ranges(std::int64_t count, std::int64_t grain, RangeFunction function,
                     void* context) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t pieces = (count + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<std::int64_t>(num_threads(), pieces));
  if (threads <= 1 || t_inside_job) {
    function(context, 0, count);
    return;
  }
  // Four ranges a thread even out threads that start late or run slower.
  const std::int64_t chunk = std::max(grain, (count + threads * 4 - 1) / (threads * 4));
  Job job{function, context, count, chunk};
  Pool* shared = pool();
  if (shared == nullptr || !shared->run(job, threads)) function(context, 0, count);
}

void set_num_threads(int threads) { g_threads.store(std::max(threads, 0)); }

int num_threads() {
  const int threads = g_threads.load(std::memory_order_relaxed);
  if (threads > 0) return threads;
  static const int by_default = default_threads();
  return by_default;
}

float* scratch(ScratchSlot slot, std::size_t floats) {
  thread_local Scratch slots[static_cast<int>(ScratchSlot::kCount)];
  Scratch& memory = slots[static_cast<int>(slot)];
  const std::size_t bytes = (floats * sizeof(float) + 63) / 64 * 64;
  if (bytes > memory.bytes) {
    std::free(memory.data);
    memory.data = std::aligned_alloc(64, bytes);
    memory.bytes = memory.data == nullptr ? 0 : bytes;
  }
  return static_cast<float*>(memory.data);
}

}  // namespace mindiesd::kernels::cpu
