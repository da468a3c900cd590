// What a project says, added to what the command line says. Entry point: take_config.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <type_traits>
#include <vector>

#include "rewriter/cli/options.hpp"
#include "rewriter/cli/project_config.hpp"

namespace refit {

// Adds to lists, and sets what the command line says nothing of. `target_given`: it says a target.
template <typename Options>
void take_config(const ProjectConfig& config, bool target_given, Options& options) {
  if (config.target && !target_given) options.target = *config.target;
  options.strict = options.strict || config.strict;
  options.assume.insert(config.assume.begin(), config.assume.end());
  options.by_path = config.paths;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  add(options.rules.rules, config.rules);
  add(options.rules.select, config.select);
  add(options.rules.ignore, config.ignore);
  add(options.define, config.define);
  if constexpr (std::is_same_v<Options, MigrateOptions>) {
    add(options.include, config.include);
    add(options.exclude, config.exclude);
    if (!options.baseline) options.baseline = config.baseline;
    if (!config.keys.empty()) {
      options.configured = fmt::format("{} sets {}.", config.path, fmt::join(config.keys, ", "));
    }
  }
}

}  // namespace refit
