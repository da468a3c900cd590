// What the commands that plan a tree share: the run with the sites that the options choose, and
// what reports say beside it. Entry point: planned_run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/cli/session.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/report/json.hpp"

namespace refit {

// The run over these files; nothing where that has failed and is said.
std::optional<RunResult> planned_run(Session& session, const RuleSet& rules, const Input& input);

// Puts what discovery has to say in front of what the run says.
void add_discovery(const Discovery& discovery, RunResult& result);

// What a report says beside the result.
ReportContext report_context(const Session& session, const Input& input,
                             const std::vector<std::string>& written);

// Writes the page of the review to where the options say.
void write_review(Session& session, const RunResult& result, const Input& input,
                  const ReportContext& context);

// What each rule does, by id.
std::map<std::string, std::string> summaries_of(const RuleSet& rules);

}  // namespace refit
