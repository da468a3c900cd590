// A scratch folder for tests that need a real tree. Entry point: Tree.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace refit {

class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "refit-tree-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no scratch folder at " << name;
    root_ = std::filesystem::canonical(name);
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
  }

  const std::filesystem::path& root() const { return root_; }
  std::string operator/(const std::string& name) const { return (root_ / name).string(); }

  void put(const std::string& name, const std::string& bytes = "x = 1\n") const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }
  void link(const std::string& target, const std::string& name) const {
    std::filesystem::create_directories((root_ / name).parent_path());
    std::filesystem::create_symlink(target, root_ / name);
  }
  // Runs git there, without anybody's configuration.
  void git(const std::string& arguments) const {
    const std::string command =
        "cd '" + root_.string() +
        "' && GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -c user.name=t -c "
        "user.email=t@t -c protocol.file.allow=always " +
        arguments + " >/dev/null 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace refit
