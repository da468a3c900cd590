// Every diff is given to `git apply` and must turn the old file into the new one, byte for byte:
// line endings, missing final newlines, odd paths, bytes of any encoding. Entry point: GoogleTest's
// main.
#include "rewriter/text/diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace refit {
namespace {

namespace fs = std::filesystem;

class Diff : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "refit-diff-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static void put(const fs::path& path, const std::string& bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  }
  static std::string get(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void expect_applies(const std::string& name, const std::string& before,
                      const std::string& after) {
    const auto diff = unified_diff(name, before, after, false);
    ASSERT_TRUE(diff) << diff.error().message;
    put(folder_ / "tree" / name, before);
    put(folder_ / "patch", *diff);
    // Nobody's configuration or surrounding repository may have a say.
    const std::string command = "cd '" + (folder_ / "tree").string() +
                                "' && GIT_CEILING_DIRECTORIES=/ GIT_CONFIG_GLOBAL=/dev/null git "
                                "apply --whitespace=nowarn ../patch 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << *diff;
    EXPECT_EQ(get(folder_ / "tree" / name), after) << *diff;
  }

  fs::path folder_;
};

TEST_F(Diff, Text) {
  const auto diff = unified_diff("pkg/a.py", "one\ntwo\nthree\n", "one\n2\nthree\n", false);
  ASSERT_TRUE(diff);
  EXPECT_EQ(*diff,
            "diff --git a/pkg/a.py b/pkg/a.py\n"
            "index 4cb29ea..f04eb26\n"
            "--- a/pkg/a.py\n"
            "+++ b/pkg/a.py\n"
            "@@ -1,3 +1,3 @@\n"
            " one\n"
            "-two\n"
            "+2\n"
            " three\n");
}

TEST_F(Diff, EqualTextsHaveNone) {
  EXPECT_EQ(unified_diff("a.py", "x\n", "x\n", true).value(), "");
}

TEST_F(Diff, GitApplies) {
  expect_applies("a.py", "a\nb\n", "a\nc\n");
  expect_applies("a.py", "a\r\nb\r\n", "a\r\nc\r\n");
  expect_applies("a.py", "a\nb\r\nc\n", "a\r\nb\nc\n");
  expect_applies("a.py", "a\rb\rc", "a\rB\rc");
  expect_applies("a.py", "a\nb", "a\nc");
  expect_applies("a.py", "a\nb\n", "a\nb");
  expect_applies("a.py", "a\nb", "a\nb\n");
  expect_applies("a.py", "", "a\n");
  expect_applies("a.py", "a\n", "");
  expect_applies("a.py", "x = '\xe9'\ny\n", "x = '\xe9'\nz\n");
  expect_applies("a.py",
                 "\xef\xbb\xbf"
                 "a\n",
                 "\xef\xbb\xbf"
                 "b\n");
  expect_applies("a.py", "a\n\f\nb\n", "a\n\f\nc\n");
}

TEST_F(Diff, GitAppliesToOddPaths) {
  for (const char* name : {"a b.py", " leading.py", "tab\there.py", "quote\".py", "back\\slash.py",
                           "caf\xc3\xa9.py", "latin\xe9.py", "new\nline.py", "a b/c d.py",
                           "-dash.py", "deep/er/still.py", "a/b.py ", "b/b/b.py"}) {
    SCOPED_TRACE(name);
    expect_applies(name, "a\nb\n", "a\nc\n");
  }
}

TEST_F(Diff, ColourAddsOnlyEscapes) {
  const std::string before = "a\nb\nc", after = "a\nB\nc\n";
  const std::string plain = unified_diff("a.py", before, after, false).value();
  std::string coloured = unified_diff("a.py", before, after, true).value();
  EXPECT_NE(coloured.find("\x1b[32m+B\x1b[m\n"), std::string::npos) << coloured;
  EXPECT_NE(coloured.find("\x1b[31m-b\x1b[m\n"), std::string::npos) << coloured;
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\x1b') {
      i = coloured.find('m', i);
    } else {
      stripped.push_back(coloured[i]);
    }
  }
  EXPECT_EQ(stripped, plain);
}

// Two texts that share lines; either may lack the last line's end.
std::pair<std::string, std::string> random_texts(std::mt19937& random) {
  const char* lines[] = {"a\n", "b\n", "\n", "a\r\n", "  c\n", "\f\n", "\xc3\xa9\n"};
  std::string before, after;
  for (int i = 0; i < 30; ++i) {
    const std::string line = lines[random() % 7];
    before += line;
    if (random() % 8 != 0) after += line;
    if (random() % 8 == 0) after += lines[random() % 7];
  }
  if (random() % 2) before += "end";
  if (random() % 2) after += "end";
  return {before, after};
}

TEST_F(Diff, RandomTextsApply) {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const auto [before, after] = random_texts(random);
    if (before != after) expect_applies("f.py", before, after);
  }
}

std::string with_lines(const std::string& before, const std::vector<LineChange>& changes) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < before.size();) {
    const std::size_t end = std::min(before.find('\n', at), before.size() - 1) + 1;
    lines.push_back(before.substr(at, end - at));
    at = end;
  }
  std::string text;
  std::size_t line = 0;
  for (const LineChange& change : changes) {
    EXPECT_TRUE(line <= change.first && change.first + change.count <= lines.size());
    while (line < change.first) text += lines[line++];
    text += change.text;
    line += change.count;
  }
  while (line < lines.size()) text += lines[line++];
  return text;
}

TEST(ChangedLines, MakeOneTextOfTheOther) {
  std::mt19937 random(12);
  for (int round = 0; round < 2000; ++round) {
    const auto [before, after] = random_texts(random);
    const auto changes = changed_lines(before, after);
    ASSERT_TRUE(changes) << changes.error().message;
    EXPECT_EQ(with_lines(before, *changes), after);
  }
}

TEST(ChangedLines, AreNoMoreThanChanged) {
  const auto changes = changed_lines("a\nb\nc\nd\n", "a\nB\nc\nd\ne\n").value();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(std::tuple(changes[0].first, changes[0].count, changes[0].text),
            std::tuple(1U, 1U, std::string("B\n")));
  EXPECT_EQ(std::tuple(changes[1].first, changes[1].count, changes[1].text),
            std::tuple(4U, 0U, std::string("e\n")));
  EXPECT_EQ(with_lines("", changed_lines("", "a\n").value()), "a\n");
  EXPECT_EQ(with_lines("a\n", changed_lines("a\n", "").value()), "");
  EXPECT_TRUE(changed_lines("a", "a")->empty());
}

}  // namespace
}  // namespace refit
