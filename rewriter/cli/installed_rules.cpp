#include "rewriter/cli/installed_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace refit {
namespace {

// Finds the package without running any of its code, as far as its name has no dot. The current
// folder, which -c puts on the path as "", may be anyone's: it goes before anything is looked for.
constexpr char kScript[] =
    "import sys\n"
    "sys.path[:] = [place for place in sys.path if place]\n"
    "import importlib.metadata, importlib.util\n"
    "for point in importlib.metadata.entry_points(group=\"refit.rules\"):\n"
    "    if point.name == sys.argv[1]:\n"
    "        found = importlib.util.find_spec(point.value)\n"
    "        places = list(found.submodule_search_locations or []) if found else []\n"
    "        print(places[0] if places else \"\", end=\"\")\n"
    "        break\n";

struct Close {
  void operator()(std::FILE* pipe) const { pclose(pipe); }
};

bool is_name(const std::string& text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.front() != '-' && text.front() != '.' &&
         std::ranges::all_of(text, allowed) && !text.ends_with(".yaml") && !text.ends_with(".yml");
}

}  // namespace

Expected<std::string> rules_path(const std::string& given) {
  std::error_code error;
  if (!is_name(given) || std::filesystem::exists(given, error)) return given;
  // The name has no character that means anything to a shell.
  const std::string command = fmt::format("python3 -c '{}' {} 2>/dev/null", kScript, given);
  std::string found;
  if (const std::unique_ptr<std::FILE, Close> pipe(popen(command.c_str(), "r")); pipe) {
    std::array<char, 4096> part{};
    for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), pipe.get())) > 0;) {
      found.append(part.data(), n);
    }
  }
  if (!found.empty()) return found;
  return failure(fmt::format(
      "{0}: expected a rule file, a folder of them or the name of an installed package; "
      "there is no such file, and no package that python3 finds has an entry point {0} "
      "in the group refit.rules",
      given));
}

}  // namespace refit
