// The numeric tests that rules carry: what the test's function computes before the rewrite and
// after it. The Python program of `refit verify` runs and judges them. Entry point:
// run_numeric_tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

struct NumericTest {
  const Rule* rule;
  const RuleTest* test;
  std::string now;             // the text that the test's `before` becomes
  std::vector<Finding> sites;  // that were rewritten
};

struct NumericResults {
  std::size_t run = 0, failed = 0;
  std::string text;  // a line for each test, and how many agree
};

// Runs all of them by one process of `python`. Where it lacks torch or the runtime, none is run; a
// test is not run either where what it imports is not installed. The text says how many and why.
NumericResults run_numeric_tests(const std::vector<NumericTest>& tests, const std::string& python,
                                 bool progress);

}  // namespace refit
