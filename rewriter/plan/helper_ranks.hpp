// The ranks of what functions of a unit give, put down at their calls. Entry point:
// note_helper_ranks.
#pragma once

#include "rewriter/language/frontend.hpp"

namespace refit {

// `keys = repeat_kv(keys, n)` has as many axes as all that `return` gives in repeat_kv agree on.
// Before any rank of the unit is asked for.
void note_helper_ranks(Unit& unit);

}  // namespace refit
