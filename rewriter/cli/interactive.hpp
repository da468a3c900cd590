// Asking a person site by site. Entry point: ask_sites.
#pragma once

#include <set>
#include <string>

#include "rewriter/cli/console.hpp"
#include "rewriter/plan/finding.hpp"

namespace refit {

// Shows each of the sites that would be rewritten and asks whether it is to be, sites that share a
// fingerprint once; gives `among` without those that stay. Where the answers end, the rest stays.
std::set<std::string> ask_sites(const RunResult& result, std::set<std::string> among,
                                Console& console, bool colour);

}  // namespace refit
