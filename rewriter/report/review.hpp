// The result as one HTML page in which a person judges it. Its parts are in report/review/. Entry
// point: to_review.
#pragma once

#include <map>
#include <string>

#include "rewriter/plan/finding.hpp"
#include "rewriter/report/json.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// A page that needs no server and no network: its style, its script and its data are in it, and it
// may load nothing else. `texts`: the bytes of the files with sites in which nothing changes, by
// name. Fails only where a diff cannot be made.
Expected<std::string> to_review(const RunResult& result, const ReportContext& context,
                                const std::map<std::string, std::string>& texts);

}  // namespace refit
