// Listing the places of journals. Entry points: places_for, places_of.
#include "rewriter/cli/journal_place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

namespace refit {
namespace {

// Where the user's programs keep their state (the XDG base directory specification), as the folders
// to make below one that is there. Empty where the user has no such place.
std::vector<std::string> state_folders() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/') {
    const std::filesystem::path folder = (std::filesystem::path(state) / "").parent_path();
    return {folder.parent_path().string(), folder.filename().string(), "refit"};
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return {home, ".local", "state", "refit"};
}

std::string state_folder() { return fmt::format("{}", fmt::join(state_folders(), "/")); }

JournalPlace place_in(std::string_view folder) {
  const std::string root(folder == "/" ? "" : folder);
  const std::string state = state_folder();
  const std::string name = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(root)), true);
  return {root, root + "/.refit", state.empty() ? "" : fmt::format("{}/{:.32}", state, name)};
}

std::string_view folder_of(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : file.substr(0, slash);
}

// The tree's root as names are appended to it.
std::string root_of(const Input& input) { return input.root == "/" ? "" : input.root; }

std::vector<JournalPlace> first_places(const Input& input) {
  std::vector<JournalPlace> places;
  if (!input.git_folder.empty()) {
    const std::string folder = input.git_folder + "/refit";
    places.push_back({root_of(input), folder, folder});
  }
  places.push_back(place_in(input.root));
  return places;
}

}  // namespace

void make_state_folder(Disk& disk) {
  std::string path;
  for (const std::string& name : state_folders()) {
    if (!path.empty()) (void)disk.make_folder(path + "/" + name);
    path += (path.empty() ? "" : "/") + name;
  }
  namespace fs = std::filesystem;
  constexpr std::size_t kKept = 64;
  std::vector<std::pair<fs::file_time_type, fs::path>> kept;
  std::error_code error;
  for (fs::directory_iterator at(path, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code none;
    kept.emplace_back(fs::last_write_time(at->path(), none), at->path());
  }
  std::ranges::sort(kept, std::greater());
  for (std::size_t i = kKept - 1; i < kept.size(); ++i) fs::remove_all(kept[i].second, error);
}

std::vector<JournalPlace> places_for(const Input& input, const std::vector<FileResult>& changed) {
  std::vector<JournalPlace> places = first_places(input);
  if (changed.empty()) return places;
  std::string_view common = folder_of(changed.front().file);
  for (const FileResult& file : changed) {
    while (!common.empty() && !(file.file.starts_with(common) && file.file[common.size()] == '/')) {
      common = folder_of(common);
    }
  }
  if (!common.empty()) places.push_back(place_in(root_of(input) + "/" + std::string(common)));
  return places;
}

std::vector<JournalPlace> places_of(const Input& input, bool above) {
  std::vector<JournalPlace> places = first_places(input);
  std::set<std::string_view> folders;
  for (const InputFile& file : input.files) {
    for (auto folder = folder_of(file.relative); !folder.empty(); folder = folder_of(folder)) {
      if (!folders.insert(folder).second) break;
    }
  }
  for (const std::string_view folder : folders) {
    places.push_back(place_in(root_of(input) + "/" + std::string(folder)));
  }
  if (!above) return places;
  for (std::string_view folder = folder_of(input.root); !folder.empty();
       folder = folder_of(folder)) {
    places.push_back(place_in(folder));
  }
  places.push_back(place_in("/"));
  return places;
}

}  // namespace refit
