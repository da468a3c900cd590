// Running and updating the tests of rules. Entry points: test_rules, update_tests.
#include "rewriter/cli/rule_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "rewriter/cli/temporary_folder.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/diff.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

std::string found(const RunResult& result) {
  std::string text;
  for (const Problem& problem : result.problems) text += "  " + problem.message + "\n";
  for (const Finding& finding : result.findings) {
    const bool refused = finding.outcome == Outcome::refused;
    text += fmt::format("  line {}: {} {}{}\n", finding.line, finding.rule,
                        refused ? "refused " + finding.code + ": " : "rewritten",
                        refused ? printable(finding.message) : "");
  }
  return text.empty() ? "  no rule has a site in it\n" : text;
}

bool has(const RunResult& result, const Rule& rule, Outcome outcome, const std::string& code) {
  return std::ranges::any_of(result.findings, [&](const Finding& finding) {
    return finding.rule == rule.id && finding.outcome == outcome && finding.code == code;
  });
}

// What is wrong with a test's result, or nothing.
std::optional<std::string> judge(const Rule& rule, const RuleTest& test, const RunResult& result) {
  const bool changed = !result.changed.empty();
  if (!test.after) {
    if (changed) {
      return fmt::format("it is rewritten, not refused as {}\n{}", test.code, found(result));
    }
    if (has(result, rule, Outcome::refused, test.code)) return std::nullopt;
    return fmt::format("it is not refused as {}\n{}", test.code, found(result));
  }
  if (!changed) return fmt::format("nothing changes\n{}", found(result));
  const std::string& now = *result.changed.front().new_bytes;
  if (now != *test.after) {
    const auto diff = unified_diff("after", *test.after, now, false);
    return "it becomes another text than `after` says\n" + diff.value_or(now);
  }
  if (!has(result, rule, Outcome::rewritten, "")) {
    return fmt::format("another rule rewrites it\n{}", found(result));
  }
  return std::nullopt;
}

NumericTest numeric_test(const Rule& rule, const RuleTest& test, const RunResult& result) {
  NumericTest numeric{&rule, &test, *result.changed.front().new_bytes, {}};
  std::ranges::copy_if(result.findings, std::back_inserter(numeric.sites), [](const auto& finding) {
    return finding.outcome == Outcome::rewritten && !finding.through;
  });
  return numeric;
}

std::size_t indentation(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool blank(const std::string& line) { return line.find_first_not_of(" \r") == std::string::npos; }

// Replaces the block under `after: |` of the test that begins at a line, counted from 0.
bool replace_after(std::vector<std::string>& lines, std::size_t begin, const std::string& text) {
  if (begin >= lines.size()) return false;
  // A test is an item, "- name: …": its keys stand behind the hyphen.
  const std::size_t hyphen = indentation(lines[begin]);
  for (std::size_t at = begin + 1; at < lines.size(); ++at) {
    if (blank(lines[at])) continue;
    const std::size_t depth = indentation(lines[at]);
    if (depth <= hyphen) return false;
    if (lines[at].substr(depth) != "after: |") continue;
    std::size_t end = at + 1;
    while (end < lines.size() && (blank(lines[end]) || indentation(lines[end]) > depth)) ++end;
    while (end > at + 1 && blank(lines[end - 1])) --end;
    std::vector<std::string> block;
    for (std::size_t from = 0; from < text.size();) {
      const std::size_t to = std::min(text.find('\n', from), text.size());
      const std::string line = text.substr(from, to - from);
      block.push_back(line.empty() ? line : std::string(depth + 2, ' ') + line);
      from = to + 1;
    }
    const auto first = lines.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const auto last = lines.begin() + static_cast<std::ptrdiff_t>(end);
    lines.insert(lines.erase(first, last), block.begin(), block.end());
    return true;
  }
  return false;
}

}  // namespace

Expected<RuleTestResults> test_rules(const RuleSet& rules, const std::vector<const Rule*>& chosen,
                                     const std::string& rules_folder, const Services& services) {
  const TemporaryFolder folder;
  if (folder.path().empty()) return failure("cannot make a temporary folder for the rules' tests");
  const std::string path = folder.path() + "/m.py";
  const Input input{folder.path(), {{path, "m.py"}}, {""}};
  RuleTestResults results;
  for (const Rule* rule : chosen) {
    for (const RuleTest& test : rule->tests) {
      std::ofstream file(path, std::ios::binary);
      file << test.before << std::flush;
      if (!file) return failure("cannot write " + path);
      EngineOptions options;
      options.target = test.target;
      options.jobs = 1;
      options.rules_folder = rules_folder;
      const auto result = services.run(rules, input, options, nullptr);
      if (!result) return tl::unexpected(result.error());
      ++results.run;
      auto wrong = judge(*rule, test, *result);
      if (!wrong) {
        if (test.numeric) results.numeric.push_back(numeric_test(*rule, test, *result));
        continue;
      }
      std::string now = result->changed.empty() ? "" : *result->changed.front().new_bytes;
      results.failures.push_back({rule, &test, std::move(*wrong), std::move(now)});
    }
  }
  return results;
}

std::vector<const Rule*> rules_of(const RuleSet& rules, const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::error_code none;
  std::vector<fs::path> tops;
  for (const std::string& path : paths) tops.push_back(fs::weakly_canonical(path, none));
  std::vector<const Rule*> chosen;
  for (const Rule& rule : rules.rules()) {
    const fs::path file = fs::weakly_canonical(rule.at.file, none);
    const bool in = std::ranges::any_of(tops, [&](const fs::path& top) {
      return std::ranges::mismatch(top, file).in1 == top.end();
    });
    if (in || tops.empty()) chosen.push_back(&rule);
  }
  return chosen;
}

std::string results_text(const RuleTestResults& results) {
  std::string text;
  for (const RuleFailure& failed : results.failures) {
    text += fmt::format("{}:{}: [{}] {}: {}\n", failed.test->at.file, failed.test->at.line,
                        failed.rule->id, failed.test->name, failed.says);
  }
  return text + fmt::format("{} of {} passed\n", results.run - results.failures.size(),
                            count_of(results.run, "test"));
}

Expected<std::size_t> update_tests(const std::vector<RuleFailure>& failures) {
  std::map<std::string, std::vector<const RuleFailure*>> by_file;
  for (const RuleFailure& failed : failures) {
    if (failed.test->after && !failed.now.empty()) by_file[failed.test->at.file].push_back(&failed);
  }
  std::size_t updated = 0;
  for (auto& [name, here] : by_file) {
    std::vector<std::string> lines;
    std::ifstream in(name, std::ios::binary);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    if (!in.eof()) return failure("cannot read " + name);
    // The last first, so that the lines of the others stay where they are.
    std::ranges::sort(here, std::greater(),
                      [](const auto* failed) { return failed->test->at.line; });
    for (const RuleFailure* failed : here) {
      const auto line = static_cast<std::size_t>(failed->test->at.line) - 1;
      if (replace_after(lines, line, failed->now)) ++updated;
    }
    std::ofstream out(name, std::ios::binary);
    for (const std::string& line : lines) out << line << '\n';
    out.flush();
    if (!out) return failure("cannot write " + name);
  }
  return updated;
}

}  // namespace refit
