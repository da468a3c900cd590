// How much of its stack a thread has used: what recurses over its input asks, and stops before the
// end.
#pragma once

namespace refit {

// Whether less is left of the calling thread's stack than a walk needs to come to a stop: an eighth
// of it, 128 KiB at least.
bool stack_is_low();

}  // namespace refit
