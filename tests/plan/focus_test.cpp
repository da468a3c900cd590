// What the prefilter leaves out could not have held a site: over the whole corpus a run that looks
// into every function finds what the run that does not finds.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "rewriter/plan/engine.hpp"

namespace refit {
namespace {

namespace fs = std::filesystem;

std::string shown(const Finding& f) {
  return f.file + ":" + std::to_string(f.line) + ":" + std::to_string(f.column) + " " + f.rule +
         " " + (f.outcome == Outcome::rewritten ? "rewritten " : "refused ") + f.code + " " +
         f.through.value_or("") + " " + f.message;
}

// A folder that says what the tool does not do yet.
bool is_gap(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("expect")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("gap:")) return true;
    }
  }
  return false;
}

TEST(Focus, LeavesNoSiteOut) {
  const std::string rules_folder = REFIT_RULES_DIR;
  const auto rules = RuleSet::load({rules_folder}, rules_folder + "/catalogue");
  ASSERT_TRUE(rules) << rules.error().message;
  size_t findings = 0;
  for (const auto& folder : fs::directory_iterator(REFIT_CORPUS_DIR)) {
    if (!folder.is_directory() || is_gap(folder)) continue;
    std::set<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() == ".py") paths.insert(entry.path().string());
    }
    Input input{folder.path().string(), {}, {""}};
    for (const std::string& path : paths) {
      input.files.push_back({path, fs::relative(path, folder).generic_string()});
    }
    std::set<std::string> found[2];
    for (const bool prefilter : {false, true}) {
      EngineOptions options;
      options.isomorphisms = rules_folder + "/isomorphisms.yaml";
      options.prefilter = prefilter;
      const auto result = run(*rules, input, options, nullptr);
      ASSERT_TRUE(result) << result.error().message;
      for (const Finding& f : result->findings) found[prefilter].insert(shown(f));
      for (const FileResult& f : result->changed) found[prefilter].insert(f.file + *f.new_bytes);
    }
    EXPECT_EQ(found[true], found[false]) << folder.path();
    findings += found[true].size();
  }
  EXPECT_GT(findings, 100U);
}

}  // namespace
}  // namespace refit
