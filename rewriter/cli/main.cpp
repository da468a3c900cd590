// The process: the real engine, rules, disk and console, handed to run_command.
#include <malloc.h>

#include <csignal>
#include <memory>

#include "rewriter/cli/command.hpp"
#include "rewriter/cli/languages.hpp"

int main(int argc, char** argv) {
  // A closed pipe, or a limit on the size of files, is an answer to a write, not the end of the
  // process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
#ifdef __GLIBC__
  // Trees come and go by the file: memory given back to the kernel would be asked for again at
  // once.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
#endif
  refit::Services services;
  services.load_rules = refit::RuleSet::load;
  services.select_rules = [](refit::RuleSet& rules, const std::vector<std::string>& select,
                             const std::vector<std::string>& ignore) {
    return rules.select(select, ignore);
  };
  services.run = [](const refit::RuleSet& rules, const refit::Input& input,
                    const refit::EngineOptions& options, const refit::Progress& progress) {
    return refit::run(rules, input, options, progress);
  };
  services.languages = [](const std::string& rules_folder) {
    return std::make_unique<refit::ShippedLanguages>(rules_folder);
  };
  services.disk = &refit::real_disk();
  services.console = &refit::real_console();
  return refit::run_command(argc, argv, services);
}
