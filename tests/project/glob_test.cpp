// Globs against the matcher they imitate: `git check-ignore` on a tree of the same names. Entry
// point: GoogleTest's main.
#include "rewriter/project/glob.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/project/tree.hpp"

namespace refit {
namespace {

TEST(Glob, MatchesWhatGitignoreMatches) {
  const std::string paths[] = {"a.py",           "test_a.py",  "pkg/a.py",        "pkg/sub/a.py",
                               "pkg/tests/t.py", "tests/t.py", "docs/conf.py",    "pkg/a_b.py",
                               "pkg/ab/c/d.py",  "x y/z.py",   "pkg/sub/tests.py"};
  const std::string patterns[] = {
      "*.py",       "a.py",         "/a.py",     "pkg",         "pkg/",        "/pkg",
      "tests",      "tests/",       "/tests/",   "test_*",      "pkg/*",       "pkg/*.py",
      "pkg/**",     "**/a.py",      "**/tests/", "pkg/**/a.py", "pkg/**/d.py", "*/a.py",
      "[a-c].py",   "[!a].py",      "?.py",      "*a*",         "x y",         "x y/*.py",
      "pkg/sub/",   "pkg/sub/a.py", "**",        "**/sub/**",   "a.py/",       "pkg/*/*.py",
      "**/**/a.py", "pkg/?",        "*",
  };
  const Tree tree;
  tree.git("init -q");
  std::string quoted;
  for (const std::string& path : paths) {
    tree.put(path);
    quoted += " '" + path + "'";
  }
  std::size_t matched = 0;
  for (const std::string& pattern : patterns) {
    std::ofstream(tree.root() / ".git" / "info" / "exclude") << pattern << "\n";
    const std::string command = "cd '" + tree.root().string() +
                                "' && GIT_CONFIG_GLOBAL=/dev/null git check-ignore" + quoted +
                                " > .git/ignored";
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WEXITSTATUS(status) <= 1) << command;  // 1: none of them
    std::set<std::string> ignored;
    std::ifstream list(tree.root() / ".git" / "ignored");
    for (std::string line; std::getline(list, line);) ignored.insert(line);
    for (const std::string& path : paths) {
      EXPECT_EQ(Glob(pattern).matches(path), ignored.contains(path)) << pattern << " on " << path;
      matched += ignored.contains(path);
    }
  }
  EXPECT_GT(matched, 50u);
}

TEST(Glob, Folders) {
  EXPECT_TRUE(Glob("tests/").matches_folder("pkg/tests"));
  EXPECT_TRUE(Glob("pkg").matches_folder("pkg/tests"));
  EXPECT_FALSE(Glob("pkg/*.py").matches_folder("pkg"));
  EXPECT_FALSE(Glob("?").matches_folder("pkg"));
}

TEST(Glob, NothingMatchesNothing) {
  EXPECT_FALSE(Glob("").matches("a.py"));
  EXPECT_FALSE(Glob("/").matches("a.py"));
  EXPECT_FALSE(any_matches({}, "a.py"));
}

TEST(Glob, ManyStarsCostLittle) {
  std::string pattern, path;
  for (int i = 0; i < 60; ++i) pattern += "**/a/";
  for (int i = 0; i < 300; ++i) path += "a/";
  EXPECT_FALSE(Glob(pattern + "b").matches(path + "c"));
}

}  // namespace
}  // namespace refit
