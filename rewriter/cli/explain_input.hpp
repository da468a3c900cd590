// The tree in which the names of one file resolve. Entry points: explain_input,
// tree_folder.
#pragma once

#include <optional>
#include <string>

#include "rewriter/project/discover.hpp"
#include "rewriter/project/input.hpp"

namespace refit {

struct ExplainInput {
  Input input;       // of the work tree's top or the outermost package; else of the file alone
  std::string name;  // the file's, in the input
};

tl::expected<ExplainInput, DiscoveryFailure> explain_input(const std::string& file);

// The folder of that tree; nothing where the file cannot be read.
std::optional<std::string> tree_folder(const std::string& file);

}  // namespace refit
