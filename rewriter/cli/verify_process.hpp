// The Python program that runs functions for `refit verify`. Entry point: run_functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/report/verification.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// A file's text as it was and as it is migrated. The one that lies on the disk is one of them.
struct FileVersions {
  std::string file;  // relative to the root
  std::string before, after;
  // Arguments of its functions that are not drawn: expressions of Python by parameter.
  std::map<std::string, std::string> arguments = {};
};

struct VerifyJob {
  std::vector<FileVersions> files;  // of Python
  std::vector<const Finding*> sites;
  std::string python = "python3";
  std::optional<std::string> inputs;  // FILE.py:function
  double seconds = 60;                // for each step of a function
  bool original_lies = true;          // on the disk
  bool progress = false;
};

// Runs the functions that differ, in processes that import the tree's code. Fails where none could
// be run, for lack of Python, torch or the runtime, or because of what `inputs` names.
Expected<Verification> run_functions(const Input& input, const VerifyJob& job);

}  // namespace refit
