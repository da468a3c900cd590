// A git work tree through libgit2. Entry point: GitTree::open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/text/expected.hpp"

struct git_repository;

namespace refit {

class GitTree {
 public:
  struct Listing {
    std::vector<std::string> files;         // regular files, relative to the top
    std::vector<std::string> links;         // symbolic links
    std::vector<std::string> repositories;  // submodules and other repositories inside
    std::vector<std::string> unreadable;    // folders and files that git could not read
  };

  // The work tree that `folder` lies in; nothing where there is none; an error where there is one
  // that libgit2 cannot read.
  static Expected<std::optional<GitTree>> open(const std::string& folder);

  const std::string& top() const { return top_; }  // absolute, without a final '/' or links
  // Git's own folder of this work tree, which for a linked work tree or a submodule lies elsewhere.
  std::string folder() const;
  bool ignores(const std::string& relative, bool folder) const;

  // What lies under `prefix` (relative to the top; "" for all): tracked, or untracked and not
  // ignored.
  Expected<Listing> list(const std::string& prefix) const;

  // Stretches of lines, from 1, both ends included.
  using Lines = std::vector<std::pair<uint32_t, uint32_t>>;
  // By file, the lines of the work tree that a revision has not: all of an untracked file, and of
  // those of the `files` that it has not, whether or not git ignores them.
  Expected<std::map<std::string, Lines>> changed_since(const std::string& revision,
                                                       const std::set<std::string>& files) const;

  // The texts that a revision has of these files, by name; those that it has not are left out.
  Expected<std::map<std::string, std::string>> texts_at(
      const std::string& revision, const std::vector<std::string>& files) const;

  // Those of the files, by name, that are not as the last commit has them.
  Expected<std::vector<std::string>> uncommitted(const std::vector<std::string>& files) const;

 private:
  struct Free {
    void operator()(git_repository* repository) const;
  };

  std::unique_ptr<git_repository, Free> repository_;
  std::string top_;
};

}  // namespace refit
