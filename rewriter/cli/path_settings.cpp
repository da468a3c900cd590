#include "rewriter/cli/path_settings.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "rewriter/cli/assumptions.hpp"
#include "rewriter/project/glob.hpp"

namespace refit {
namespace {

struct Part {
  Glob files;
  FileSettings settings;
};

bool matches(const std::vector<std::string>& globs, const std::string& id) {
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return fnmatch(glob.c_str(), id.c_str(), 0) == 0; });
}

// The first glob that matches no rule.
const std::string* idle(const RuleSet& rules, const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) {
    const bool any = std::ranges::any_of(
        rules.rules(), [&](const Rule& rule) { return matches({glob}, rule.id); });
    if (!any) return &glob;
  }
  return nullptr;
}

}  // namespace

Expected<SettingsByFile> settings_by_file(const RuleSet& rules,
                                          const std::vector<PathOptions>& paths) {
  std::vector<Part> parts;
  for (const PathOptions& path : paths) {
    for (const auto* globs : {&path.select, &path.ignore}) {
      if (const std::string* glob = idle(rules, *globs)) {
        return failure(
            fmt::format("no rule matches `{}`, which is for the files `{}`", *glob, path.glob));
      }
    }
    auto assumed = resolve_assumptions(rules, path.assume);
    if (!assumed) return tl::unexpected(assumed.error());
    FileSettings settings;
    settings.strict = path.strict;
    settings.assume = std::move(*assumed);
    for (const Rule& rule : rules.rules()) {
      const bool selected = path.select.empty() || matches(path.select, rule.id);
      if (!selected || matches(path.ignore, rule.id)) settings.without.insert(rule.id);
    }
    parts.push_back({Glob(path.glob), std::move(settings)});
  }
  if (parts.empty()) return SettingsByFile();
  return SettingsByFile([parts = std::move(parts)](std::string_view file) {
    FileSettings all;
    for (const Part& part : parts) {
      if (!part.files.matches(file)) continue;
      all.strict = all.strict || part.settings.strict;
      all.assume.insert(part.settings.assume.begin(), part.settings.assume.end());
      all.without.insert(part.settings.without.begin(), part.settings.without.end());
    }
    return all;
  });
}

}  // namespace refit
