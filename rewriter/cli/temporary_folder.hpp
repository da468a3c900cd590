// A new folder for temporary files that goes when its owner does. Entry point: TemporaryFolder.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace refit {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code none;
    std::string name = (std::filesystem::temp_directory_path(none) / "refit-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code none;
    if (!path_.empty()) std::filesystem::remove_all(path_, none);
  }
  // "" where none could be made.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace refit
