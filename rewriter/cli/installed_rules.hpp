// Rules that an installed Python package brings along. Entry point: rules_path.
#pragma once

#include <string>

#include "rewriter/text/expected.hpp"

namespace refit {

// What `--rules` names: a file or a folder that is there stays; another word that could be a name
// is looked up among the entry points `refit.rules` of the Python on PATH, and is the folder of the
// package that the entry point names. Fails where there is none.
Expected<std::string> rules_path(const std::string& given);

}  // namespace refit
