// The real disk in a real folder. Entry point: GoogleTest's main.
#include "rewriter/text/disk.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace refit {
namespace {

namespace fs = std::filesystem;

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

TEST_F(RealFolder, Status) {
  const std::string path = put("x.py", "12345");
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  const auto status = real_disk().status(path);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->kind, FileStatus::Kind::regular);
  EXPECT_EQ(status->mode, 0640u);
  EXPECT_EQ(status->user, geteuid());
  EXPECT_EQ(status->names, 1u);
  fs::create_hard_link(path, folder_ / "y.py");
  EXPECT_EQ(real_disk().status(path)->names, 2u);
  EXPECT_EQ(real_disk().status(folder_.string())->kind, FileStatus::Kind::folder);
  fs::create_symlink("x.py", folder_ / "link.py");
  EXPECT_EQ(real_disk().status((folder_ / "link.py").string())->kind, FileStatus::Kind::other);
}

TEST_F(RealFolder, ALockLastsAsLongAsItsHandle) {
  const std::string path = (folder_ / "locked").string();
  ASSERT_TRUE(real_disk().make_folder(path));
  EXPECT_EQ(real_disk().make_folder(path).error().kind, DiskError::Kind::exists);
  const auto first = real_disk().lock_folder(path);
  ASSERT_TRUE(first);
  EXPECT_EQ(real_disk().lock_folder(path).error().kind, DiskError::Kind::busy);
  ASSERT_TRUE(real_disk().close(*first));
  const auto second = real_disk().lock_folder(path);
  ASSERT_TRUE(second);
  ASSERT_TRUE(real_disk().close(*second));
  ASSERT_TRUE(real_disk().remove_folder(path));
  EXPECT_EQ(real_disk().lock_folder(path).error().kind, DiskError::Kind::missing);
}

TEST_F(RealFolder, AttributesReplaceThoseThatWereThere) {
  const std::string path = put("x.py", "1");
  if (setxattr(path.c_str(), "user.note", "kept", 4, 0) != 0) {
    GTEST_SKIP() << "the temporary folder's file system has no extended attributes";
  }
  const auto attributes = real_disk().attributes(path);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->at("user.note"), "kept");
  const std::string other = (folder_ / "y.py").string();
  const auto handle = real_disk().create(other);
  ASSERT_TRUE(handle);
  ASSERT_TRUE(real_disk().set_attributes(*handle, {{"user.other", "x"}}));
  ASSERT_TRUE(real_disk().set_attributes(*handle, *attributes));
  ASSERT_TRUE(real_disk().close(*handle));
  EXPECT_EQ(real_disk().attributes(other).value(), *attributes);
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
