// Which folders of a repository its includes are relative to, told by the names of the files that
// they include: where `#include "layers/norm.h"` can only mean `src/layers/norm.h`, the folder is
// `src`. Entry point: TreeHeaders::root_of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace refit::cpp {

class TreeHeaders {
 public:
  TreeHeaders() = default;
  // Of a repository's files, relative to its root, with '/'.
  explicit TreeHeaders(const std::vector<std::string>& files);

  // The folder, relative to the repository's root ("" for itself), in which a header of that name
  // is; nullopt where no file has the name, or several have.
  std::optional<std::string> root_of(std::string_view included) const;

 private:
  std::unordered_multimap<std::string, std::string> by_name_;  // a file's own name to its path
};

}  // namespace refit::cpp
