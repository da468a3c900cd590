// Where the old texts are: in git, or in the record of the last run. Entry point: originals.
#include "rewriter/cli/originals.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <utility>
#include <vector>

#include "rewriter/cli/apply.hpp"
#include "rewriter/project/git_tree.hpp"

namespace refit {
namespace {

Expected<std::map<std::string, std::string>> texts_in_git(const Input& input,
                                                          const std::string& revision) {
  const auto tree = GitTree::open(input.root);
  if (!tree) return tl::unexpected(tree.error());
  if (!*tree) {
    return failure(fmt::format("--revision needs a git work tree, and {} is in none", input.root));
  }
  std::string below;  // the root's name in the work tree, whose top it is not where git ignores it
  const std::filesystem::path root(input.root);
  if (root != (*tree)->top()) below = root.lexically_relative((*tree)->top()).string() + "/";
  std::vector<std::string> names;
  for (const InputFile& file : input.files) names.push_back(below + file.relative);
  auto texts = (*tree)->texts_at(revision, names);
  if (!texts) return tl::unexpected(texts.error());
  std::map<std::string, std::string> found;
  for (auto& [name, text] : *texts) found.emplace(name.substr(below.size()), std::move(text));
  return found;
}

}  // namespace

Expected<Originals> originals(const Input& input, const std::optional<std::string>& revision,
                              Disk& disk) {
  Originals found;
  if (revision) {
    auto texts = texts_in_git(input, *revision);
    if (!texts) return tl::unexpected(texts.error());
    found.texts = std::move(*texts);
    found.from = fmt::format("the texts of git's {}", *revision);
  } else {
    auto last = last_run(input, disk);
    if (!last) return tl::unexpected(last.error());
    for (FileChange& change : *last) {
      found.texts.emplace(std::move(change.file), std::move(change.before));
    }
    found.from = "the texts before the last `refit migrate --write`";
  }
  std::map<std::string, std::string> kept;
  for (const InputFile& file : input.files) {
    const auto text = found.texts.find(file.relative);
    if (text == found.texts.end()) continue;
    const auto now = disk.read(file.path, std::numeric_limits<uint64_t>::max());
    if (!now) return failure(fmt::format("cannot read {}: {}", file.path, now.error().message));
    if (*now != text->second) kept.insert(found.texts.extract(text));
  }
  found.texts = std::move(kept);
  return found;
}

}  // namespace refit
