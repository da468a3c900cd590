// `refit rules new BEFORE AFTER`. Entry point: new_rule.
#pragma once

#include "rewriter/cli/options.hpp"
#include "rewriter/cli/session.hpp"

namespace refit {

// Drafts a rule from the two files, runs the test that is made of them with it, and writes the
// rule; says what it generalised and what is left to its author. Nothing is written where the test
// does not pass.
void new_rule(Session& session, const RulesOptions& options, const RuleSet& rules);

}  // namespace refit
