// Finding the tree of a file. Entry points: explain_input, tree_folder.
#include "rewriter/cli/explain_input.hpp"

#include <filesystem>
#include <utility>

namespace refit {
namespace {

// The work tree's top, or the outermost package.
std::string tree_of(const Input& input) {
  const std::filesystem::path root(input.root);
  std::error_code none;
  if (std::filesystem::exists(root / ".git", none)) return root.string();
  const std::string& name = input.files.front().relative;
  const std::size_t slash = name.find('/');
  return slash == std::string::npos ? root.string() : (root / name.substr(0, slash)).string();
}

}  // namespace

tl::expected<ExplainInput, DiscoveryFailure> explain_input(const std::string& file) {
  auto alone = discover({file}, {});
  if (!alone) return tl::unexpected(alone.error());
  if (alone->input.files.empty()) {
    return tl::unexpected(DiscoveryFailure{true, file + " is no Python file that git would show"});
  }
  const InputFile asked = alone->input.files.front();
  if (auto whole = discover({tree_of(alone->input)}, {})) {
    for (const InputFile& other : whole->input.files) {
      std::error_code none;
      if (!std::filesystem::equivalent(other.path, asked.path, none)) continue;
      std::string name = other.relative;
      return ExplainInput{std::move(whole->input), std::move(name)};
    }
  }
  return ExplainInput{std::move(alone->input), asked.relative};
}

std::optional<std::string> tree_folder(const std::string& file) {
  const auto alone = discover({file}, {});
  if (!alone || alone->input.files.empty()) return std::nullopt;
  return tree_of(alone->input);
}

}  // namespace refit
