// The tests that rules carry, run. Entry points: test_rules, update_tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rewriter/cli/command.hpp"
#include "rewriter/cli/numeric_tests.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct RuleFailure {
  const Rule* rule;
  const RuleTest* test;
  std::string says;  // what is wrong, with what was found; several lines
  std::string now;   // the text that the test's `before` becomes; empty where it is refused
};

struct RuleTestResults {
  std::size_t run = 0;
  std::vector<RuleFailure> failures;
  std::vector<NumericTest> numeric;  // of the tests that have passed, not run yet
};

// Runs the tests of the `chosen` rules, each over a file of its own in a folder of the system's for
// temporary files, with all of `rules`. Fails where a rule does not compile or there is no such
// folder.
Expected<RuleTestResults> test_rules(const RuleSet& rules, const std::vector<const Rule*>& chosen,
                                     const std::string& rules_folder, const Services& services);

// Of the rules those whose files are or lie in one of the paths; all where there is no path.
std::vector<const Rule*> rules_of(const RuleSet& rules, const std::vector<std::string>& paths);

// The failures, each with its place, and how many tests passed.
std::string results_text(const RuleTestResults& results);

// Puts what their `before` becomes into the rule files, as the `after` of failed tests, and gives
// the number of these. Tests of refusals, and those whose text is no block (`after: |`), stay.
Expected<std::size_t> update_tests(const std::vector<RuleFailure>& failures);

}  // namespace refit
