#include "rewriter/rule/package.hpp"

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/VersionTuple.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <regex>
#include <string_view>

#include "rewriter/rule/yaml_file.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kManifestKeys{"name", "version", "needs"};

struct Need {
  std::string name, version;  // version: the least that will do; "" for any
  std::string at;
};

struct Manifest {
  std::string name, version;
  std::string at;
  std::vector<Need> needs;
};

std::optional<llvm::VersionTuple> version_of(const std::string& text) {
  llvm::VersionTuple version;
  if (version.tryParse(text)) return std::nullopt;  // it gives whether it failed
  return version;
}

// "NAME" or "NAME >= VERSION".
std::optional<Need> need_of(const std::string& text) {
  static const std::regex form(R"(\s*([A-Za-z0-9][\w.-]*)\s*(?:>=\s*([0-9.]+)\s*)?)");
  std::smatch parts;
  if (!std::regex_match(text, parts, form)) return std::nullopt;
  if (parts[2].matched && !version_of(parts[2].str())) return std::nullopt;
  return Need{parts[1].str(), parts[2].str(), {}};
}

Manifest read_manifest(YamlFile& file) {
  Manifest manifest;
  manifest.at = file.where(file.root());
  const auto keys = file.mapping(file.root(), "a manifest", kManifestKeys);
  if (!keys) return manifest;
  if (const YamlNode* name = keys->require("name")) {
    manifest.name = file.text(*name, "name").value_or("");
  }
  if (const YamlNode* version = keys->require("version")) {
    manifest.version = file.text(*version, "version").value_or("");
    if (!manifest.version.empty() && !version_of(manifest.version)) {
      file.report(*version, "expected a version of up to four numbers, such as 1.2, found `" +
                                manifest.version + "`");
    }
  }
  if (const YamlNode* needs = keys->find("needs")) {
    for (const std::string& text : file.texts(*needs, "needs")) {
      auto need = need_of(text);
      if (!need) {
        file.report(*needs, "expected NAME or NAME >= VERSION, found `" + text + "`");
        continue;
      }
      need->at = file.where(*needs);
      manifest.needs.push_back(std::move(*need));
    }
  }
  return manifest;
}

void check_needs(const std::vector<Manifest>& manifests, std::vector<std::string>& mistakes) {
  for (const Manifest& manifest : manifests) {
    for (const Need& need : manifest.needs) {
      const auto given = std::ranges::find(manifests, need.name, &Manifest::name);
      const bool refit = need.name == "refit";
      const std::string wanted =
          need.version.empty() ? need.name : fmt::format("{} >= {}", need.name, need.version);
      if (!refit && given == manifests.end()) {
        mistakes.push_back(fmt::format("{}: the package `{}` needs `{}`; give that to --rules, too",
                                       need.at, manifest.name, wanted));
        continue;
      }
      const std::string version = refit ? REFIT_VERSION : given->version;
      if (need.version.empty() || *version_of(version) >= *version_of(need.version)) continue;
      mistakes.push_back(fmt::format("{}: the package `{}` needs `{}`, and this is {} {}", need.at,
                                     manifest.name, wanted, need.name, version));
    }
  }
}

}  // namespace

Expected<Packages> read_packages(const std::vector<std::string>& paths,
                                 const std::string& shipped) {
  Packages packages;
  std::vector<Manifest> manifests;
  std::vector<std::string> mistakes;
  std::vector<fs::path> seen;
  std::error_code error;
  seen.push_back(fs::weakly_canonical(shipped, error).parent_path());
  for (const std::string& path : paths) {
    const fs::path folder = fs::weakly_canonical(path, error);
    if (!fs::is_directory(path, error) || std::ranges::find(seen, folder) != seen.end()) continue;
    seen.push_back(folder);
    if (fs::is_directory(path + "/catalogue", error)) {
      packages.catalogues.push_back(path + "/catalogue");
    }
    const std::string spellings = path + "/isomorphisms.yaml";
    if (fs::exists(spellings, error)) packages.spellings.push_back(spellings);
    const std::string manifest = path + "/" + kManifest;
    if (!fs::exists(manifest, error)) continue;
    auto file = YamlFile::open(manifest);
    if (!file) {
      mistakes.push_back(file.error().message);
      continue;
    }
    Manifest read = read_manifest(*file);
    const auto twin = std::ranges::find(manifests, read.name, &Manifest::name);
    if (twin != manifests.end() && !read.name.empty()) {
      file->report(file->root(),
                   fmt::format("the package `{}` is there already, at {}", read.name, twin->at));
    }
    for (std::string& mistake : file->mistakes()) mistakes.push_back(std::move(mistake));
    manifests.push_back(std::move(read));
  }
  if (mistakes.empty()) check_needs(manifests, mistakes);
  if (!mistakes.empty()) {
    std::string all;
    for (const std::string& mistake : mistakes) all += (all.empty() ? "" : "\n") + mistake;
    return failure(all);
  }
  return packages;
}

}  // namespace refit
