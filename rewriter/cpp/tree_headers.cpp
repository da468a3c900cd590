#include "rewriter/cpp/tree_headers.hpp"

namespace refit::cpp {

namespace {

std::string_view own_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

TreeHeaders::TreeHeaders(const std::vector<std::string>& files) {
  for (const std::string& file : files) by_name_.emplace(own_name(file), file);
}

std::optional<std::string> TreeHeaders::root_of(std::string_view included) const {
  std::optional<std::string> root;
  const auto [first, last] = by_name_.equal_range(std::string(own_name(included)));
  for (auto at = first; at != last; ++at) {
    const std::string_view file = at->second;
    if (!file.ends_with(included)) continue;
    std::string_view folder = file.substr(0, file.size() - included.size());
    if (!folder.empty() && !folder.ends_with('/')) continue;
    if (root) return std::nullopt;
    root = folder.substr(0, folder.empty() ? 0 : folder.size() - 1);
  }
  return root;
}

}  // namespace refit::cpp
