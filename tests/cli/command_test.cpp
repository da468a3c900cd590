// The command with an engine of the test's: which output goes where, what is written, which exit
// code comes of what. Entry point: GoogleTest's main.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/exit_code.hpp"
#include "rewriter/cli/progress.hpp"
#include "tests/cli/fakes.hpp"
#include "tests/text/memory_disk.hpp"

namespace refit {
namespace {

class Command : public Harness {
 protected:
  bool said(const std::string& text) const {
    return console_.error_text.find(text) != std::string::npos;
  }
};

constexpr char kDiff[] =
    "diff --git a/a.py b/a.py\n"
    "index 3367afd..3e75765\n"
    "--- a/a.py\n"
    "+++ b/a.py\n"
    "@@ -1 +1 @@\n"
    "-old\n"
    "+new\n";

TEST_F(Command, ShowsTheDiffAndTheSummaryAndWritesNothing) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "stuck\n");
  EXPECT_EQ(refit({"migrate", "@"}), 0);
  EXPECT_EQ(console_.out_text, kDiff);
  EXPECT_EQ(console_.error_text,
            "b.py:1:1: refused [words] stuck-word: it does not move; push it\n"
            "rule   found  rewritten  assuming  through  refused  by code\n"
            "words      2          1         0        0        1  stuck-word 1\n"
            "1 file would change; --write writes them, as does `git apply` of the diff in " +
                tree_.root().string() + "\n");
  EXPECT_EQ(get("a.py"), "old\n");
}

TEST_F(Command, WritesAndListsWhatItDid) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "same\n");
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 0);
  EXPECT_EQ(get("a.py"), "new\n");
  EXPECT_EQ(console_.out_text, "");
  EXPECT_TRUE(said("a.py:1:1: rewritten [words] word\n"));
  EXPECT_TRUE(said("1 of 1 file rewritten in " + tree_.root().string()));
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 0);
  EXPECT_TRUE(said("2 source files: nothing that a rule looks for\n"));
}

TEST_F(Command, WriteAndDiffTogether) {
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--write", "--diff", "@"}), 0);
  EXPECT_EQ(console_.out_text, kDiff);
  EXPECT_EQ(get("a.py"), "new\n");
}

TEST_F(Command, Check) {
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--check", "@"}), 1);
  EXPECT_EQ(console_.out_text, "");
  EXPECT_TRUE(said("1 file would change\n"));
  EXPECT_EQ(get("a.py"), "old\n");
  EXPECT_EQ(refit({"migrate", "--check", "--diff", "@"}), 1);
  EXPECT_EQ(console_.out_text, kDiff);
  tree_.put("a.py", "new\n");
  EXPECT_EQ(refit({"migrate", "--check", "@"}), 0);
}

TEST_F(Command, QuietLeavesTheDiffAndTheProblems) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "stuck\nbroken\n");
  EXPECT_EQ(refit({"migrate", "--quiet", "@"}), 3);
  EXPECT_EQ(console_.out_text, kDiff);
  EXPECT_EQ(console_.error_text, "error: b.py: line does not parse\n");
  EXPECT_EQ(refit({"migrate", "--quiet", "--write", "@/a.py"}), 0);
  EXPECT_EQ(console_.error_text, "");
}

TEST_F(Command, ExitCodesOfSeveralTheLargest) {
  tree_.put("a.py", "old\n");
  tree_.put("broken.py", "broken\n");
  EXPECT_EQ(refit({"migrate", "--check", "@"}), 3);
  tree_.put("doubtful.py", "old\ndoubtful\n");
  EXPECT_EQ(refit({"migrate", "--check", "@"}), 4);
  EXPECT_TRUE(said("error: doubtful.py: the check says no\n"));
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 4);
  EXPECT_EQ(get("a.py"), "new\n") << "the other files are dealt with";
  EXPECT_EQ(get("doubtful.py"), "old\ndoubtful\n");
}

TEST_F(Command, UsageErrors) {
  tree_.put("a.py", "old\n");
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"migrat", "@"},
      {"migrate"},
      {"migrate", "--no-such-option", "@"},
      {"migrate", "--write", "--check", "@"},
      {"migrate", "--target", "rocm", "@"},
      {"migrate", "--target", "cuda", "--target", "ascend", "@"},
      {"migrate", "--target", "1", "@"},
      {"migrate", "--jobs", "0", "@"},
      {"migrate", "--jobs", "-1", "@"},
      {"migrate", "--jobs", "2x", "@"},
      {"migrate", "--jobs", "many", "@"},
      {"migrate", "--report", "xml:out.xml", "@"},
      {"migrate", "--report", "json:", "@"},
      {"migrate", "--report", "json:-", "--diff", "@"},
      {"migrate", "--color", "blue", "@"},
      {"rules", "@"},
  };
  for (const auto& arguments : cases) {
    EXPECT_EQ(refit(arguments), 2) << testing::PrintToString(arguments);
    EXPECT_FALSE(console_.error_text.empty());
    EXPECT_EQ(console_.out_text, "");
  }
  EXPECT_EQ(refit({"migrate", "--report", "xml:out.xml", "@"}), 2);
  EXPECT_TRUE(
      said("expected json:FILE, sarif:FILE or github:FILE, with - for standard output, found '"
           "xml:out.xml'"))
      << console_.error_text;
  EXPECT_EQ(refit({"migrate", "--target", "rocm", "@"}), 2);
  EXPECT_TRUE(said("--target: expected cuda|ascend, found 'rocm'")) << console_.error_text;
  EXPECT_EQ(refit({"migrate", "--jobs", "many", "@"}), 2);
  EXPECT_TRUE(said("--jobs: expected a number of threads from 1 to 1024, found 'many'"));
  const Tree other;
  EXPECT_EQ(refit({"migrate", "@", other.root().string()}), 2);
  EXPECT_TRUE(said("lie in two trees"));
}

TEST_F(Command, APathThatIsNotThere) {
  EXPECT_EQ(refit({"migrate", "@/none"}), 3);
  EXPECT_EQ(console_.error_text,
            "refit: cannot read " + (tree_ / "none") + ": No such file or directory\n");
}

TEST_F(Command, NoPythonHere) {
  tree_.put("readme.md", "old\n");
  EXPECT_EQ(refit({"migrate", "@"}), 0);
  EXPECT_EQ(console_.error_text,
            "no source files in " + tree_.root().string() + ": nothing to do\n");
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--exclude", "*.py", "@"}), 0);
  EXPECT_TRUE(said("no source files that --include and --exclude leave in "));
}

TEST_F(Command, RuleErrors) {
  tree_.put("a.py", "old\n");
  load_ = [] { return Expected<RuleSet>(failure("x.yaml:3:7: unknown key 'wehre'")); };
  EXPECT_EQ(refit({"migrate", "@"}), 5);
  EXPECT_EQ(console_.error_text, "refit: x.yaml:3:7: unknown key 'wehre'\n");
  EXPECT_EQ(refit({"rules"}), 5);
  load_ = [] { return Expected<RuleSet>(RuleSet()); };
  selected_ = [] { return Expected<void>(failure("--select sdap* matches no rule")); };
  EXPECT_EQ(refit({"migrate", "--select", "sdap*", "@"}), 2);
  selected_ = [] { return Expected<void>(); };
  rules_compile_ = false;
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 5);
  EXPECT_EQ(console_.error_text, "refit: x.yaml:4:9: the pattern does not compile\n");
  EXPECT_EQ(get("a.py"), "old\n");
  setenv("REFIT_RULES_DIR", (tree_ / "none").c_str(), 1);
  EXPECT_EQ(refit({"migrate", "@"}), 5);
  EXPECT_EQ(console_.error_text,
            "refit: REFIT_RULES_DIR names " + (tree_ / "none") + ", which is not a folder\n");
}

TEST_F(Command, OptionsReachTheEngineAndTheRules) {
  tree_.put("a.py", "old\n");
  // --ignore and its kin take one value each: the last word is the PATH.
  EXPECT_EQ(refit({"migrate", "--target", "ascend", "--strict", "--jobs", "3", "--rules", "r.yaml",
                   "--rules", "./more", "--select", "sdpa*", "--ignore", "x", "@"}),
            0)
      << console_.error_text;
  EXPECT_EQ(engine_options_.target, Target::ascend);
  EXPECT_TRUE(engine_options_.strict);
  EXPECT_EQ(engine_options_.jobs, 3u);
  EXPECT_EQ(rule_paths_, (std::vector<std::string>{tree_.root().string(), "r.yaml", "./more"}));
  EXPECT_EQ(catalogue_, tree_ / "catalogue");
  EXPECT_EQ(engine_options_.rules_folder, tree_.root().string());
  EXPECT_EQ(select_, std::vector<std::string>{"sdpa*"});
  EXPECT_EQ(ignore_, std::vector<std::string>{"x"});
  EXPECT_EQ(refit({"migrate", "@"}), 0);
  EXPECT_EQ(engine_options_.target, Target::cuda);
  EXPECT_FALSE(engine_options_.strict);
  EXPECT_EQ(engine_options_.jobs, 0u);
}

TEST_F(Command, IncludeAndExclude) {
  tree_.put("a.py", "old\n");
  tree_.put("tests/t.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--write", "--exclude", "tests/", "@"}), 0);
  EXPECT_EQ(get("a.py"), "new\n");
  EXPECT_EQ(get("tests/t.py"), "old\n");
  EXPECT_EQ(refit({"migrate", "--write", "--include", "tests/", "@"}), 0);
  EXPECT_EQ(get("tests/t.py"), "new\n");
}

TEST_F(Command, ReportToAFileAndToStandardOutput) {
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--report", "json:@/out.json", "@"}), 0);
  EXPECT_EQ(console_.out_text, kDiff);
  auto report = nlohmann::json::parse(get("out.json"));
  EXPECT_EQ(report["root"], tree_.root().string());
  EXPECT_TRUE(report["files"]["written"].empty());
  EXPECT_EQ(refit({"migrate", "--write", "--report", "json:-", "@"}), 0);
  report = nlohmann::json::parse(console_.out_text);
  EXPECT_EQ(report["files"]["written"], std::vector<std::string>{"a.py"});
  EXPECT_EQ(get("a.py"), "new\n");
  EXPECT_EQ(refit({"migrate", "--report", "json:@/none/out.json", "@"}), 6);
  EXPECT_TRUE(
      said("cannot write the report " + (tree_ / "none/out.json") + ": No such file or directory"));
}

TEST_F(Command, AReportOfNothingIsAReport) {
  EXPECT_EQ(refit({"migrate", "--report", "json:-", "@"}), 0);
  EXPECT_EQ(nlohmann::json::parse(console_.out_text)["files"]["seen"], 0);
}

TEST_F(Command, AClosedPipeEndsQuietly) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "old\n");
  console_.closes_after = 1;
  EXPECT_EQ(refit({"migrate", "--write", "--diff", "--quiet", "@"}), 0);
  EXPECT_EQ(console_.out_text, kDiff) << "the second diff is left out";
  EXPECT_EQ(console_.error_text, "");
  EXPECT_EQ(get("b.py"), "new\n") << "files are written all the same";
}

TEST_F(Command, OutputThatCannotBeWritten) {
  tree_.put("a.py", "old\n");
  console_.fails = true;
  EXPECT_EQ(refit({"migrate", "--quiet", "@"}), 6);
  EXPECT_EQ(console_.error_text, "refit: cannot write to standard output\n");
}

TEST_F(Command, Colours) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "stuck\n");
  const auto coloured = [&] {
    return std::pair(console_.out_text.find('\x1b') != std::string::npos, said("\x1b[33mrefused"));
  };
  refit({"migrate", "@"});
  EXPECT_EQ(coloured(), std::pair(false, false));
  refit({"migrate", "--color", "always", "@"});
  EXPECT_EQ(coloured(), std::pair(true, true));
  console_.terminal = true;
  refit({"migrate", "@"});
  EXPECT_EQ(coloured(), std::pair(true, true));
  refit({"migrate", "--color", "never", "@"});
  EXPECT_EQ(coloured(), std::pair(false, false));
  setenv("NO_COLOR", "1", 1);
  refit({"migrate", "@"});
  EXPECT_EQ(coloured(), std::pair(false, false));
}

TEST_F(Command, AFileThatVanishesBetweenDiscoveryAndReading) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "old\n");
  between_ = [&] { std::filesystem::remove(tree_.root() / "a.py"); };
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 3);
  EXPECT_TRUE(said("error: a.py: No such file or directory\n"));
  EXPECT_FALSE(std::filesystem::exists(tree_.root() / "a.py"));
  EXPECT_EQ(get("b.py"), "new\n");
}

TEST_F(Command, AFileThatChangesBeforeItIsWrittenStays) {
  tree_.put("a.py", "old\n");
  tree_.put("b.py", "old\n");
  after_ = [&] { tree_.put("a.py", "old\nedited meanwhile\n"); };
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 6);
  EXPECT_TRUE(said("error: a.py: the file was changed by someone else"));
  EXPECT_EQ(get("a.py"), "old\nedited meanwhile\n");
  EXPECT_EQ(get("b.py"), "new\n");
}

TEST_F(Command, AnInterruptIsSaidAndHasItsCode) {
  MemoryDisk disk;
  for (const char* name : {"a.py", "b.py", "c.py"}) {
    tree_.put(name, "old\n");
    disk.put(tree_ / name, "old\n");
  }
  disk.before = {{"rename " + (tree_ / "a.py"), [] { std::raise(SIGINT); }}};
  disk_ = &disk;
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 130);
  EXPECT_TRUE(said("interrupted: 0 of 3 changed files were written, the others are as they were\n"))
      << console_.error_text;
  EXPECT_EQ(disk.files.at(tree_ / "a.py").bytes, "old\n");
  EXPECT_EQ(disk.files.at(tree_ / "b.py").bytes, "old\n");
}

TEST_F(Command, AKilledRunIsCompletedByTheNextWhichSaysSo) {
  MemoryDisk disk;
  for (const char* name : {"a.py", "b.py", "c.py"}) {
    tree_.put(name, "old\n");
    disk.put(tree_ / name, "old\n");
  }
  disk.fault = MemoryDisk::Fault::kill;
  disk.fault_operation = "rename " + (tree_ / "b.py");
  disk_ = &disk;
  EXPECT_THROW((void)refit({"migrate", "--write", "@"}), Killed);
  disk.fault = MemoryDisk::Fault::none;
  EXPECT_EQ(refit({"migrate", "--quiet", "@"}), 0);
  EXPECT_TRUE(said("An earlier run was killed while it replaced 3 files")) << console_.error_text;
  for (const char* name : {"a.py", "b.py", "c.py"}) {
    EXPECT_EQ(disk.files.at(tree_ / name).bytes, "new\n");
  }
}

TEST_F(Command, UndoRestoresTheLastRun) {
  tree_.put("pkg/a.py", "old\n");
  tree_.put("b.py", "old\n");
  EXPECT_EQ(refit({"undo", "@"}), 0);
  EXPECT_TRUE(said("there is no run to take back\n"));
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 0);
  EXPECT_TRUE(said("2 of 2 files rewritten"));
  EXPECT_FALSE(std::filesystem::exists(tree_.root() / ".refit"));
  tree_.put("b.py", "new\nedited\n");
  EXPECT_EQ(refit({"undo", "@"}), 6);
  EXPECT_TRUE(said("refit: b.py: it changed since that run; nothing was restored\n"));
  EXPECT_EQ(get("pkg/a.py"), "new\n");
  tree_.put("b.py", "new\n");
  EXPECT_EQ(refit({"undo", "@"}), 0);
  EXPECT_TRUE(said("2 files restored in "));
  EXPECT_EQ(get("pkg/a.py"), "old\n");
  EXPECT_FALSE(std::filesystem::exists(tree_.root() / ".refit"));
}

TEST_F(Command, WhatUndoNeedsIsKeptOfTheLastTreesAlone) {
  for (int i = 0; i < 70; ++i) state_.put("refit/tree" + std::to_string(i) + "/done");
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 0);
  const std::filesystem::directory_iterator kept(state_.root() / "refit");
  EXPECT_EQ(std::distance(begin(kept), end(kept)), 64);
  EXPECT_EQ(refit({"undo", "@"}), 0);
  EXPECT_EQ(get("a.py"), "old\n");
}

TEST_F(Command, TheJournalLiesInGitsFolderWhereThereIsOne) {
  tree_.git("init -q");
  tree_.put("a.py", "old\n");
  EXPECT_EQ(refit({"migrate", "--write", "@"}), 0);
  EXPECT_TRUE(std::filesystem::exists(tree_.root() / ".git/refit/done"));
  EXPECT_FALSE(std::filesystem::exists(tree_.root() / ".refit"));
  EXPECT_EQ(refit({"undo", "@"}), 0);
  EXPECT_EQ(get("a.py"), "old\n");
  EXPECT_FALSE(std::filesystem::exists(tree_.root() / ".git/refit"));
}

TEST_F(Command, DiscoverysNotesAndProblemsReachTheReport) {
  tree_.put("a.py", "same\n");
  tree_.link("loop", "loop");
  EXPECT_EQ(refit({"migrate", "--report", "json:-", "@"}), 0);
  const std::string note = "loop: a symbolic link that leads back to itself; not followed";
  EXPECT_TRUE(said("note: " + note + "\n"));
  EXPECT_EQ(nlohmann::json::parse(console_.out_text)["notes"], std::vector<std::string>{note});
}

TEST_F(Command, HelpAndVersion) {
  EXPECT_EQ(refit({"--version"}), 0);
  EXPECT_TRUE(console_.out_text.starts_with("refit ")) << console_.out_text;
  EXPECT_EQ(refit({"--help"}), 0);
  EXPECT_NE(console_.out_text.find("migrate"), std::string::npos);
  EXPECT_EQ(refit({"migrate", "--help"}), 0);
  for (const ExitCodeText& entry : exit_codes()) {
    EXPECT_NE(console_.out_text.find(entry.meaning.substr(0, 30)), std::string::npos);
  }
  EXPECT_EQ(console_.error_text, "");
}

// apply() on a disk in memory: what the real one does too rarely.
class Apply : public testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_STATE_HOME", "/nowhere", 1);
    input_.root = "/tree";
    for (const std::string name : {"a.py", "b.py", "c.py"}) {
      input_.files.push_back({"/tree/" + name, name});
      disk_.put("/tree/" + name, "old");
      result_.changed.push_back({name, "old", "new"});
    }
  }
  std::string text(const std::string& name) { return disk_.files.at("/tree/" + name).bytes; }

  MemoryDisk disk_;
  Input input_;
  RunResult result_;
};

TEST_F(Apply, OneFileThatCannotBeWrittenIsAProblemAndTheOthersAreWritten) {
  disk_.files["/tree/b.py"].writable = false;
  const Applied applied = apply(result_, input_, disk_);
  EXPECT_EQ(applied.written, (std::vector<std::string>{"a.py", "c.py"}));
  EXPECT_FALSE(applied.interrupted);
  ASSERT_EQ(result_.problems.size(), 1u);
  EXPECT_EQ(result_.problems[0].kind, FileProblem::unwritable);
  EXPECT_EQ(result_.problems[0].file, "b.py");
  EXPECT_EQ(text("b.py"), "old");
}

TEST_F(Apply, AFullDiskLeavesEveryFileOld) {
  disk_.fault = MemoryDisk::Fault::error;
  disk_.fault_operation = "write";
  EXPECT_TRUE(apply(result_, input_, disk_).written.empty());
  ASSERT_EQ(result_.problems.size(), 1u);
  EXPECT_EQ(result_.problems[0].message,
            "recording the change set: No space left on device; every file is as it was");
  for (const char* name : {"a.py", "b.py", "c.py"}) EXPECT_EQ(text(name), "old");
  EXPECT_EQ(disk_.files.size(), 3u) << "no temporary file is left";
}

TEST_F(Apply, AnInterruptTakesEverythingBack) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    MemoryDisk disk = disk_;
    disk.before = {{"rename /tree/b.py", [&] { std::raise(signal); }}};
    const Applied applied = apply(result_, input_, disk);
    EXPECT_TRUE(applied.interrupted);
    EXPECT_TRUE(applied.written.empty());
    for (const char* name : {"a.py", "b.py", "c.py"}) {
      EXPECT_EQ(disk.files.at(std::string("/tree/") + name).bytes, "old");
    }
    EXPECT_EQ(disk.files.size(), 3u);
  }
}

TEST_F(Apply, ARootThatCannotBeWrittenHasTheJournalFurtherIn) {
  input_ = Input();
  result_ = RunResult();
  input_.root = "/tree";
  for (const std::string name : {"pkg/a.py", "pkg/sub/b.py"}) {
    input_.files.push_back({"/tree/" + name, name});
    disk_.put("/tree/" + name, "old");
    result_.changed.push_back({name, "old", "new"});
  }
  disk_.fault = MemoryDisk::Fault::error;
  disk_.fault_operation = "make_folder /tree/.refit";
  const Applied applied = apply(result_, input_, disk_);
  EXPECT_EQ(applied.written, (std::vector<std::string>{"pkg/a.py", "pkg/sub/b.py"}));
  EXPECT_FALSE(disk_.folders.contains("/tree/pkg/.refit"));
  const auto undone = undo(input_, disk_);
  ASSERT_TRUE(undone);
  EXPECT_EQ(undone->written, applied.written);
  EXPECT_EQ(text("pkg/sub/b.py"), "old");

  disk_.fault_operation = "make_folder";
  EXPECT_TRUE(apply(result_, input_, disk_).written.empty());
  ASSERT_EQ(result_.problems.size(), 1u);
  EXPECT_NE(result_.problems[0].message.find("no folder can be made for the journal"),
            std::string::npos);
}

TEST_F(Apply, ASignalThatNohupTurnedOffStaysOff) {
  const auto previous = std::signal(SIGHUP, SIG_IGN);
  disk_.before = {{"sync", [] { std::raise(SIGHUP); }}};
  const Applied applied = apply(result_, input_, disk_);
  std::signal(SIGHUP, previous);
  EXPECT_FALSE(applied.interrupted);
  EXPECT_EQ(applied.written.size(), 3u);
}

TEST(Progress, DrawsAfterASecondAndClearsItself) {
  FakeConsole console;
  std::chrono::steady_clock::time_point now{};
  {
    ProgressBar bar(console, [&] { return now; });
    now += std::chrono::milliseconds(999);
    bar.update(1, 10);
    EXPECT_EQ(console.error_text, "");
    now += std::chrono::milliseconds(1);
    bar.update(5, 10);
    EXPECT_EQ(console.error_text, "\r[###############               ] 5 of 10 files\x1b[K");
    bar.update(6, 10);
    EXPECT_EQ(console.error_text.find("6 of"), std::string::npos) << "ten times a second";
    now += std::chrono::milliseconds(100);
    bar.update(10, 10);
    EXPECT_NE(console.error_text.find("[##############################] 10 of 10"),
              std::string::npos);
  }
  EXPECT_TRUE(console.error_text.ends_with("\r\x1b[K"));
}

TEST(Progress, AShortRunDrawsNothing) {
  FakeConsole console;
  {
    ProgressBar(console).update(1, 1);
  }
  EXPECT_EQ(console.error_text, "");
}

}  // namespace
}  // namespace refit
