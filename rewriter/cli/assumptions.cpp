// The assumptions of rules. Entry points: assumptions_text, resolve_assumptions.
#include "rewriter/cli/assumptions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "rewriter/report/rule_page.hpp"
#include "rewriter/rule/yaml_file.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

// "dropout_p == 0 at inference" is dropout-p-0-at-inference: letters and digits, the rest as
// hyphens.
std::string id_of(const std::string& assumption) {
  std::string id;
  for (const char c : assumption) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      id += static_cast<char>(upper ? c - 'A' + 'a' : c);
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  while (id.ends_with('-')) id.pop_back();
  return id;
}

// The rules that make each assumption.
std::map<std::string, std::vector<std::string>> assumptions(const RuleSet& rules) {
  std::map<std::string, std::vector<std::string>> all;
  for (const Rule& rule : rules.rules()) {
    for (const std::string& assumption : assumptions_of(rule)) all[assumption].push_back(rule.id);
  }
  return all;
}

}  // namespace

std::string assumptions_text(const RuleSet& rules) {
  std::string text;
  for (const auto& [assumption, by] : assumptions(rules)) {
    text += fmt::format("{}\n  {}\n  of {}\n", id_of(assumption), printable(assumption),
                        fmt::join(by, ", "));
  }
  return text;
}

Expected<std::set<std::string>> resolve_assumptions(const RuleSet& rules,
                                                    const std::set<std::string>& names) {
  if (names.empty()) return names;
  const auto known = assumptions(rules);
  std::set<std::string> found;
  std::vector<std::string> ids;
  for (const auto& [assumption, by] : known) ids.push_back(id_of(assumption));
  for (const std::string& name : names) {
    bool any = false;
    for (const auto& [assumption, by] : known) {
      if (assumption != name && id_of(assumption) != name) continue;
      any = true;
      found.insert(assumption);
    }
    if (!any) {
      return failure(fmt::format("no rule assumes `{}`{}; `refit assumptions` lists what there is",
                                 name, did_you_mean(nearest(name, ids))));
    }
  }
  return found;
}

}  // namespace refit
