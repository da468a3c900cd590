// Writing of rules. Entry points: rule_page, rules_json.
#include "rewriter/report/rule_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "rewriter/report/json.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

using Json = nlohmann::ordered_json;

struct Refusal {
  std::string code, says;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

template <typename T>
void add_once(std::vector<T>& list, T item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(std::move(item));
}

// All clauses of a rule, wherever they stand.
std::vector<const Where*> clauses_of(const Rule& rule) {
  std::vector<const Where*> all;
  const auto add = [&](const std::vector<Where>& clauses) {
    for (const Where& clause : clauses) all.push_back(&clause);
  };
  add(rule.where);
  for (const Pattern& pattern : rule.match.patterns) add(pattern.where);
  for (const auto& [hole, patterns] : rule.match.choices) {
    for (const Pattern& pattern : patterns) add(pattern.where);
  }
  for (const Rewrite& rewrite : rule.rewrites) add(rewrite.where);
  return all;
}

std::vector<Refusal> refusals_of(const Rule& rule) {
  std::vector<Refusal> all;
  for (const Where* clause : clauses_of(rule)) {
    if (!clause->code.empty()) add_once(all, {clause->code, clause->says});
  }
  for (const Anchor& anchor : rule.anchors) add_once(all, {anchor.code, anchor.says});
  return all;
}

std::vector<std::string> names_of(const std::vector<Target>& targets) {
  const std::vector<Target> every{Target::cuda, Target::ascend};
  std::vector<std::string> names;
  for (const Target target : targets.empty() ? every : targets) {
    names.push_back(to_string(target));
  }
  return names;
}

std::vector<std::string> targets_of(const Rule& rule) {
  std::vector<std::string> all;
  for (const Rewrite& rewrite : rule.rewrites) {
    for (std::string& name : names_of(rewrite.targets)) add_once(all, std::move(name));
  }
  return all;
}

std::string block(std::string_view code) {
  while (code.ends_with('\n')) code.remove_suffix(1);
  return fmt::format("```python\n{}\n```\n", code);
}

std::string quoted(const std::vector<std::string>& names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

// Alternatives, which may differ in their conditions only.
std::string blocks(const std::vector<Pattern>& patterns) {
  std::vector<std::string> codes;
  for (const Pattern& pattern : patterns) add_once(codes, pattern.code);
  std::string text;
  for (const std::string& code : codes) text += "\n" + (code.empty() ? "anything.\n" : block(code));
  return text;
}

std::string looks_for(const Match& match) {
  if (!match.call.empty()) return fmt::format("Calls of {}.\n", quoted(match.call));
  if (!match.construct.empty()) {
    return fmt::format("Instantiations of {}.\n", quoted(match.construct));
  }
  std::string text = "Values that are computed like this:\n";
  text += blocks(match.patterns);
  for (const auto& [hole, patterns] : match.choices) {
    text += fmt::format("\nwhere `${}` is\n", hole) + blocks(patterns);
  }
  return text;
}

std::string examples(const Rule& rule) {
  std::string text;
  std::vector<std::string> seen;  // codes, and "" for a rewrite
  for (const RuleTest& test : rule.tests) {
    if (std::ranges::find(seen, test.code) != seen.end()) continue;
    seen.push_back(test.code);
    const std::string target =
        test.target == Target::cuda ? "" : fmt::format(", for {}", to_string(test.target));
    if (test.after) {
      text += fmt::format("\nBefore and after ({}{}):\n\n{}\n{}", test.name, target,
                          block(test.before), block(*test.after));
    } else {
      text += fmt::format("\nRefused as `{}` ({}{}):\n\n{}", test.code, test.name, target,
                          block(test.before));
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> assumptions_of(const Rule& rule) {
  std::vector<std::string> all;
  for (const Where* clause : clauses_of(rule)) {
    if (clause->or_assume) add_once(all, *clause->or_assume);
  }
  for (const Rewrite& rewrite : rule.rewrites) {
    for (const std::string& assumption : rewrite.assumes) add_once(all, assumption);
  }
  return all;
}

std::string rule_page(const Rule& rule) {
  std::string text = fmt::format("# {}\n\n{}.\n\n", rule.id, rule.summary);
  text +=
      fmt::format("Subject: {}. Targets: {}.\n\n", rule.subject, fmt::join(targets_of(rule), ", "));
  text += "## What it looks for\n\n" + looks_for(rule.match) + "\n## What that becomes\n\n";
  if (rule.rewrites.size() > 1) text += "The first of these whose conditions hold.\n\n";
  for (const Rewrite& rewrite : rule.rewrites) {
    text += fmt::format("For {}:\n\n{}\n", fmt::join(names_of(rewrite.targets), " and "),
                        block(rewrite.with));
  }
  if (const auto assumptions = assumptions_of(rule); !assumptions.empty()) {
    text += "## What it may assume\n\n`--strict` refuses such sites.\n\n";
    for (const std::string& assumption : assumptions) text += fmt::format("- {}\n", assumption);
    text += "\n";
  }
  if (const auto refusals = refusals_of(rule); !refusals.empty()) {
    text += "## What it refuses, and what helps\n\n";
    for (const Refusal& refusal : refusals) {
      text += refusal.says.empty() ? fmt::format("- `{}`\n", refusal.code)
                                   : fmt::format("- `{}`: {}\n", refusal.code, refusal.says);
    }
    text += "\n";
  }
  if (const std::string some = examples(rule); !some.empty()) text += "## Examples\n" + some;
  while (text.ends_with("\n\n")) text.pop_back();
  return text;
}

std::string rules_text(const std::vector<Rule>& rules) {
  std::size_t width = 0;
  for (const Rule& rule : rules) width = std::max(width, rule.id.size());
  std::string text;
  for (const Rule& rule : rules) {
    text += fmt::format("{:<{}}  {}\n", rule.id, width, printable(rule.summary));
  }
  return text;
}

std::string rules_json(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& rule : rules) {
    Json refusals = Json::array();
    for (const Refusal& refusal : refusals_of(rule)) {
      refusals.push_back({{"code", refusal.code}, {"says", refusal.says}});
    }
    list.push_back({{"id", rule.id},
                    {"summary", rule.summary},
                    {"subject", rule.subject},
                    {"targets", targets_of(rule)},
                    {"file", printable_name(rule.at.file)},
                    {"line", rule.at.line},
                    {"calls", rule.match.call},
                    {"constructs", rule.match.construct},
                    {"assumes", assumptions_of(rule)},
                    {"refusals", refusals},
                    {"tests", rule.tests.size()}});
  }
  return list.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace refit
