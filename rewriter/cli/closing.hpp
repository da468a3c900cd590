// The last sentence of a run. Entry point: closing.
#pragma once

#include <string>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/options.hpp"
#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"

namespace refit {

// What was done, and what to do next.
std::string closing(const MigrateOptions& options, const RunResult& result, const Input& input,
                    const Applied& applied);

}  // namespace refit
