#include "rewriter/cli/uncommitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "rewriter/project/git_tree.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {

std::string uncommitted_text(const RunResult& result, const Input& input) {
  const auto tree = GitTree::open(input.root);
  if (!tree || !*tree) return {};
  // The run's root lies below the work tree's top where git ignores the PATH, which may hold files
  // that are tracked all the same.
  const std::string below =
      std::filesystem::path(input.root).lexically_relative((*tree)->top()).string();
  const std::string prefix = below == "." ? "" : below + "/";
  std::vector<std::string> changed;
  for (const FileResult& file : result.changed) changed.push_back(prefix + file.file);
  const auto found = (*tree)->uncommitted(changed);
  if (!found || found->empty()) return {};
  const std::string& first = found->front();
  return fmt::format(
      "warning: {} that {} rewritten {} changes that are not committed, {} for one; commit first "
      "to see the two apart\n",
      count_of(found->size(), "file"), found->size() == 1 ? "is" : "are",
      found->size() == 1 ? "has" : "have",
      printable(first.substr(std::min(prefix.size(), first.size())), Breaks::escaped));
}

}  // namespace refit
