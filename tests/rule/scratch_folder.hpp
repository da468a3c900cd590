// A folder that lives as long as a test, and messages with its path taken out.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace refit {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "refit-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name = "") const {
    return (name.empty() ? path_ : path_ / name).string();
  }
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  // `message` with this folder's path, and the slash after it, removed wherever it occurs.
  std::string without_path(std::string message) const {
    const std::string prefix = path_.string() + "/";
    for (size_t at; (at = message.find(prefix)) != std::string::npos;) {
      message.erase(at, prefix.size());
    }
    for (size_t at; (at = message.find(path_.string())) != std::string::npos;) {
      message.replace(at, path_.string().size(), "FOLDER");
    }
    return message;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace refit
