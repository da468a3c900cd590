// The report as SARIF 2.1.0 (OASIS), which code hosts and editors read. Entry point: to_sarif.
#pragma once

#include <map>
#include <string>

#include "rewriter/report/json.hpp"

namespace refit {

// One run with one result a site. A site that was or would be rewritten is a warning with its fix,
// a refused one a note that says why; problems and notes of the run are notifications. `summaries`:
// what each rule does, by id.
std::string to_sarif(const RunResult& result, const ReportContext& context,
                     const std::map<std::string, std::string>& summaries);

}  // namespace refit
