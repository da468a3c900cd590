// The exit codes, in one table from which --help prints them. Entry point: exit_codes.
#pragma once

#include <string_view>
#include <vector>

namespace refit {

enum class ExitCode {
  done = 0,
  would_change = 1,
  usage = 2,
  unreadable_input = 3,
  withheld = 4,
  bad_rules = 5,
  not_written = 6,
  cannot_verify = 7,
  interrupted = 130,
};

struct ExitCodeText {
  ExitCode code;
  std::string_view meaning;
};

inline const std::vector<ExitCodeText>& exit_codes() {
  static const std::vector<ExitCodeText> table = {
      {ExitCode::done, "done"},
      {ExitCode::would_change,
       "--check: at least one file would change; rules test: a test failed; "
       "rules check: a doubt; rules new: no rule; verify: a function differs; lsp: the client left "
       "without "
       "`shutdown`"},
      {ExitCode::usage, "usage error: nothing was read"},
      {ExitCode::unreadable_input,
       "a PATH, or some of the files, could not be read, decoded or parsed"},
      {ExitCode::withheld, "the self-check withheld the new text of a file; it was left alone"},
      {ExitCode::bad_rules, "a rule file is wrong or missing: nothing was read"},
      {ExitCode::not_written, "a file, the report or the output could not be written"},
      {ExitCode::cannot_verify,
       "verify: Python, the runtime or the given inputs could not be used: nothing was run"},
      {ExitCode::interrupted, "interrupted; every file is as it was"},
  };
  return table;
}

}  // namespace refit
