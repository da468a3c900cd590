// The process: the real engine, rules, disk and console, handed to run_command.
#include <csignal>

#include "rewriter/cli/command.hpp"

int main(int argc, char** argv) {
  // A closed pipe is an answer to a write, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  refit::Services services;
  services.load_rules = refit::RuleSet::load;
  services.select_rules = [](refit::RuleSet& rules, const std::vector<std::string>& select,
                             const std::vector<std::string>& ignore) {
    return rules.select(select, ignore);
  };
  services.run = refit::run;
  services.disk = &refit::real_disk();
  services.console = &refit::real_console();
  return refit::run_command(argc, argv, services);
}
