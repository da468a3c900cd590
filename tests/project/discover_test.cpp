// Discovery over real trees: what git sees, what lies there without git, links of every kind,
// environments, nested repositories, roots, and what cannot be read. Entry point: GoogleTest's
// main.
#include "rewriter/project/discover.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/project/tree.hpp"

namespace refit {
namespace {

using Names = std::vector<std::string>;

Discovery found(const Names& paths, const DiscoveryOptions& options = {}) {
  auto discovery = discover(paths, options);
  EXPECT_TRUE(discovery) << discovery.error().message;
  return discovery ? *discovery : Discovery();
}

Names names(const Discovery& discovery) {
  Names list;
  for (const InputFile& file : discovery.input.files) {
    list.push_back(file.relative);
    EXPECT_EQ(file.path, discovery.input.root + "/" + file.relative);
  }
  return list;
}

TEST(Discover, PlainFolder) {
  const Tree tree;
  for (const char* name : {"z.py", "b/c.py", "b.py", "b/readme.md", "__pycache__/x.py", ".git/x.py",
                           "b/x.pyi", "b/x.pyc", "no_extension", ".hidden/h.py"}) {
    tree.put(name);
  }
  std::filesystem::create_directories(tree.root() / "folder.py");
  tree.put("folder.py/in.py");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), (Names{".hidden/h.py", "b.py", "b/c.py", "folder.py/in.py", "z.py"}));
  EXPECT_EQ(discovery.input.root, tree.root().string());
  EXPECT_EQ(discovery.input.module_roots, Names{""});
  EXPECT_TRUE(discovery.problems.empty());
}

TEST(Discover, AsGitSeesIt) {
  const Tree tree;
  tree.git("init -q");
  tree.put(".gitignore", "build/\n*_gen.py\n");
  tree.put("pkg/.gitignore", "local.py\n");
  for (const char* name : {"tracked.py", "untracked.py", "build/out.py", "x_gen.py", "kept_gen.py",
                           "pkg/local.py", "pkg/a.py", "deleted.py", "build/forced.py"}) {
    tree.put(name);
  }
  tree.git("add tracked.py deleted.py pkg/a.py .gitignore pkg/.gitignore");
  tree.git("add -f kept_gen.py build/forced.py");
  std::filesystem::remove(tree.root() / "deleted.py");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery),
            (Names{"build/forced.py", "kept_gen.py", "pkg/a.py", "tracked.py", "untracked.py"}));
  EXPECT_TRUE(discovery.notes.empty());
}

TEST(Discover, AFolderOfAGitTree) {
  const Tree tree;
  tree.git("init -q");
  tree.put("src/wan/__init__.py");
  tree.put("src/wan/model/__init__.py");
  tree.put("src/wan/model/attention.py");
  tree.put("src2/other.py");
  tree.put("main.py");
  const Discovery discovery = found({tree / "src"});
  EXPECT_EQ(discovery.input.root, tree.root().string());
  EXPECT_EQ(names(discovery), (Names{"src/wan/__init__.py", "src/wan/model/__init__.py",
                                     "src/wan/model/attention.py"}));
  EXPECT_EQ(discovery.input.module_roots, (Names{"", "src"}));
}

TEST(Discover, APackageOutsideGit) {
  const Tree tree;
  tree.put("lib/diffusers/__init__.py");
  tree.put("lib/diffusers/models/__init__.py");
  tree.put("lib/diffusers/models/a.py");
  tree.put("lib/other.py");
  for (const char* path : {"lib/diffusers", "lib/diffusers/models"}) {
    const Discovery discovery = found({tree / path});
    EXPECT_EQ(discovery.input.root, tree / "lib");
    EXPECT_EQ(discovery.input.module_roots, Names{""});
    EXPECT_EQ(discovery.input.files.front().relative, std::string(path).substr(4) + "/__init__.py");
  }
}

TEST(Discover, FilesAndRepetitions) {
  const Tree tree;
  tree.put("a.py");
  tree.put("b.py");
  tree.put("c.txt");
  EXPECT_EQ(names(found({tree / "a.py"})), Names{"a.py"});
  EXPECT_EQ(names(found({tree / "b.py", tree / "a.py", tree / "b.py"})), (Names{"a.py", "b.py"}));
  EXPECT_EQ(names(found({tree / "b.py", tree.root().string() + "/./"})), (Names{"a.py", "b.py"}));
}

TEST(Discover, WhatCannotBeAPath) {
  const Tree tree, other;
  tree.put("c.txt");
  tree.put("a.py");
  other.put("a.py");
  EXPECT_EQ(discover({tree / "none"}, {}).error().message,
            "cannot read " + (tree / "none") + ": No such file or directory");
  EXPECT_EQ(
      discover({tree / "c.txt"}, {}).error().message,
      "cannot read " + (tree / "c.txt") + ": expected a folder or a source file (*.py, *.cpp)");
  EXPECT_EQ(discover({}, {}).error().message, "expected at least one PATH, found none");
  const auto two = discover({tree.root().string(), other.root().string()}, {});
  ASSERT_FALSE(two);
  EXPECT_NE(two.error().message.find("lie in two trees"), std::string::npos);
  tree.link("loop", "loop");
  EXPECT_NE(discover({tree / "loop"}, {}).error().message.find("Too many levels"),
            std::string::npos);
}

TEST(Discover, Globs) {
  const Tree tree;
  for (const char* name : {"a.py", "tests/t.py", "pkg/tests/t.py", "pkg/b.py"}) tree.put(name);
  const Names root{tree.root().string()};
  EXPECT_EQ(names(found(root, {{}, {"tests/"}})), (Names{"a.py", "pkg/b.py"}));
  EXPECT_EQ(names(found(root, {{"pkg"}, {}})), (Names{"pkg/b.py", "pkg/tests/t.py"}));
  EXPECT_EQ(names(found(root, {{"pkg", "/a.py"}, {"pkg/tests"}})), (Names{"a.py", "pkg/b.py"}));
  EXPECT_EQ(names(found(root, {{"none"}, {}})), Names{});
}

// The same links in a plain tree and in a git work tree.
class Links : public testing::TestWithParam<bool> {};

TEST_P(Links, AreNotFollowedAndNamedWhereTheyMatter) {
  const Tree tree, outside;
  if (GetParam()) tree.git("init -q");
  outside.put("lib/o.py");
  tree.put("pkg/a.py");
  tree.link("a.py", "pkg/same.py");      // inside: its target is found by itself
  tree.link("../pkg", "elsewhere/pkg");  // a folder inside
  tree.link("self.py", "self.py");       // a loop of one
  tree.link("ring_b", "ring_a");         // a loop of two
  tree.link("ring_a", "ring_b");
  tree.link("..", "pkg/up");  // a folder above
  tree.link("gone.py", "broken.py");
  tree.link("gone.txt", "broken.txt");  // nothing to do with Python
  tree.link(outside / "lib", "out");
  tree.link(outside / "lib/o.py", "out.py");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), Names{"pkg/a.py"});
  EXPECT_EQ(
      discovery.notes,
      (Names{
          "broken.py: a symbolic link that leads nowhere (No such file or directory); not followed",
          "out.py: a symbolic link that leads out of the tree, to " + (outside / "lib/o.py") +
              "; not followed",
          "out: a symbolic link that leads out of the tree, to " + (outside / "lib") +
              "; not followed",
          "pkg/up: a symbolic link to a folder above it; not followed",
          "ring_a: a symbolic link that leads back to itself; not followed",
          "ring_b: a symbolic link that leads back to itself; not followed",
          "self.py: a symbolic link that leads back to itself; not followed",
      }));
  EXPECT_TRUE(discovery.problems.empty());
}
INSTANTIATE_TEST_SUITE_P(PlainAndGit, Links, testing::Bool());

TEST(Discover, APathThatIsALink) {
  const Tree tree;
  tree.put("real/a.py");
  tree.link("real", "link");
  tree.link("real/a.py", "a_link.py");
  EXPECT_EQ(found({tree / "link"}).input.root, tree / "real");
  EXPECT_EQ(found({tree / "a_link.py"}).input.files.front().path, tree / "real/a.py");
}

class Environments : public testing::TestWithParam<bool> {};

TEST_P(Environments, AreLeftOutUnlessNamed) {
  const Tree tree;
  if (GetParam()) tree.git("init -q");
  tree.put("a.py");
  tree.put("env/pyvenv.cfg", "home = /usr/bin\n");
  tree.put("env/lib/site-packages/diffusers/__init__.py");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), Names{"a.py"});
  EXPECT_EQ(discovery.notes, Names{"env: a virtual environment (pyvenv.cfg); left out"});
  EXPECT_EQ(found({tree / "env/lib/site-packages/diffusers"}).input.files.size(), 1u);
  EXPECT_EQ(found({tree / "env"}).input.files.size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(PlainAndGit, Environments, testing::Bool());

TEST(Discover, APathThatGitIgnores) {
  const Tree tree;
  tree.git("init -q");
  tree.put(".gitignore", ".venv/\n*_gen.py\n");
  tree.put(".venv/lib/diffusers/__init__.py");
  tree.put("x_gen.py");
  const Discovery discovery = found({tree / ".venv/lib/diffusers"});
  EXPECT_EQ(discovery.input.root, tree / ".venv/lib");
  EXPECT_EQ(names(discovery), Names{"diffusers/__init__.py"});
  EXPECT_EQ(discovery.notes.size(), 1u);
  EXPECT_EQ(names(found({tree / "x_gen.py"})), Names{"x_gen.py"});
}

TEST(Discover, RepositoriesInsideAreNamed) {
  const Tree tree, library;
  library.git("init -q");
  library.put("lib.py");
  library.git("add .");
  library.git("commit -qm first");
  tree.git("init -q");
  tree.put("a.py");
  tree.git("submodule add -q '" + library.root().string() + "' third_party/lib");
  tree.put("nested/n.py");
  tree.git("init -q nested");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), Names{"a.py"});
  EXPECT_EQ(discovery.notes,
            (Names{"nested: a git repository of its own; left out (name it as a PATH to migrate "
                   "it)",
                   "third_party/lib: a git repository of its own; left out (name it as a PATH to "
                   "migrate it)"}));
  const Discovery inside = found({tree / "third_party/lib"});
  EXPECT_EQ(inside.input.root, tree / "third_party/lib");
  EXPECT_EQ(names(inside), Names{"lib.py"});
}

TEST(Discover, AWorktreeOfARepository) {
  const Tree tree, elsewhere;
  tree.git("init -q");
  tree.put("a.py");
  tree.git("add .");
  tree.git("commit -qm first");
  tree.git("worktree add -q '" + (elsewhere / "wt") + "'");
  const Discovery discovery = found({elsewhere / "wt"});
  EXPECT_EQ(discovery.input.root, elsewhere / "wt");
  EXPECT_EQ(names(discovery), Names{"a.py"});
}

TEST(Discover, ARepositoryThatCannotBeReadIsAPlainTreeWithANote) {
  const Tree tree;
  tree.put("a.py");
  tree.git("init -q");
  tree.put(".git/config", "[core]\n\trepositoryformatversion = 99\n");
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), Names{"a.py"});
  ASSERT_EQ(discovery.notes.size(), 1u);
  EXPECT_NE(discovery.notes[0].find("its git repository could not be read"), std::string::npos);
}

TEST(Discover, NamesOfAnyBytes) {
  for (const bool git : {false, true}) {
    const Tree tree;
    if (git) tree.git("init -q");
    tree.put("caf\xc3\xa9.py");
    tree.put("latin\xe9.py");
    tree.put("new\nline.py");
    tree.put("a b/c.py");
    EXPECT_EQ(names(found({tree.root().string()})),
              (Names{"a b/c.py", "caf\xc3\xa9.py", "latin\xe9.py", "new\nline.py"}));
  }
}

TEST(Discover, APipeIsNoFile) {
  const Tree tree;
  tree.put("a.py");
  ASSERT_EQ(mkfifo((tree / "pipe.py").c_str(), 0600), 0);
  const Discovery discovery = found({tree.root().string()});
  EXPECT_EQ(names(discovery), Names{"a.py"});
  EXPECT_EQ(discovery.notes, Names{"pipe.py: not a regular file; left out"});
}

// Root reads every folder; the test then goes on as nobody.
class AsNobody {
 public:
  AsNobody() {
    if (geteuid() == 0) changed_ = seteuid(65534) == 0;
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (changed_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }

 private:
  bool changed_ = false;
};

TEST(Discover, AFolderThatCannotBeRead) {
  for (const bool git : {false, true}) {
    const Tree tree;
    if (git) tree.git("init -q");
    tree.put("a.py");
    tree.put("closed/b.py");
    ASSERT_EQ(chmod(tree.root().c_str(), 0755), 0);
    ASSERT_EQ(chmod((tree / "closed").c_str(), 0), 0);
    Discovery discovery;
    {
      const AsNobody nobody;
      discovery = found({tree.root().string()});
    }
    ASSERT_EQ(chmod((tree / "closed").c_str(), 0755), 0);
    EXPECT_EQ(names(discovery), Names{"a.py"}) << "git: " << git;
    ASSERT_EQ(discovery.problems.size(), 1u) << "git: " << git;
    EXPECT_EQ(discovery.problems[0].file, "closed");
    EXPECT_EQ(discovery.problems[0].message, "cannot be read: Permission denied");
  }
}

TEST(Discover, APathThatCannotBeRead) {
  const Tree tree;
  tree.put("a.py");
  ASSERT_EQ(chmod(tree.root().c_str(), 0), 0);
  Discovery discovery;
  {
    const AsNobody nobody;
    discovery = found({tree.root().string()});
  }
  ASSERT_EQ(chmod(tree.root().c_str(), 0755), 0);
  EXPECT_TRUE(names(discovery).empty());
  ASSERT_EQ(discovery.problems.size(), 1u);
  EXPECT_EQ(discovery.problems[0].file, ".");
}

TEST(Discover, NoPython) {
  const Tree tree;
  tree.put("readme.md");
  EXPECT_TRUE(names(found({tree.root().string()})).empty());
}

}  // namespace
}  // namespace refit
