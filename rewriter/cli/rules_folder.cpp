// Looking for what ships with refit. Entry points: find_rules_folder, find_verify_program.
#include "rewriter/cli/rules_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace refit {
namespace {

namespace fs = std::filesystem;

// A folder of share/refit beside that of this executable.
fs::path installed(std::string_view name) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (program.empty()) return {};
  return program.parent_path().parent_path() / "share" / "refit" / name;
}

// Where a folder that ships with refit may lie, in the order in which they are tried.
std::vector<fs::path> places(std::string_view name) {
  std::vector<fs::path> found = {installed(name)};
#ifdef REFIT_SOURCE_DIR
  found.push_back(fs::path(REFIT_SOURCE_DIR) / name);
#endif
  return found;
}

// The first of `candidates` that is a folder, or a failure of `what`, the places, and `advice`.
Expected<std::string> first_folder(const std::vector<fs::path>& candidates, std::string_view what,
                                   std::string_view advice) {
  std::vector<std::string> looked;
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_directory(candidate, error)) return candidate.string();
    looked.push_back(candidate.string());
  }
  return failure(fmt::format("found no {}: there is no folder {}; {}", what,
                             fmt::join(looked, ", nor "), advice));
}

}  // namespace

Expected<std::string> find_rules_folder() {
  if (const char* named = std::getenv("REFIT_RULES_DIR"); named != nullptr && *named != '\0') {
    std::error_code error;
    if (fs::is_directory(named, error)) return std::string(named);
    return failure(fmt::format("REFIT_RULES_DIR names {}, which is not a folder", named));
  }
  return first_folder(places("rules"), "rules", "name theirs in REFIT_RULES_DIR");
}

Expected<std::string> find_verify_program() {
  return first_folder(places("verify"), "program to verify with", "install refit anew");
}

}  // namespace refit
