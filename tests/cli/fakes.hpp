// A console that remembers and an engine that replaces one word by another, so that the command is
// tested apart from rules and parsing. Entry point: Harness.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "rewriter/cli/command.hpp"
#include "tests/project/tree.hpp"

namespace refit {

class FakeConsole final : public Console {
 public:
  Written out(std::string_view text) override {
    if (closes_after && out_text.size() >= *closes_after) return Written::closed;
    if (fails) return Written::failed;
    out_text += text;
    return Written::yes;
  }
  void error(std::string_view text) override { error_text += text; }
  std::optional<std::string> read_line() override { return std::nullopt; }
  std::string read_all() override { return ""; }
  bool out_is_terminal() const override { return terminal; }
  bool error_is_terminal() const override { return terminal; }

  std::string out_text, error_text;
  bool terminal = false, fails = false;
  std::optional<std::size_t> closes_after;
};

// In every file: each line "old" is a site and becomes "new", each line "stuck" is refused,
// "broken" is a syntax problem, "doubtful" withholds the file's new text.
inline RunResult fake_run(Disk& disk, const Input& input) {
  RunResult result;
  result.files_seen = input.files.size();
  for (const InputFile& file : input.files) {
    const auto bytes = disk.read(file.path, 1 << 20);
    if (!bytes) {
      result.problems.push_back({FileProblem::unreadable, file.relative, bytes.error().message});
      continue;
    }
    ++result.files_scanned;
    std::string text;
    bool withheld = false;
    uint32_t line = 1;
    for (std::size_t begin = 0; begin < bytes->size(); ++line) {
      const std::size_t end = std::min(bytes->find('\n', begin), bytes->size() - 1) + 1;
      const std::string word = bytes->substr(begin, end - begin);
      Finding finding;
      finding.file = file.relative;
      finding.line = finding.end_line = line;
      finding.column = 1;
      finding.rule = "words";
      finding.callee = "word";
      finding.before = "x";
      if (word == "old\n") {
        finding.outcome = Outcome::rewritten;
        finding.after = "y";
        result.findings.push_back(finding);
        text += "new\n";
      } else {
        text += word;
      }
      if (word == "stuck\n") {
        finding.code = "stuck-word";
        finding.message = "it does not move; push it";
        result.findings.push_back(finding);
      }
      if (word == "broken\n") {
        result.problems.push_back({FileProblem::syntax, file.relative, "line does not parse"});
      }
      withheld |= word == "doubtful\n";
      begin = end;
    }
    if (withheld) {
      result.problems.push_back({FileProblem::withheld, file.relative, "the check says no"});
    } else if (text != *bytes) {
      result.changed.push_back({file.relative, *bytes, text});
    }
  }
  return result;
}

class Harness : public testing::Test {
 protected:
  void SetUp() override {
    setenv("REFIT_RULES_DIR", tree_.root().c_str(), 1);
    setenv("XDG_STATE_HOME", state_.root().c_str(), 1);
  }
  void TearDown() override {
    unsetenv("REFIT_RULES_DIR");
    unsetenv("NO_COLOR");
  }

  // Runs `refit ARGUMENTS…`, the tree's root standing for "@".
  int refit(std::vector<std::string> arguments) {
    console_.out_text.clear();
    console_.error_text.clear();
    std::vector<std::string> words{"refit"};
    for (std::string& argument : arguments) {
      const std::size_t at = argument.find('@');
      if (at != std::string::npos) argument.replace(at, 1, tree_.root().string());
      words.push_back(argument);
    }
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    Services services;
    services.load_rules = [this](const std::vector<std::string>& paths,
                                 const std::string& catalogue,
                                 const std::map<std::string, std::string>& /*texts*/) {
      rule_paths_ = paths;
      catalogue_ = catalogue;
      return load_();
    };
    services.select_rules = [this](RuleSet&, const std::vector<std::string>& select,
                                   const std::vector<std::string>& ignore) {
      select_ = select;
      ignore_ = ignore;
      return selected_();
    };
    services.run = [this](const RuleSet&, const Input& input, const EngineOptions& options,
                          const Progress& progress) -> Expected<RunResult> {
      engine_options_ = options;
      for (uint64_t i = 0; i < input.files.size(); ++i) progress(i + 1, input.files.size());
      if (between_) between_();
      if (!rules_compile_) return failure("x.yaml:4:9: the pattern does not compile");
      RunResult result = fake_run(*disk_, input);
      if (after_) after_();
      return result;
    };
    services.disk = disk_;
    services.console = &console_;
    return run_command(static_cast<int>(argv.size()), argv.data(), services);
  }

  std::string get(const std::string& name) const {
    std::ifstream in(tree_.root() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  Tree tree_, state_;
  FakeConsole console_;
  Disk* disk_ = &real_disk();
  std::function<Expected<RuleSet>()> load_ = [] { return Expected<RuleSet>(RuleSet()); };
  std::function<Expected<void>()> selected_ = [] { return Expected<void>(); };
  bool rules_compile_ = true;
  std::function<void()> between_;  // after discovery, before files are read
  std::function<void()> after_;    // after planning, before anything is written
  std::vector<std::string> rule_paths_, select_, ignore_;
  std::string catalogue_;
  EngineOptions engine_options_;
};

}  // namespace refit
