// Folders of rules with what they bring along. Entry point: read_packages.
#pragma once

#include <string>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit {

inline constexpr char kManifest[] = "package.yaml";

struct Packages {
  std::vector<std::string> catalogues;  // folders, in the order of the paths
  std::vector<std::string> spellings;   // files named isomorphisms.yaml
};

// Of the paths that are folders: their catalogue/ and isomorphisms.yaml, where they have them, and
// what their manifests say. The folder that holds `shipped`, the catalogue of the rules that ship,
// is left out. Fails where a manifest is wrong, two packages have one name, or what one needs is
// not there.
Expected<Packages> read_packages(const std::vector<std::string>& paths, const std::string& shipped);

}  // namespace refit
