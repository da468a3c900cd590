// What a project says of a part of its files. Entry point: settings_by_file.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/plan/engine.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// Beside what holds for all files. Where several globs match a file, all of them speak.
struct PathOptions {
  std::string glob;  // as --include takes it
  bool strict = false;
  std::set<std::string> assume;
  std::vector<std::string> select, ignore;  // globs of rules
};

using SettingsByFile = std::function<FileSettings(std::string_view file)>;

// Nothing where there are no such options. Fails where a glob matches no rule, or nothing is
// assumed by a name.
Expected<SettingsByFile> settings_by_file(const RuleSet& rules,
                                          const std::vector<PathOptions>& paths);

}  // namespace refit
