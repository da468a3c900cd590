// Discovery over a git work tree or a plain folder. Entry point: discover.
#include "rewriter/project/discover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "rewriter/project/git_tree.hpp"
#include "rewriter/project/glob.hpp"
#include "rewriter/project/language.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

bool inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

std::string relative_to(const fs::path& path, const fs::path& root) {
  const std::string relative = path.lexically_relative(root).generic_string();
  return relative == "." ? std::string() : relative;
}

bool is_source(const fs::path& path) { return language_of(path.filename().native()) != nullptr; }

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The folder from which the outermost package that holds `folder` (or is it) is imported.
fs::path outside_package(fs::path folder, const fs::path& limit) {
  while (folder != limit && folder.has_relative_path() && is_there(folder / "__init__.py")) {
    folder = folder.parent_path();
  }
  return folder;
}

// One of the PATHs, looked up.
struct Start {
  std::string given;  // as the user wrote it
  fs::path path;      // absolute, without links
  fs::path folder;    // the path itself, or the folder of a file
  bool is_folder = false;
  fs::path root;
  std::optional<GitTree> git;  // absent: the tree as it lies
};

class Search {
 public:
  explicit Search(const DiscoveryOptions& options) {
    for (const std::string& glob : options.include) include_.emplace_back(glob);
    for (const std::string& glob : options.exclude) exclude_.emplace_back(glob);
  }

  Expected<Start> look_up(const std::string& given) {
    std::error_code error;
    Start start;
    start.given = given;
    start.path = fs::canonical(given, error);
    if (error) return failure(fmt::format("cannot read {}: {}", given, error.message()));
    const fs::file_status status = fs::status(start.path, error);
    start.is_folder = status.type() == fs::file_type::directory;
    if (!start.is_folder && (status.type() != fs::file_type::regular || !is_source(start.path))) {
      return failure(
          fmt::format("cannot read {}: expected a folder or a source file (*.py, *.cpp)", given));
    }
    start.folder = start.is_folder ? start.path : start.path.parent_path();
    start.root = outside_package(start.folder, start.folder.root_path());

    auto git = GitTree::open(start.folder.string());
    if (!git) {
      notes_.insert(fmt::format(
          "{}: its git repository could not be read ({}); ignore files were not honoured", given,
          git.error().message));
    } else if (git->has_value()) {
      const fs::path top = (*git)->top();
      if ((*git)->ignores(relative_to(start.path, top), start.is_folder)) {
        if (start.is_folder) {
          notes_.insert(fmt::format(
              "{}: git ignores this path, so ignore files were not honoured in it", given));
        }
      } else {
        start.root = top;
        start.git = std::move(**git);
      }
    }
    return start;
  }

  void list(const Start& start) {
    root_ = start.root;
    if (start.git) git_folder_ = start.git->folder();
    start_ = start.is_folder ? start.path : start.folder;
    if (!is_there(start_ / "__init__.py")) module_roots_.insert(relative_to(start_, root_));
    if (!start.is_folder) {
      take(relative_to(start.path, root_));
    } else if (start.git) {
      list_git(*start.git);
    } else {
      list_plain();
    }
  }

  Discovery result() {
    Discovery found;
    found.input.root = root_.string();
    found.input.git_folder = git_folder_;
    module_roots_.insert("");
    std::ranges::sort(files_);
    files_.erase(std::unique(files_.begin(), files_.end()), files_.end());
    found.input.files.reserve(files_.size());
    const std::string root = (root_ / "").string();
    std::string last;  // folder; most files lie in the same one as the file before
    for (std::string& relative : files_) {
      found.input.files.push_back({root + relative, std::move(relative)});
      const std::string& path = found.input.files.back().path;
      const std::string_view in = std::string_view(path).substr(0, path.rfind('/'));
      if (in == last) continue;
      last = in;
      const fs::path folder = fs::path(path).parent_path();
      // A folder without __init__.py is no package; only a script that lies in it imports from it.
      if (const fs::path& from = import_folder(folder); from != folder) {
        module_roots_.insert(relative_to(from, root_));
      }
    }
    files_.clear();
    found.input.module_roots.assign(module_roots_.begin(), module_roots_.end());
    for (const auto& [file, message] : problems_) {
      found.problems.push_back({file.empty() ? "." : file, message});
    }
    found.notes.assign(notes_.begin(), notes_.end());
    return found;
  }

 private:
  void take(std::string relative) {
    if (!include_.empty() && !any_matches(include_, relative)) return;
    if (any_matches(exclude_, relative)) return;
    files_.push_back(std::move(relative));
  }

  void list_git(const GitTree& git) {
    const auto listing = git.list(relative_to(start_, root_));
    if (!listing) {
      problems_.emplace(relative_to(start_, root_), listing.error().message);
      return;
    }
    for (const std::string& file : listing->files) {
      const fs::path path = root_ / file;
      if (is_source(path) && !in_environment(path.parent_path())) take_regular(path);
    }
    for (const std::string& link : listing->links) look_at_link(root_ / link);
    for (const std::string& repository : listing->repositories) note_repository(repository);
    for (const std::string& unreadable : listing->unreadable) {
      problems_.emplace(unreadable, "cannot be read: Permission denied");
    }
    look_for_closed_folders(git);
  }

  // Folders that cannot be opened. libgit2 reports some of them and passes over others.
  void look_for_closed_folders(const GitTree& git) {
    std::vector<fs::path> work{start_};
    while (!work.empty()) {
      const fs::path folder = work.back();
      work.pop_back();
      std::error_code error;
      fs::directory_iterator entries(folder, error);
      if (error == std::errc::permission_denied) {
        problems_.emplace(relative_to(folder, root_), "cannot be read: Permission denied");
      }
      if (error) continue;
      for (const fs::directory_entry& entry : entries) {
        if (entry.symlink_status(error).type() != fs::file_type::directory || error) continue;
        if (entry.path().filename() == ".git") continue;
        if (!git.ignores(relative_to(entry.path(), root_), true)) work.push_back(entry.path());
      }
    }
  }

  void take_regular(const fs::path& path) {
    std::error_code error;
    const fs::file_type type = fs::symlink_status(path, error).type();
    if (type == fs::file_type::regular) {
      take(relative_to(path, root_));
    } else if (type != fs::file_type::not_found) {
      notes_.insert(relative_to(path, root_) + ": not a regular file; left out");
    }
  }

  // By an explicit stack: how deep folders nest is not for the call stack to bear.
  void list_plain() {
    std::vector<Folder> folders{{start_, relative_to(start_, root_)}};
    while (!folders.empty()) {
      const Folder folder = std::move(folders.back());
      folders.pop_back();
      std::error_code error;
      fs::directory_iterator entries(folder.path, error);
      const fs::directory_iterator end;
      while (!error && entries != end) {
        visit(*entries, folder, folders);
        entries.increment(error);
      }
      if (error) {
        problems_.emplace(folder.relative, fmt::format("cannot be read: {}", error.message()));
      }
    }
  }

  struct Folder {
    fs::path path;
    std::string relative;
  };

  // What an entry is the folder's listing says itself, where the file system tells it.
  void visit(const fs::directory_entry& entry, const Folder& folder, std::vector<Folder>& folders) {
    std::error_code error;
    const fs::path& path = entry.path();
    auto relative = [&] {
      std::string name = path.filename().native();
      return folder.relative.empty() ? name : folder.relative + "/" + name;
    };
    if (entry.is_symlink(error)) {
      look_at_link(path);
    } else if (entry.is_directory(error)) {
      const fs::path name = path.filename();
      if (name == ".git" || name == "__pycache__" || is_environment(path)) return;
      std::string inner = relative();
      if (any_matches_folder(exclude_, inner)) return;
      folders.push_back({path, std::move(inner)});
    } else if (is_source(path)) {
      if (entry.is_regular_file(error)) {
        take(relative());
      } else if (entry.exists(error)) {
        notes_.insert(relative() + ": not a regular file; left out");
      }
    }
  }

  // Every link is left where it is; this says whether the user should hear of it.
  void look_at_link(const fs::path& link) {
    const std::string name = relative_to(link, root_);
    if (any_matches(exclude_, name)) return;
    std::error_code error;
    const fs::path target = fs::canonical(link, error);
    if (error == std::errc::too_many_symbolic_link_levels) {
      notes_.insert(name + ": a symbolic link that leads back to itself; not followed");
    } else if (error) {
      if (is_source(link)) {
        notes_.insert(fmt::format("{}: a symbolic link that leads nowhere ({}); not followed", name,
                                  error.message()));
      }
    } else if (const bool folder = fs::is_directory(target, error);
               folder || is_source(link) || is_source(target)) {
      if (!inside(target, start_)) {
        // Whether that file may be edited at all is its own tree's affair.
        if (!inside(start_, target)) {
          notes_.insert(
              fmt::format("{}: a symbolic link that leads out of the tree, to {}; not followed",
                          name, target.string()));
          return;
        }
      }
      if (inside(link, target)) {
        notes_.insert(name + ": a symbolic link to a folder above it; not followed");
      }
    }
  }

  void note_repository(const std::string& repository) {
    const fs::path path = root_ / repository;
    if (path == start_ || any_matches(exclude_, repository)) return;
    notes_.insert(repository +
                  ": a git repository of its own; left out (name it as a PATH to migrate it)");
  }

  bool is_environment(const fs::path& folder) {
    const auto [at, fresh] = environments_.emplace(folder, false);
    if (!fresh) return at->second;
    if (folder == start_ || !is_there(folder / "pyvenv.cfg")) return false;
    at->second = true;
    notes_.insert(relative_to(folder, root_) + ": a virtual environment (pyvenv.cfg); left out");
    return true;
  }

  bool in_environment(fs::path folder) {
    for (; folder != start_ && inside(folder, start_); folder = folder.parent_path()) {
      if (is_environment(folder)) return true;
    }
    return false;
  }

  const fs::path& import_folder(const fs::path& folder) {
    const auto [at, fresh] = import_folders_.emplace(folder, fs::path());
    if (fresh) at->second = outside_package(folder, root_);
    return at->second;
  }

  std::vector<Glob> include_, exclude_;
  fs::path root_;
  std::string git_folder_;
  fs::path start_;  // the folder being listed
  std::vector<std::string> files_;
  std::set<std::string> notes_, module_roots_;
  std::set<std::pair<std::string, std::string>> problems_;
  std::map<fs::path, bool> environments_;
  std::map<fs::path, fs::path> import_folders_;
};

}  // namespace

tl::expected<Discovery, DiscoveryFailure> discover(const std::vector<std::string>& paths,
                                                   const DiscoveryOptions& options) {
  const auto fail = [](bool usage, std::string message) {
    return tl::unexpected<DiscoveryFailure>(DiscoveryFailure{usage, std::move(message)});
  };
  if (paths.empty()) return fail(true, "expected at least one PATH, found none");
  Search search(options);
  std::vector<Start> starts;
  for (const std::string& path : paths) {
    auto start = search.look_up(path);
    if (!start) return fail(false, start.error().message);
    if (!starts.empty() && starts.front().root != start->root) {
      return fail(true, fmt::format("the PATHs lie in two trees: {} in {} and {} in {}; run the "
                                    "command once for each",
                                    starts.front().given, starts.front().root.string(),
                                    start->given, start->root.string()));
    }
    starts.push_back(std::move(*start));
  }
  for (const Start& start : starts) search.list(start);
  return search.result();
}

}  // namespace refit
