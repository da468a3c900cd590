// Where the files that ship with refit lie: its rules, and the program of `refit verify`. Entry
// points: find_rules_folder, find_verify_program.
#pragma once

#include <string>

#include "rewriter/text/expected.hpp"

namespace refit {

// $REFIT_RULES_DIR if it is set; else share/refit/rules beside the executable's folder; else the
// source tree's rules/ that the build was made from. Fails where none of them is a folder.
Expected<std::string> find_rules_folder();

// A folder that Python runs: share/refit/verify beside the executable's folder; else the source
// tree's verify/ that the build was made from.
Expected<std::string> find_verify_program();

}  // namespace refit
