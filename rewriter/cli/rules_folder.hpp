// Where the rules that ship lie. Entry point: find_rules_folder.
#pragma once

#include <string>

#include "rewriter/text/expected.hpp"

namespace refit {

// $REFIT_RULES_DIR if it is set; else share/refit/rules beside the executable's folder; else the
// source tree's rules/ that the build was made from. Fails where none of them is a folder.
Expected<std::string> find_rules_folder();

}  // namespace refit
