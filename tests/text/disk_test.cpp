// Replacing a file: every operation fails once, the process dies at every operation once and the
// power goes after it; the file is wholly old or wholly new each time. Then the same on a real
// folder. Entry point: GoogleTest's main.
#include "rewriter/text/disk.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/text/memory_disk.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

constexpr char kPath[] = "/tree/model.py";

TEST(WriteAtomically, WritesSyncsThenRenames) {
  MemoryDisk disk;
  disk.put(kPath, "old");
  disk.files[kPath].mode = 0755;
  ASSERT_TRUE(write_atomically(disk, kPath, "new", "old"));
  EXPECT_EQ(disk.files.at(kPath).bytes, "new");
  EXPECT_EQ(disk.files.at(kPath).mode, 0755u);
  EXPECT_EQ(disk.files.at(kPath).user, 1000u);
  EXPECT_EQ(disk.files.size(), 1u) << "the temporary file is gone";
  const std::vector<std::string> end(disk.log.end() - 6, disk.log.end());
  EXPECT_EQ(end, (std::vector<std::string>{"set_mode", "sync", "close", "read /tree/model.py",
                                           "rename /tree/model.py", "sync_folder /tree/"}));
}

TEST(WriteAtomically, EveryFailureLeavesTheOldFileAndSaysWhat) {
  MemoryDisk whole;
  whole.put(kPath, "old");
  ASSERT_TRUE(write_atomically(whole, kPath, "new", "old"));
  for (std::size_t at = 0; at < whole.log.size(); ++at) {
    MemoryDisk disk;
    disk.put(kPath, "old");
    disk.fault = MemoryDisk::Fault::error;
    disk.fault_number = at;
    const auto result = write_atomically(disk, kPath, "new", "old");
    const std::string& operation = whole.log[at];
    if (operation == "set_owner") {
      EXPECT_TRUE(result) << "not every user may give files away";
      EXPECT_EQ(disk.files.at(kPath).bytes, "new");
      continue;
    }
    ASSERT_FALSE(result) << operation;
    EXPECT_NE(result.error().message.find("No space left on device"), std::string::npos)
        << result.error().message;
    const bool renamed = operation.starts_with("sync_folder");
    EXPECT_EQ(disk.files.at(kPath).bytes, renamed ? "new" : "old") << operation;
    EXPECT_NE(result.error().message.find(renamed ? "holds its new content" : "as it was"),
              std::string::npos)
        << result.error().message;
    EXPECT_EQ(disk.files.size(), 1u) << operation << ": a temporary file was left behind";
  }
}

TEST(WriteAtomically, DeathOrPowerCutAtAnyPointLeavesOldOrNew) {
  const std::string old_text(1000, 'o'), new_text(3000, 'n');
  MemoryDisk whole;
  whole.put(kPath, old_text);
  ASSERT_TRUE(write_atomically(whole, kPath, new_text, old_text));
  std::size_t died = 0;
  for (std::size_t at = 0; at <= whole.log.size(); ++at) {
    MemoryDisk disk;
    disk.put(kPath, old_text);
    disk.fault = MemoryDisk::Fault::kill;
    disk.fault_number = at;
    try {
      (void)write_atomically(disk, kPath, new_text, old_text);
    } catch (const Killed&) {
      ++died;
    }
    const std::string seen = disk.files.at(kPath).bytes;
    EXPECT_TRUE(seen == old_text || seen == new_text) << "killed at operation " << at;
    disk.cut_power();
    const std::string left = disk.files.at(kPath).bytes;
    EXPECT_TRUE(left == old_text || left == new_text) << "power cut at operation " << at;
  }
  EXPECT_EQ(died, whole.log.size());
}

TEST(WriteAtomically, AFileMarkedReadOnlyStays) {
  MemoryDisk disk;
  disk.put(kPath, "old");
  disk.files[kPath].writable = false;
  const auto result = write_atomically(disk, kPath, "new", "old");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "the file may not be written: Permission denied; the file is as it was");
  EXPECT_EQ(disk.files.at(kPath).bytes, "old");
}

TEST(WriteAtomically, SomeoneElsesChangeIsNotLost) {
  MemoryDisk disk;
  disk.put(kPath, "old");
  disk.before.push_back({"sync", [&] { disk.files[kPath].bytes = "saved in an editor"; }});
  const auto result = write_atomically(disk, kPath, "new", "old");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("changed by someone else"), std::string::npos);
  EXPECT_EQ(disk.files.at(kPath).bytes, "saved in an editor");
  EXPECT_EQ(disk.files.size(), 1u);
}

TEST(WriteAtomically, AFileThatVanishedIsNotMadeAnew) {
  MemoryDisk disk;
  disk.put(kPath, "old");
  disk.before.push_back({"sync", [&] { disk.files.erase(kPath); }});
  const auto result = write_atomically(disk, kPath, "new", "old");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("No such file"), std::string::npos);
  EXPECT_TRUE(disk.files.empty());
}

TEST(WriteAtomically, ALeftoverOfTheSameNameIsNotTouched) {
  MemoryDisk disk;
  disk.put(kPath, "old");
  ASSERT_TRUE(write_atomically(disk, kPath, "one", "old"));
  std::string name;
  for (const std::string& entry : disk.log) {
    if (entry.starts_with("create ")) name = entry.substr(7);
  }
  // The names count up; the next one is taken by someone else's file.
  const std::size_t dash = name.rfind('-');
  const int number = std::stoi(name.substr(dash + 1));
  const std::string next = name.substr(0, dash + 1) + std::to_string(number + 1) + ".tmp";
  disk.put(next, "not ours");
  ASSERT_TRUE(write_atomically(disk, kPath, "two", "one"));
  EXPECT_EQ(disk.files.at(next).bytes, "not ours");
  EXPECT_EQ(disk.files.at(kPath).bytes, "two");
}

class RealFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "refit-disk-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string put(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return (folder_ / name).string();
  }
  static std::string get(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(RealFolder, KeepsModeAndLeavesNothingBehind) {
  const std::string path = put("a file.py", "old");
  ASSERT_EQ(chmod(path.c_str(), 0751), 0);
  ASSERT_TRUE(write_atomically(real_disk(), path, std::string("new\0x", 5), "old"));
  EXPECT_EQ(get(path), std::string("new\0x", 5));
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0751u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(RealFolder, ALinkStaysAndItsTargetIsReplaced) {
  const std::string target = put("target.py", "old");
  const fs::path link = folder_ / "link.py";
  fs::create_symlink("target.py", link);
  ASSERT_TRUE(write_atomically(real_disk(), link.string(), "new", "old"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(get(target), "new");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(RealFolder, AFolderThatIsNotThere) {
  const auto result =
      write_atomically(real_disk(), (folder_ / "none" / "x.py").string(), "new", "old");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "looking up the file: No such file or directory; the file is as it was");
}

TEST_F(RealFolder, RelativePathsWork) {
  put("x.py", "old");
  const fs::path here = fs::current_path();
  fs::current_path(folder_);
  const auto result = write_atomically(real_disk(), "x.py", "new", "old");
  fs::current_path(here);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(get(folder_ / "x.py"), "new");
}

TEST_F(RealFolder, Reading) {
  const std::string path = put("x.py", "12345");
  EXPECT_EQ(real_disk().read(path, 5).value(), "12345");
  EXPECT_EQ(real_disk().read(path, 4).error().kind, DiskError::Kind::too_large);
  EXPECT_EQ(real_disk().read(put("empty.py", ""), 5).value(), "");
  EXPECT_EQ(real_disk().read((folder_ / "none.py").string(), 5).error().kind,
            DiskError::Kind::missing);
  EXPECT_EQ(real_disk().read(folder_.string(), 5).error().message, "Not a regular file");
  const std::string pipe = (folder_ / "pipe.py").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(real_disk().read(pipe, 5).error().message, "Not a regular file");
  const std::string large(300000, 'x');
  EXPECT_EQ(real_disk().read(put("large.py", large), 1 << 20).value(), large);
}

}  // namespace
}  // namespace refit
