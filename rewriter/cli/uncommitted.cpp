#include "rewriter/cli/uncommitted.hpp"

#include <fmt/format.h>

#include <vector>

#include "rewriter/project/git_tree.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {

std::string uncommitted_text(const RunResult& result, const Input& input) {
  const auto tree = GitTree::open(input.root);
  // Names of files are git's only where the run's root is the work tree's.
  if (!tree || !*tree || (*tree)->top() != input.root) return {};
  std::vector<std::string> changed;
  for (const FileResult& file : result.changed) changed.push_back(file.file);
  const auto found = (*tree)->uncommitted(changed);
  if (!found || found->empty()) return {};
  return fmt::format(
      "warning: {} that {} rewritten {} changes that are not committed, {} for one; commit first "
      "to see the two apart\n",
      count_of(found->size(), "file"), found->size() == 1 ? "is" : "are",
      found->size() == 1 ? "has" : "have", printable(found->front(), Breaks::escaped));
}

}  // namespace refit
