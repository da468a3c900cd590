// How a run ends: its last sentence, and what problems make of its exit code. Entry points:
// closing, code_of.
#pragma once

#include <string>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/exit_code.hpp"
#include "rewriter/cli/options.hpp"
#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"

namespace refit {

// What was done, and what to do next.
std::string closing(const MigrateOptions& options, const RunResult& result, const Input& input,
                    const Applied& applied);

ExitCode code_of(FileProblem problem);

}  // namespace refit
