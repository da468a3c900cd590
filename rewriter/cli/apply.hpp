// Writing the changed files of a run as one change set. Entry points: apply, recover, last_run,
// undo.
#pragma once

#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/text/disk.hpp"
#include "rewriter/text/expected.hpp"
#include "rewriter/text/journal.hpp"

namespace refit {

struct Applied {
  std::vector<std::string> written;  // names as in the report
  bool interrupted = false;          // no file was written
  bool undoable = false;
};

// Replaces all changed files or none. One that is not to be written stays and becomes a problem of
// the result; where anything else fails, every file stays. SIGINT, SIGTERM and SIGHUP take back
// what was done.
Applied apply(RunResult& result, const Input& input, Disk& disk);

// Completes, or takes back, what a killed run left in this tree. Gives a sentence for each.
Expected<std::vector<std::string>> recover(const Input& input, Disk& disk);

// What the last run in this tree replaced, by names relative to the tree's root; nothing where
// there is no run to take back.
Expected<std::vector<FileChange>> last_run(const Input& input, Disk& disk);

// Gives the files of the last run in this tree their old texts.
Expected<Applied> undo(const Input& input, Disk& disk);

}  // namespace refit
