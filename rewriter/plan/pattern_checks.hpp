// What shows that a pattern of a rule can fit no code, or code that its author did not mean. Entry
// point: check_pattern.
#pragma once

#include <string>
#include <vector>

#include "rewriter/plan/compiled.hpp"

namespace refit {

// Adds a message, with file, line and column, for each mistake: a pattern that is a hole alone, a
// starred hole, a call of a function that the catalogue does not know under a package that it
// describes or under no module, and arguments that fit no signature of what is called. One of the
// alternatives of a hole may be a hole alone.
void check_pattern(const CompiledPattern& pattern, bool alternative, const Catalogue& catalogue,
                   std::vector<std::string>& mistakes);

}  // namespace refit
