// The command line as data. Entry point: parse_command_line.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "rewriter/cli/exit_code.hpp"
#include "rewriter/cli/path_settings.hpp"
#include "rewriter/rule/rule.hpp"

namespace refit {

enum class Colour { automatic, always, never };

struct RuleOptions {
  std::vector<std::string> rules;  // further files and folders of rules
  std::vector<std::string> select, ignore;
};

enum class ReportFormat { json, sarif, github };

struct ReportOption {
  ReportFormat format = ReportFormat::json;
  std::string path;  // "-": standard output
};

struct MigrateOptions {
  std::vector<std::string> paths;
  bool diff = false;  // show it; set by default unless another output was asked for
  bool write = false;
  bool check = false;
  Target target = Target::cuda;
  bool strict = false;
  std::set<std::string> assume;
  std::vector<PathOptions> by_path;
  RuleOptions rules;
  std::vector<std::string> include, exclude;
  std::vector<std::string> define;  // NAME or NAME=VALUE, that C++ is compiled with
  unsigned jobs = 0;                // 0: as many as the machine has cores
  std::vector<ReportOption> reports;
  std::vector<std::string> sites;       // fingerprints
  std::optional<std::string> choose;    // a file of the only sites that may be rewritten
  std::optional<std::string> baseline;  // a file of sites that are left and not shown
  std::optional<std::string> write_baseline;
  std::optional<std::string> since;   // a git revision
  bool from_input = false;            // the text of the only path stands on standard input
  bool interactive = false;           // ask site by site
  std::optional<std::string> review;  // where `refit review` writes its page; "-": standard output
  bool quiet = false;
  Colour colour = Colour::automatic;
  std::string configured;  // a sentence about the project's configuration, or ""
};

struct RulesOptions {
  enum class Action { list, show, test, check, assumptions, draft } action = Action::list;
  RuleOptions rules;
  bool json = false;                // the list as data
  std::string id;                   // of the rule to show, or of the new one; "": its function's
  std::vector<std::string> tested;  // files and folders of rules; none: the rules that ship
  bool update = false;              // the tests' texts
  bool no_numeric = false;          // the numeric tests are left out
  std::string python = "python3";   // that runs them
  std::string before, after;        // files, of which a rule is made
  std::string output = "-";         // where it goes; "-": standard output
};

struct ExplainOptions {
  std::string rule;  // `refit rules why`: the only rule that is asked about; "" for all
  std::string file;
  uint32_t line = 0;
  Target target = Target::cuda;
  bool strict = false;
  std::set<std::string> assume;
  std::vector<PathOptions> by_path;
  RuleOptions rules;
  std::vector<std::string> define;
};

struct VerifyOptions {
  MigrateOptions migrate;  // which files and sites, how they are reported
  std::string python = "python3";
  std::optional<std::string> inputs;    // FILE.py:FUNCTION
  std::optional<std::string> revision;  // git's, whose texts are the original
  bool planned = false;                 // what `migrate` would change, whatever the last run did
  double seconds = 60;                  // for each step of a function
};

struct LspOptions {
  MigrateOptions migrate;     // what the project's configuration is added to
  bool target_given = false;  // the configuration's does not count
  bool no_config = false;
};

struct UndoOptions {
  std::string path = ".";
};

// The command has been answered already: --help, --version, or a usage error.
struct Answered {
  ExitCode code = ExitCode::done;
  std::string out;    // for standard output
  std::string error;  // for standard error
};

using Command = std::variant<Answered, MigrateOptions, VerifyOptions, ExplainOptions, RulesOptions,
                             LspOptions, UndoOptions>;

Command parse_command_line(int argc, const char* const* argv);

}  // namespace refit
