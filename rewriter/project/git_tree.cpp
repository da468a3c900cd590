// A git work tree. Entry points: GitTree::list, changed_since, texts_at, uncommitted.
#include "rewriter/project/git_tree.hpp"

#include <fmt/format.h>
#include <git2.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string_view>

#include "rewriter/text/libgit2.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

Error git_failure(std::string_view step) {
  return Error{fmt::format("{}: {}", step, last_git_error())};
}

struct FreeDiff {
  void operator()(git_diff* diff) const { git_diff_free(diff); }
};
struct FreeObject {
  void operator()(git_object* object) const { git_object_free(object); }
};
struct FreeStatus {
  void operator()(git_status_list* list) const { git_status_list_free(list); }
};
struct FreeIndex {
  void operator()(git_index* index) const { git_index_free(index); }
};

bool under(std::string_view path, std::string_view prefix) {
  return prefix.empty() ||
         (path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/'));
}

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

}  // namespace

void GitTree::Free::operator()(git_repository* repository) const {
  git_repository_free(repository);
}

Expected<std::optional<GitTree>> GitTree::open(const std::string& folder) {
  start_libgit2();
  // The owner of a repository matters to git because it may run the repository's hooks and
  // commands; libgit2 runs none, and a mounted checkout often belongs to someone else.
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
  git_repository* raw = nullptr;
  const int status =
      git_repository_open_ext(&raw, folder.c_str(), GIT_REPOSITORY_OPEN_CROSS_FS, nullptr);
  if (status == GIT_ENOTFOUND) return std::optional<GitTree>();
  if (status != 0) return tl::unexpected<Error>(git_failure("opening the git repository"));
  GitTree tree;
  tree.repository_.reset(raw);
  const char* top = git_repository_workdir(raw);
  if (top == nullptr) return std::optional<GitTree>();  // a bare repository has no tree
  std::error_code error;
  const fs::path real = fs::canonical(top, error);
  if (error) {
    return failure(fmt::format("looking up the work tree {}: {}", top, error.message()));
  }
  tree.top_ = without_slash(real.string());
  return std::optional<GitTree>(std::move(tree));
}

std::string GitTree::folder() const {
  return without_slash(git_repository_path(repository_.get()));
}

bool GitTree::ignores(const std::string& relative, bool folder) const {
  if (relative.empty()) return false;
  int ignored = 0;
  const std::string path = folder ? relative + "/" : relative;
  if (git_ignore_path_is_ignored(&ignored, repository_.get(), path.c_str()) != 0) return false;
  return ignored == 1;
}

Expected<GitTree::Listing> GitTree::list(const std::string& prefix) const {
  Listing listing;
  git_diff_options options;
  git_index* raw_index = nullptr;
  if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) != 0 ||
      git_index_new(&raw_index) != 0) {
    return tl::unexpected<Error>(git_failure("listing the git work tree"));
  }
  const std::unique_ptr<git_index, FreeIndex> nothing(raw_index);

  // Against an empty index every file is untracked: one walk by git's ignore rules, and no file's
  // content is compared with anything.
  options.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_RECURSE_UNTRACKED_DIRS |
                  GIT_DIFF_INCLUDE_UNREADABLE | GIT_DIFF_DISABLE_PATHSPEC_MATCH;
  char* pathspec = const_cast<char*>(prefix.c_str());  // libgit2's type; it does not write there
  if (!prefix.empty()) options.pathspec = {&pathspec, 1};
  git_diff* raw_diff = nullptr;
  if (git_diff_index_to_workdir(&raw_diff, repository_.get(), nothing.get(), &options) != 0) {
    return tl::unexpected<Error>(git_failure("listing the git work tree"));
  }
  const std::unique_ptr<git_diff, FreeDiff> diff(raw_diff);
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(diff.get(), i);
    const std::string path = without_slash(delta->new_file.path);
    if (delta->status == GIT_DELTA_UNREADABLE) {
      listing.unreadable.push_back(path);
    } else if (delta->new_file.mode == GIT_FILEMODE_COMMIT ||
               delta->new_file.mode == GIT_FILEMODE_TREE) {
      listing.repositories.push_back(path);
    } else if (delta->new_file.mode == GIT_FILEMODE_LINK) {
      listing.links.push_back(path);
    } else {
      listing.files.push_back(path);
    }
  }

  // Tracked files count even where an ignore rule names them.
  if (git_repository_index(&raw_index, repository_.get()) != 0) {
    return tl::unexpected<Error>(git_failure("reading the git index"));
  }
  const std::unique_ptr<git_index, FreeIndex> index(raw_index);
  std::ranges::sort(listing.files);
  const std::size_t seen = listing.files.size();
  for (std::size_t i = 0; i < git_index_entrycount(index.get()); ++i) {
    const git_index_entry* entry = git_index_get_byindex(index.get(), i);
    const std::string path = entry->path;
    if (entry->mode == GIT_FILEMODE_COMMIT || entry->mode == GIT_FILEMODE_LINK ||
        !under(path, prefix) ||
        std::binary_search(listing.files.begin(),
                           listing.files.begin() + static_cast<std::ptrdiff_t>(seen), path)) {
      continue;
    }
    std::error_code error;
    if (fs::symlink_status(fs::path(top_) / path, error).type() == fs::file_type::regular) {
      listing.files.push_back(path);
    }
  }
  std::ranges::sort(listing.files);
  listing.files.erase(std::unique(listing.files.begin(), listing.files.end()), listing.files.end());
  return listing;
}

Expected<std::map<std::string, GitTree::Lines>> GitTree::changed_since(
    const std::string& revision, const std::set<std::string>& files) const {
  git_object* raw_tree = nullptr;
  if (git_revparse_single(&raw_tree, repository_.get(), (revision + "^{tree}").c_str()) != 0) {
    return failure(fmt::format("git knows no revision {}: {}", revision, last_git_error()));
  }
  const std::unique_ptr<git_object, FreeObject> tree(raw_tree);
  git_diff_options options;
  git_diff* raw_diff = nullptr;
  if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION) != 0) {
    return tl::unexpected<Error>(git_failure("comparing the git work tree"));
  }
  options.flags = GIT_DIFF_INCLUDE_UNTRACKED | GIT_DIFF_RECURSE_UNTRACKED_DIRS |
                  GIT_DIFF_SHOW_UNTRACKED_CONTENT;
  options.context_lines = 0;
  if (git_diff_tree_to_workdir_with_index(&raw_diff, repository_.get(),
                                          reinterpret_cast<git_tree*>(tree.get()), &options) != 0) {
    return tl::unexpected<Error>(git_failure("comparing the git work tree"));
  }
  const std::unique_ptr<git_diff, FreeDiff> diff(raw_diff);
  std::map<std::string, Lines> changed;
  const auto note = [](const git_diff_delta* delta, const git_diff_hunk* hunk, void* into) {
    if (hunk->new_lines > 0) {
      const auto first = static_cast<uint32_t>(hunk->new_start);
      (*static_cast<std::map<std::string, Lines>*>(into))[delta->new_file.path].emplace_back(
          first, first + static_cast<uint32_t>(hunk->new_lines) - 1);
    }
    return 0;
  };
  if (git_diff_foreach(diff.get(), nullptr, nullptr, note, nullptr, &changed) != 0) {
    return tl::unexpected<Error>(git_failure("comparing the git work tree"));
  }
  for (const std::string& file : files) {
    git_tree_entry* raw_entry = nullptr;
    const int found =
        git_tree_entry_bypath(&raw_entry, reinterpret_cast<git_tree*>(tree.get()), file.c_str());
    git_tree_entry_free(raw_entry);
    if (found == GIT_ENOTFOUND) changed[file] = {{1, std::numeric_limits<uint32_t>::max()}};
    if (found != 0 && found != GIT_ENOTFOUND) {
      return tl::unexpected<Error>(git_failure("reading the revision"));
    }
  }
  return changed;
}

Expected<std::map<std::string, std::string>> GitTree::texts_at(
    const std::string& revision, const std::vector<std::string>& files) const {
  git_object* raw_tree = nullptr;
  if (git_revparse_single(&raw_tree, repository_.get(), (revision + "^{tree}").c_str()) != 0) {
    return failure(fmt::format("git knows no revision {}: {}", revision, last_git_error()));
  }
  const std::unique_ptr<git_object, FreeObject> tree(raw_tree);
  std::map<std::string, std::string> texts;
  for (const std::string& file : files) {
    git_object* raw = nullptr;
    const int found = git_object_lookup_bypath(&raw, tree.get(), file.c_str(), GIT_OBJECT_BLOB);
    const std::unique_ptr<git_object, FreeObject> object(raw);
    if (found == GIT_ENOTFOUND || found == GIT_EINVALIDSPEC) continue;
    if (found != 0) return tl::unexpected<Error>(git_failure("reading the revision"));
    const auto* blob = reinterpret_cast<const git_blob*>(object.get());
    texts.emplace(file, std::string(static_cast<const char*>(git_blob_rawcontent(blob)),
                                    static_cast<std::size_t>(git_blob_rawsize(blob))));
  }
  return texts;
}

Expected<std::vector<std::string>> GitTree::uncommitted(
    const std::vector<std::string>& files) const {
  std::vector<std::string> found;
  if (files.empty()) return found;
  std::vector<char*> paths;  // libgit2's type; it does not write there
  paths.reserve(files.size());
  for (const std::string& file : files) paths.push_back(const_cast<char*>(file.c_str()));
  git_status_options options;
  git_status_list* raw = nullptr;
  if (git_status_options_init(&options, GIT_STATUS_OPTIONS_VERSION) != 0) {
    return tl::unexpected<Error>(git_failure("asking git for changed files"));
  }
  options.show = GIT_STATUS_SHOW_INDEX_AND_WORKDIR;
  options.flags = GIT_STATUS_OPT_INCLUDE_UNTRACKED | GIT_STATUS_OPT_RECURSE_UNTRACKED_DIRS |
                  GIT_STATUS_OPT_DISABLE_PATHSPEC_MATCH | GIT_STATUS_OPT_NO_REFRESH;
  options.pathspec = {paths.data(), paths.size()};
  if (git_status_list_new(&raw, repository_.get(), &options) != 0) {
    return tl::unexpected<Error>(git_failure("asking git for changed files"));
  }
  const std::unique_ptr<git_status_list, FreeStatus> list(raw);
  for (std::size_t i = 0; i < git_status_list_entrycount(list.get()); ++i) {
    const git_status_entry* entry = git_status_byindex(list.get(), i);
    const git_diff_delta* delta =
        entry->index_to_workdir != nullptr ? entry->index_to_workdir : entry->head_to_index;
    if (entry->status != GIT_STATUS_CURRENT && delta != nullptr) {
      found.emplace_back(delta->new_file.path);
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace refit
