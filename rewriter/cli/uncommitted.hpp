// What `--write` says of files that git could not give back. Entry point: uncommitted_text.
#pragma once

#include <string>

#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"

namespace refit {

// A warning about files that the run changes and that are not as the last commit has them; nothing
// where there are none, or where the files lie in no git work tree.
std::string uncommitted_text(const RunResult& result, const Input& input);

}  // namespace refit
