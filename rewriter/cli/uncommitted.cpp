#include "rewriter/cli/uncommitted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "rewriter/project/git_tree.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

// The files of one work tree, by the names that git has for them, which are relative to its top.
struct InTree {
  GitTree tree;
  std::vector<std::string> files;
};

// By top. A run's root is no work tree's top where git ignores the PATH given, and files of several
// work trees can lie below one root.
std::map<std::string, InTree> by_work_tree(const RunResult& result, const std::string& root) {
  std::map<std::string, InTree> trees;
  std::map<std::string, std::string> tops;  // by folder; empty where no work tree has it
  for (const FileResult& file : result.changed) {
    const std::string path = root + file.file;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    auto [top, unknown] = tops.try_emplace(folder);
    if (unknown) {
      auto tree = GitTree::open(folder);
      if (!tree || !*tree) continue;
      top->second = (*tree)->top();
      trees.try_emplace(top->second, InTree{std::move(**tree), {}});
    }
    const std::string inside = top->second == "/" ? "/" : top->second + "/";
    if (!top->second.empty() && path.starts_with(inside)) {
      trees.at(top->second).files.push_back(path.substr(inside.size()));
    }
  }
  return trees;
}

}  // namespace

std::string uncommitted_text(const RunResult& result, const Input& input) {
  const std::string root = input.root == "/" ? "/" : input.root + "/";
  std::vector<std::string> found;  // as the run names them, relative to its root
  for (const auto& [top, in] : by_work_tree(result, root)) {
    const auto names = in.tree.uncommitted(in.files);
    if (!names) continue;
    for (const std::string& name : *names) {
      const std::string path = (top == "/" ? top : top + "/") + name;
      if (path.starts_with(root)) found.push_back(path.substr(root.size()));
    }
  }
  if (found.empty()) return {};
  std::ranges::sort(found);
  return fmt::format(
      "warning: {} that {} rewritten {} changes that are not committed, {} for one; commit first "
      "to see the two apart\n",
      count_of(found.size(), "file"), found.size() == 1 ? "is" : "are",
      found.size() == 1 ? "has" : "have", printable(found.front(), Breaks::escaped));
}

}  // namespace refit
