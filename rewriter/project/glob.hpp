// Globs on paths, in the manner of .gitignore. Entry point: Glob::matches.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace refit {

// `*`, `?` and `[…]` match within one name, `**` any number of folders. A glob with a '/' that is
// not its last character is anchored at the root; any other one matches at every depth. A glob that
// matches a folder matches all that lies in it; one that ends in '/' matches folders only.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  // `path` is a file's path relative to the root, '/' separated.
  bool matches(std::string_view path) const;
  // Whether it matches the folder `path`, and so every file in it.
  bool matches_folder(std::string_view path) const;

 private:
  bool matches_names(const std::vector<std::string>& names, std::size_t count) const;

  std::vector<std::string> parts_;
  bool folders_only_ = false;
};

bool any_matches(const std::vector<Glob>& globs, std::string_view path);
bool any_matches_folder(const std::vector<Glob>& globs, std::string_view path);

}  // namespace refit
