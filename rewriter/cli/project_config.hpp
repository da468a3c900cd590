// What a project says of how it wants to be migrated: refit.toml, or [tool.refit] in its
// pyproject.toml. Entry point: project_config.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rewriter/cli/path_settings.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct ProjectConfig {
  std::string path;               // the file; "" where there is none
  std::vector<std::string> keys;  // that it sets, in alphabetical order
  std::optional<Target> target;
  bool strict = false;
  std::vector<std::string> assume, select, ignore, include, exclude;
  std::vector<std::string> define;      // names that C++ is compiled with
  std::vector<std::string> rules;       // paths, from the file's folder where they are relative
  std::optional<std::string> baseline;  // the same
  std::vector<PathOptions> paths;
};

// Of the folder that a path of the command line is or lies in, or of the nearest one above it, up
// to the work tree's top. refit.toml comes before pyproject.toml. Fails where such a file is no
// TOML, has a key that there is not, or a value of another kind.
Expected<ProjectConfig> project_config(const std::string& path);

}  // namespace refit
