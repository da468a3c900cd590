// Reading and prefiltering one file: what is passed over, what is read, and a message for what
// cannot be. Entry point: GoogleTest's main.
#include "rewriter/project/load.hpp"

#include <gtest/gtest.h>

#include "tests/text/memory_disk.hpp"

namespace refit {
namespace {

const Prefilter& prefilter() {
  static const Prefilter filter({{{"attention"}}, {{"softmax"}, {"clamp"}}});
  return filter;
}

TEST(Load, KeepsTheBytesWhereARuleMayMatch) {
  MemoryDisk disk;
  disk.put("/a.py", "attention(q)\n");
  disk.put("/b.py", "softmax(q)\n");
  const auto a = load(disk, "/a.py", prefilter());
  ASSERT_TRUE(a);
  EXPECT_TRUE(a->relevant);
  EXPECT_EQ(a->bytes, "attention(q)\n");
  EXPECT_EQ(a->rules, (std::vector<bool>{true, false}));
  const auto b = load(disk, "/b.py", prefilter());
  ASSERT_TRUE(b);
  EXPECT_FALSE(b->relevant);
  EXPECT_EQ(b->bytes, "");
}

TEST(Load, AFileThatVanished) {
  MemoryDisk disk;
  const auto file = load(disk, "/a.py", prefilter());
  ASSERT_FALSE(file);
  EXPECT_FALSE(file.error().too_large);
  EXPECT_EQ(file.error().message, "the file vanished after it was found; run the command again");
}

TEST(Load, AFileThatCannotBeRead) {
  MemoryDisk disk;
  disk.put("/a.py", "attention\n");
  disk.fault = MemoryDisk::Fault::error;
  disk.fault_operation = "read";
  const auto file = load(disk, "/a.py", prefilter());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "cannot be read: No space left on device");
}

TEST(Load, ALongFileIsAProblemOnlyWhereARuleMightMatch) {
  MemoryDisk disk;
  const std::string rows(50u << 20, 'x');
  disk.put("/data.py", rows);
  disk.put("/model.py", rows + "attention");
  const auto data = load(disk, "/data.py", prefilter());
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->relevant);
  const auto model = load(disk, "/model.py", prefilter());
  ASSERT_FALSE(model);
  EXPECT_TRUE(model.error().too_large);
  EXPECT_EQ(model.error().message,
            "the file has 50 MiB, and files of more than 16 MiB are not parsed; split it, or "
            "exclude it if it is data");
}

}  // namespace
}  // namespace refit
