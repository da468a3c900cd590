// Looking for the rules. Entry point: find_rules_folder.
#include "rewriter/cli/rules_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace refit {

Expected<std::string> find_rules_folder() {
  namespace fs = std::filesystem;
  std::error_code error;
  if (const char* named = std::getenv("REFIT_RULES_DIR"); named != nullptr && *named != '\0') {
    if (fs::is_directory(named, error)) return std::string(named);
    return failure(fmt::format("REFIT_RULES_DIR names {}, which is not a folder", named));
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path installed = program.parent_path().parent_path() / "share" / "refit" / "rules";
  if (!program.empty() && fs::is_directory(installed, error)) return installed.string();
  if (fs::is_directory(REFIT_SOURCE_RULES_DIR, error)) return std::string(REFIT_SOURCE_RULES_DIR);
  return failure(
      fmt::format("found no rules: neither {} nor {} is a folder; name theirs in REFIT_RULES_DIR",
                  installed.string(), REFIT_SOURCE_RULES_DIR));
}

}  // namespace refit
