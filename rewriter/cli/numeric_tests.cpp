// Numeric tests as a job for the program of `refit verify`, and its answer as lines of text. Entry
// point: run_numeric_tests.
#include "rewriter/cli/numeric_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "rewriter/cli/temporary_folder.hpp"
#include "rewriter/cli/verify_process.hpp"
#include "rewriter/text/count.hpp"

namespace refit {
namespace {

std::string file_of(std::size_t number) { return fmt::format("m{}.py", number); }

std::string not_run(std::size_t count, const std::string& reason) {
  return fmt::format("{} not run: {}\n", count_of(count, "numeric test"), reason);
}

// What one test came to.
struct Judged {
  Verdict verdict = Verdict::agrees;
  std::string says;
};

// The largest errors of each kind of inputs, before and after.
std::string errors_text(const VerifiedFunction& function) {
  std::string text = fmt::format("{}: ", count_of(function.inputs, "input"));
  bool first = true;
  for (const VerifiedErrors& errors : function.errors) {
    text += fmt::format("{}{} {:.1e} -> {:.1e}", first ? "" : ", ", errors.inputs,
                        errors.original.largest, errors.migrated.largest);
    first = false;
  }
  return text;
}

Judged judged(const Verification& verification, const std::string& file) {
  Judged outcome;
  for (const VerifiedFunction& function : verification.functions) {
    if (function.file != file) continue;
    if (function.verdict == Verdict::agrees) {
      outcome.says += (outcome.says.empty() ? "" : "; ") + errors_text(function);
      continue;
    }
    const std::string name =
        function.function.substr(std::min(file.size() - 2, function.function.size()));
    std::string says = fmt::format("{}{}", name.empty() ? "" : "`" + name + "`: ", function.reason);
    if (!function.shown.empty()) says += fmt::format("\n  for example with {}", function.shown);
    // A package that is not installed is no fault of the rule.
    const bool lacks = function.verdict == Verdict::not_run && !function.placeholders.empty();
    return {lacks ? Verdict::not_run : Verdict::differs, says};
  }
  if (outcome.says.empty()) return {Verdict::differs, "no function's code differs"};
  return outcome;
}

}  // namespace

NumericResults run_numeric_tests(const std::vector<NumericTest>& tests, const std::string& python,
                                 bool progress) {
  NumericResults results;
  if (tests.empty()) return results;
  const TemporaryFolder folder;
  VerifyJob job;
  job.python = python;
  job.progress = progress;
  Input input{folder.path(), {}, {""}};
  std::vector<Finding> sites;
  bool written = !folder.path().empty();
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const RuleTest& test = *tests[i].test;
    const std::string path = folder.path() + "/" + file_of(i);
    std::ofstream file(path, std::ios::binary);
    file << test.before << std::flush;
    written = written && file;
    input.files.push_back({path, file_of(i)});
    job.files.push_back({file_of(i), test.before, tests[i].now, *test.numeric});
    for (Finding site : tests[i].sites) {
      site.file = file_of(i);
      sites.push_back(std::move(site));
    }
  }
  for (const Finding& site : sites) job.sites.push_back(&site);
  if (!written) {
    results.text = not_run(tests.size(), "cannot write a folder for temporary files");
    results.failed = tests.size();
    return results;
  }
  const auto verification = run_functions(input, job);
  if (!verification) {
    results.text = not_run(tests.size(), verification.error().message);
    return results;
  }
  std::size_t left = 0;
  results.text = "numeric tests, with the largest errors against float64 of `before` -> `after`:\n";
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const Judged outcome = judged(*verification, file_of(i));
    const RuleTest& test = *tests[i].test;
    const char* word = outcome.verdict == Verdict::agrees    ? ""
                       : outcome.verdict == Verdict::differs ? "FAILED: "
                                                             : "not run: ";
    results.text += fmt::format("{}:{}: [{}] {}: {}{}\n", test.at.file, test.at.line,
                                tests[i].rule->id, test.name, word, outcome.says);
    if (outcome.verdict == Verdict::not_run) {
      ++left;
      continue;
    }
    ++results.run;
    if (outcome.verdict == Verdict::differs) ++results.failed;
  }
  results.text += fmt::format("{} of {} passed\n", results.run - results.failed,
                              count_of(results.run, "numeric test"));
  if (left != 0) results.text += not_run(left, "packages that they import are not installed");
  return results;
}

}  // namespace refit
