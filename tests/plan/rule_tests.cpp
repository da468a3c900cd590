// The tests that the shipped rules carry: each `tests:` entry of rules/*.yaml is a test of its own,
// named by its rule and its name. Entry point: main, which registers them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iostream>

#include "rewriter/cli/languages.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

const RuleSet& shipped() {
  static const auto rules =
      RuleSet::load({REFIT_RULES_DIR}, std::string(REFIT_RULES_DIR) + "/catalogue");
  if (!rules) {
    std::cerr << rules.error().message << "\n";
    std::exit(1);
  }
  return *rules;
}

std::string place(const RuleTest& test) {
  return test.at.file + ":" + std::to_string(test.at.line);
}

class RuleTestCase : public testing::Test {
 public:
  RuleTestCase(const Rule& rule, const RuleTest& test) : rule_(rule), test_(test) {}

  void TestBody() override {
    const ScratchFolder folder;
    folder.put("m.py", test_.before);
    const Input input{folder.path(), {{folder.path("m.py"), "m.py"}}, {""}};
    EngineOptions options;
    options.target = test_.target;
    options.jobs = 1;
    options.rules_folder = REFIT_RULES_DIR;
    const auto result = run(shipped(), input, options, nullptr);
    ASSERT_TRUE(result) << result.error().message;
    for (const Problem& problem : result->problems) ADD_FAILURE() << problem.message;
    if (test_.after) {
      ASSERT_EQ(result->changed.size(), 1U) << place(test_) << ": nothing changes\n"
                                            << findings(*result);
      EXPECT_EQ(*result->changed.front().new_bytes, *test_.after) << place(test_);
      EXPECT_TRUE(std::any_of(
          result->findings.begin(), result->findings.end(),
          [&](const Finding& f) { return f.rule == rule_.id && f.outcome == Outcome::rewritten; }))
          << place(test_) << ": another rule did it\n"
          << findings(*result);
      return;
    }
    EXPECT_TRUE(result->changed.empty()) << place(test_) << ": it changes\n" << findings(*result);
    const bool refused =
        std::any_of(result->findings.begin(), result->findings.end(), [&](const Finding& f) {
          return f.rule == rule_.id && f.outcome == Outcome::refused && f.code == test_.code;
        });
    EXPECT_TRUE(refused) << place(test_) << ": not refused as " << test_.code << "\n"
                         << findings(*result);
  }

 private:
  static std::string findings(const RunResult& result) {
    std::string out = "findings:\n";
    for (const Finding& f : result.findings) {
      out += "  line " + std::to_string(f.line) + " " + f.rule + " " +
             (f.outcome == Outcome::rewritten ? "rewritten" : "refused " + f.code) + " " +
             f.message + "\n";
    }
    return out;
  }

  const Rule& rule_;
  const RuleTest& test_;
};

void register_all() {
  // A filter takes what follows a hyphen for what it leaves out: by such a name no test would run.
  auto plain = [](std::string name) {
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
  };
  for (const Rule& rule : shipped().rules()) {
    const std::string suite = plain(rule.id);
    for (const RuleTest& test : rule.tests) {
      const std::string name = plain(test.name);
      testing::RegisterTest(
          suite.c_str(), name.c_str(), nullptr, nullptr, test.at.file.c_str(), test.at.line,
          [&rule, &test]() -> testing::Test* { return new RuleTestCase(rule, test); });
    }
  }
}

// A run over nothing would pass.
TEST(ShippedRules, CarryTests) {
  size_t tests = 0;
  for (const Rule& rule : shipped().rules()) tests += rule.tests.size();
  EXPECT_GT(tests, 0U);
}

TEST(ShippedRules, CompileForEveryTarget) {
  const ScratchFolder folder;
  folder.put("m.py", "");
  const Input input{folder.path(), {{folder.path("m.py"), "m.py"}}, {""}};
  EngineOptions options;
  options.rules_folder = REFIT_RULES_DIR;
  for (const Target target : {Target::cuda, Target::ascend}) {
    options.target = target;
    const auto result = run(shipped(), input, options, nullptr);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->findings.empty());
  }
}

}  // namespace
}  // namespace refit

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  refit::register_all();
  return RUN_ALL_TESTS();
}
