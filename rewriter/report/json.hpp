// The JSON report, for other tools. Its form is report.schema.json beside this file; both change
// together, with the number in "schema". Entry point: to_json.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/plan/engine.hpp"
#include "rewriter/plan/finding.hpp"

namespace refit {

// What a report says beside the result: how the run was asked for, and what was done with it.
struct SiteVerdict {
  std::string verdict;  // agrees, differs, not_run
  std::string reason;   // of all but `agrees`
};

struct ReportContext {
  std::string version;  // of refit
  Target target = Target::cuda;
  bool strict = false;
  std::set<std::string> assume;
  std::string root;                  // absolute; the folder that file names are relative to
  std::vector<std::string> written;  // the changed files that were written
  // Of sites that were run as they were and as they are rewritten.
  std::map<const Finding*, SiteVerdict> verdicts = {};
};

// A file's name as reports have it: one that is not UTF-8 as it is shown to a person.
std::string printable_name(const std::string& file);
std::string to_string(Target target);
std::string to_string(Outcome outcome);
std::string to_string(FileProblem problem);

// The whole report, indented, with a final newline. Bytes that are not UTF-8, as file names may
// hold, become U+FFFD.
std::string to_json(const RunResult& result, const ReportContext& context);

}  // namespace refit
