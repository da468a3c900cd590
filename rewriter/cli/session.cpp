// What the commands share. Entry point: Session.
#include "rewriter/cli/session.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "rewriter/cli/assumptions.hpp"
#include "rewriter/cli/installed_rules.hpp"
#include "rewriter/cli/progress.hpp"
#include "rewriter/cli/rules_folder.hpp"

namespace refit {

bool wants_colour(Colour colour, bool terminal) {
  if (colour != Colour::automatic) return colour == Colour::always;
  const char* no_color = std::getenv("NO_COLOR");  // any text at all means: none
  return terminal && (no_color == nullptr || *no_color == '\0');
}

std::optional<RuleSet> Session::load(const RuleOptions& chosen_rules,
                                     const std::map<std::string, std::string>& texts) {
  const auto wrong = [&](const std::string& message, ExitCode code) {
    fail(message, code, Breaks::kept);
    return std::nullopt;
  };
  const auto folder = find_rules_folder();
  if (!folder) return wrong(folder.error().message, ExitCode::bad_rules);
  rules_folder = *folder;
  std::vector<std::string> paths{*folder};
  for (const std::string& given : chosen_rules.rules) {
    auto path = rules_path(given);
    if (!path) return wrong(path.error().message, ExitCode::bad_rules);
    paths.push_back(std::move(*path));
  }
  auto rules = services.load_rules(paths, *folder + "/catalogue", texts);
  if (!rules) return wrong(rules.error().message, ExitCode::bad_rules);
  auto assumed = resolve_assumptions(*rules, options.assume);
  if (!assumed) return wrong(assumed.error().message, ExitCode::usage);
  options.assume = std::move(*assumed);
  auto by_file = settings_by_file(*rules, options.by_path);
  if (!by_file) return wrong(by_file.error().message, ExitCode::usage);
  by_file_ = std::move(*by_file);
  const auto selected = services.select_rules(*rules, chosen_rules.select, chosen_rules.ignore);
  if (!selected) return wrong(selected.error().message, ExitCode::usage);
  return std::move(*rules);
}

Expected<RunResult> Session::run(const RuleSet& rules, const Input& input, const std::string& file,
                                 uint32_t line) {
  EngineOptions engine;
  engine.chosen = chosen;
  engine.explain = file;
  engine.explain_line = line;
  engine.target = options.target;
  engine.strict = options.strict;
  engine.assume = options.assume;
  engine.by_file = by_file_;
  engine.jobs = options.jobs;
  engine.rules_folder = rules_folder;
  engine.defines = options.define;
  engine.site_edits = !options.reports.empty() || options.review;
  std::unique_ptr<ProgressBar> bar;
  if (console.error_is_terminal() && !options.quiet) {
    bar = std::make_unique<ProgressBar>(console);
  }
  return services.run(rules, input, engine, [&](uint64_t done, uint64_t total) {
    if (bar) bar->update(done, total);
  });
}

void Session::write_output(const std::string& path, std::string_view what,
                           const std::string& text) {
  if (path == "-") {
    show(text);
  } else {
    write_file(path, what, text);
  }
}

void Session::write_file(const std::string& path, std::string_view what, const std::string& text) {
  // Written in place: it may be a pipe or a device.
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) {
    fail(fmt::format("cannot write {} {}: {}", what, path, std::strerror(errno)),
         ExitCode::not_written);
  }
}

void Session::show(std::string_view text) {
  if (out_closed_ || text.empty()) return;
  const Console::Written written = console.out(text);
  if (written == Console::Written::yes) return;
  out_closed_ = true;
  if (written == Console::Written::failed) {
    fail("cannot write to standard output", ExitCode::not_written);
  }
}

void Session::say_error(std::string_view message, Breaks breaks) {
  console.error(fmt::format("refit: {}\n", printable(message, breaks)));
}

ExitCode Session::fail(std::string_view message, ExitCode code, Breaks breaks) {
  say_error(message, breaks);
  raise(code);
  return code_;
}

}  // namespace refit
