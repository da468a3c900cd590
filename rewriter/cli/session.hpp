// What the commands share: the rules they load, the engine, where their words go, and the exit
// code. Entry point: Session.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "rewriter/cli/command.hpp"
#include "rewriter/cli/exit_code.hpp"
#include "rewriter/cli/options.hpp"
#include "rewriter/cli/path_settings.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {

bool wants_colour(Colour colour, bool terminal);

class Session {
 public:
  explicit Session(const Services& given) : services(given), console(*given.console) {}

  // The shipped rules and those that the options name, as `options` chooses among them. Where they
  // are wrong, that is said and nothing given.
  // `texts`: as RuleSet::load takes them.
  std::optional<RuleSet> load(const RuleOptions& rules,
                              const std::map<std::string, std::string>& texts = {});
  // `file`, `line`: the line that is asked about.
  Expected<RunResult> run(const RuleSet& rules, const Input& input, const std::string& file = {},
                          uint32_t line = 0);

  void show(std::string_view text);  // on standard output
  void say_error(std::string_view message, Breaks breaks = Breaks::escaped);
  // Says the message, and gives the code, which counts from here on.
  ExitCode fail(std::string_view message, ExitCode code, Breaks breaks = Breaks::escaped);
  // `path`: "-" is standard output. `what`: the name for a message.
  void write_output(const std::string& path, std::string_view what, const std::string& text);
  void write_file(const std::string& path, std::string_view what, const std::string& text);

  // The largest of the codes that apply.
  void raise(ExitCode code) { code_ = std::max(code_, code); }
  ExitCode code() const { return code_; }
  bool out_closed() const { return out_closed_; }

  const Services& services;
  Console& console;
  MigrateOptions options;  // of the engine, whatever the command is
  std::string rules_folder;
  std::optional<std::set<std::string>> chosen;  // fingerprints of the only sites to rewrite

 private:
  SettingsByFile by_file_;
  ExitCode code_ = ExitCode::done;
  bool out_closed_ = false;
};

}  // namespace refit
