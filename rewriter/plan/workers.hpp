// Work on many things at once, on threads whose stacks are deep enough for whatever a source nests.
// Entry point: each_of.
#pragma once

#include <cstddef>
#include <functional>

namespace refit {

// Calls work(0) … work(count - 1), each once, on `threads` threads (0: one a core), none of them
// the caller's, and returns when all have been done.
void each_of(size_t count, unsigned threads, const std::function<void(size_t)>& work);

}  // namespace refit
