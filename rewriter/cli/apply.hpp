// Writing the changed files of a run, one by one. Entry point: apply.
#pragma once

#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/text/disk.hpp"

namespace refit {

struct Applied {
  std::vector<std::string> written;  // names as in the report
  bool interrupted = false;
};

// Replaces every changed file. One that cannot be replaced stays and becomes a problem of the
// result; the others are still written. SIGINT, SIGTERM and SIGHUP let the file in hand be finished
// and stop before the next.
Applied apply(RunResult& result, const Input& input, Disk& disk);

}  // namespace refit
