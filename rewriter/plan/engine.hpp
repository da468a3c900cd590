// The engine's door: files in, findings and new file contents out. Nothing is written here.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/language/languages.hpp"
#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

constexpr char kNotChosen[] = "not-chosen";

// What is other in one file than in the rest.
struct FileSettings {
  bool strict = false;            // also where EngineOptions::strict is not
  std::set<std::string> assume;   // beside EngineOptions::assume
  std::set<std::string> without;  // ids of rules that look for nothing there
};

struct EngineOptions {
  Target target = Target::cuda;
  bool strict = false;           // refuse whatever needs an assumption
  std::set<std::string> assume;  // --assume NAME
  // Of a file of the input; any thread may ask. Empty: no file has any.
  std::function<FileSettings(std::string_view file)> by_file;
  unsigned jobs = 0;          // 0: as many as the machine has cores
  std::string explain;        // a file of the input whose line `explain_line` is asked about:
  uint32_t explain_line = 0;  // RunResult::near says what it comes nearest to
  std::string rules_folder;   // of isomorphisms.yaml and catalogue/; "": neither is read
  std::vector<std::string> defines;  // names, with `=VALUE` perhaps, that C++ is compiled with
  bool site_edits = false;           // Finding::edits
  // Fingerprints of the only sites that may be rewritten. The others are refused as kNotChosen.
  std::optional<std::set<std::string>> chosen;
  bool prefilter = true;              // false: every rule looks into every function (for tests)
  uint64_t size_limit = 16ull << 20;  // bytes; larger files that hold a site's words are left
};

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Plans every file; `languages` reads rules and sources. Deterministic: the result does not depend
// on `jobs`. Fails when a rule or the isomorphisms do not compile.
Expected<RunResult> run(const RuleSet& rules, const Languages& languages, const Input& input,
                        const EngineOptions& options, const Progress& progress);

}  // namespace refit
