// What a clause of `where` asks for and what stands there instead, in words for a person.
#pragma once

#include <string>

#include "rewriter/match/constraint.hpp"

namespace refit {

// "`causal` is False; found `self.causal` at line 12", for a clause that does not hold.
std::string describe(const Where& clause, const SiteView& site);

}  // namespace refit
