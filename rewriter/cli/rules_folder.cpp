// Looking for what ships with refit. Entry points: find_rules_folder, find_verify_program.
#include "rewriter/cli/rules_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

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

}  // namespace

Expected<std::string> find_rules_folder() {
  std::error_code error;
  if (const char* named = std::getenv("REFIT_RULES_DIR"); named != nullptr && *named != '\0') {
    if (fs::is_directory(named, error)) return std::string(named);
    return failure(fmt::format("REFIT_RULES_DIR names {}, which is not a folder", named));
  }
  const fs::path beside = installed("rules");
  if (fs::is_directory(beside, error)) return beside.string();
  if (fs::is_directory(REFIT_SOURCE_RULES_DIR, error)) return std::string(REFIT_SOURCE_RULES_DIR);
  return failure(
      fmt::format("found no rules: neither {} nor {} is a folder; name theirs in REFIT_RULES_DIR",
                  beside.string(), REFIT_SOURCE_RULES_DIR));
}

Expected<std::string> find_verify_program() {
  std::error_code error;
  const fs::path beside = installed("verify");
  if (fs::is_directory(beside, error)) return beside.string();
  if (fs::is_directory(REFIT_SOURCE_VERIFY_DIR, error)) return std::string(REFIT_SOURCE_VERIFY_DIR);
  return failure(fmt::format(
      "found no program to verify with: neither {} nor {} is a folder; install refit anew",
      beside.string(), REFIT_SOURCE_VERIFY_DIR));
}

}  // namespace refit
