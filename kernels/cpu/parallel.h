// Threads and scratch memory for the CPU kernels. Entry points: parallel_for, scratch.
//
// A pool of our own rather than OpenMP: the process usually holds torch's copy of libgomp already,
// and libgomp does not survive fork(), which data loaders use. The pool starts on first use, a
// forked child starts its own, and a caller that finds it busy (or is one of its workers) does its
// work itself, so nested and concurrent calls cannot deadlock.

#pragma once

#include <cstddef>
#include <cstdint>

namespace mindiesd::kernels::cpu {

using RangeFunction = void (*)(void* context, std::int64_t begin, std::int64_t end);

// Calls `function` on disjoint ranges of at least `grain` (the last may be shorter) that cover
// [0, count), on several threads. Returns when all are done.
void parallel_ranges(std::int64_t count, std::int64_t grain, RangeFunction function, void* context);

// `body(begin, end)` by the same rules. The closure is only referred to.
template <typename Body>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  parallel_ranges(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<Body*>(context))(begin, end);
      },
      &body);
}

// The number of threads, the caller included. 0 restores the default: MINDIESD_NUM_THREADS where it
// is a positive number, else the processors that this process may run on.
void set_num_threads(int threads);
int num_threads();

// 64-byte aligned memory of this thread, valid until this thread's next call with the same slot;
// null where memory ran out.
enum class ScratchSlot { kKernel, kRow, kCount };
float* scratch(ScratchSlot slot, std::size_t floats);

}  // namespace mindiesd::kernels::cpu
