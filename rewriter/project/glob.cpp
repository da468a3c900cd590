// Globs by path component, through fnmatch(3). Entry point: Glob::matches.
#include "rewriter/project/glob.hpp"

#include <fnmatch.h>

#include <algorithm>

namespace refit {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (!name.empty() && name != ".") names.emplace_back(name);
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return names;
}

}  // namespace

Glob::Glob(std::string_view pattern) {
  folders_only_ = pattern.ends_with('/');
  if (folders_only_) pattern.remove_suffix(1);
  const bool anchored = pattern.find('/') != std::string_view::npos;
  parts_ = split(pattern);
  if (!anchored && !parts_.empty()) parts_.insert(parts_.begin(), "**");
}

// Dynamic programming over (part, name), so that many `**` cost no more than their product.
bool Glob::matches_names(const std::vector<std::string>& names, std::size_t count) const {
  if (parts_.empty()) return false;
  std::vector<bool> reached(count + 1, false);  // reached[n]: the parts so far match n names
  reached[0] = true;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    std::vector<bool> next(count + 1, false);
    for (std::size_t n = 0; n <= count; ++n) {
      if (parts_[part] == "**") {
        // A last `**` stands for what lies inside, so for one name at least.
        const bool last = part + 1 == parts_.size() && part > 0;
        if (!last && reached[n]) next[n] = true;
        if (n > 0 && (next[n - 1] || reached[n - 1])) next[n] = true;
      } else if (n > 0 && reached[n - 1]) {
        next[n] = fnmatch(parts_[part].c_str(), names[n - 1].c_str(), 0) == 0;
      }
    }
    reached = std::move(next);
  }
  return reached[count];
}

bool Glob::matches(std::string_view path) const {
  const std::vector<std::string> names = split(path);
  if (!folders_only_ && matches_names(names, names.size())) return true;
  const std::size_t slash = path.rfind('/');
  return slash != std::string_view::npos && matches_folder(path.substr(0, slash));
}

bool Glob::matches_folder(std::string_view path) const {
  const std::vector<std::string> names = split(path);
  for (std::size_t count = 1; count <= names.size(); ++count) {
    if (matches_names(names, count)) return true;
  }
  return false;
}

bool any_matches(const std::vector<Glob>& globs, std::string_view path) {
  return std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches(path); });
}

bool any_matches_folder(const std::vector<Glob>& globs, std::string_view path) {
  return std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches_folder(path); });
}

}  // namespace refit
