// The command, apart from the process it runs in: the engine, the rule loader, the disk and the
// console are given, so that tests can give their own. Entry point: run_command.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rewriter/cli/console.hpp"
#include "rewriter/language/languages.hpp"
#include "rewriter/plan/engine.hpp"
#include "rewriter/rule/rule.hpp"
#include "rewriter/text/disk.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct Services {
  // As RuleSet::load, RuleSet::select and run.
  std::function<Expected<RuleSet>(const std::vector<std::string>& paths,
                                  const std::string& catalogue_folder,
                                  const std::map<std::string, std::string>& texts)>
      load_rules;
  std::function<Expected<void>(RuleSet& rules, const std::vector<std::string>& select,
                               const std::vector<std::string>& ignore)>
      select_rules;
  std::function<Expected<RunResult>(const RuleSet& rules, const Input& input,
                                    const EngineOptions& options, const Progress& progress)>
      run;
  // The languages of a run, with what that folder of rules says of C++ libraries.
  std::function<std::unique_ptr<Languages>(const std::string& rules_folder)> languages;
  Disk* disk = nullptr;
  Console* console = nullptr;
};

// Runs the command line and gives the process's exit status.
int run_command(int argc, const char* const* argv, const Services& services);

}  // namespace refit
