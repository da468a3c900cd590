// The report as workflow commands of GitHub Actions, which become annotations of a pull request's
// lines. Entry point: to_github.
#pragma once

#include <string>

#include "rewriter/plan/finding.hpp"

namespace refit {

// One line a site, a problem and a note: what would be rewritten is a warning, what is refused a
// notice, a problem an error. Calls that are rewritten through a definition have no line of their
// own.
std::string to_github(const RunResult& result);

}  // namespace refit
