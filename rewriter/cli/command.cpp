// refit's commands: which of them is meant, and the short ones. Entry point: run_command.
#include "rewriter/cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/explain_input.hpp"
#include "rewriter/cli/language_server.hpp"
#include "rewriter/cli/migrate.hpp"
#include "rewriter/cli/options.hpp"
#include "rewriter/cli/rules_command.hpp"
#include "rewriter/cli/session.hpp"
#include "rewriter/cli/verify.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/count.hpp"

namespace refit {
namespace {

ExitCode answer(Session& session, const Answered& answered) {
  session.console.error(answered.error);
  session.show(answered.out);
  return std::max(answered.code, session.code());
}

// What each rule would need to find on a line on which it has no site, and comes near to none.
std::string looked_for(const RuleSet& rules, const RunResult& result) {
  std::string text;
  for (const Rule& rule : rules.rules()) {
    std::vector<std::string> callees = rule.match.call;
    callees.insert(callees.end(), rule.match.construct.begin(), rule.match.construct.end());
    if (!callees.empty()) {
      text += fmt::format("  [{}] looks for calls of {}; the line shows none of them\n", rule.id,
                          fmt::join(callees, ", "));
    } else if (std::ranges::find(result.near, rule.id, &NearMiss::rule) == result.near.end()) {
      text +=
          fmt::format("  [{}] looks for what its {} compute; nothing on the line resembles it\n",
                      rule.id, count_of(rule.match.patterns.size(), "pattern"));
    }
  }
  return text;
}

ExitCode explain(Session& session, const ExplainOptions& options) {
  session.options.target = options.target;
  session.options.strict = options.strict;
  session.options.assume = options.assume;
  session.options.by_path = options.by_path;
  session.options.define = options.define;
  const auto rules = session.load(options.rules);
  if (!rules) return session.code();
  const auto found = explain_input(options.file);
  if (!found) {
    return session.fail(found.error().message,
                        found.error().usage ? ExitCode::usage : ExitCode::unreadable_input);
  }
  const std::string& name = found->name;
  auto planned = session.run(*rules, found->input, name, options.line);
  if (!planned) {
    return session.fail(planned.error().message, ExitCode::bad_rules, Breaks::kept);
  }
  for (const Problem& problem : planned->problems) {
    if (problem.file != name) continue;
    session.say_error(fmt::format("{}: {}", problem.file, problem.message));
    if (problem.kind != FileProblem::withheld) session.raise(ExitCode::unreadable_input);
  }
  if (options.rule.empty()) {
    session.show(explanation_text(*planned, name, options.line));
    return session.code();
  }
  session.show(explanation_text(*planned, name, options.line,
                                fmt::format("{} has no site here", options.rule)));
  const bool any = std::ranges::any_of(planned->findings, [&](const Finding& finding) {
    return finding.file == name && finding.line <= options.line && options.line <= finding.end_line;
  });
  if (!any) session.show(looked_for(*rules, *planned));
  return session.code();
}

ExitCode take_back(Session& session, const UndoOptions& options) {
  const auto discovery = discover({options.path}, {});
  if (!discovery) {
    return session.fail(discovery.error().message,
                        discovery.error().usage ? ExitCode::usage : ExitCode::unreadable_input);
  }
  const auto undone = undo(discovery->input, *session.services.disk);
  const std::string root = printable(discovery->input.root, Breaks::escaped);
  if (!undone) {
    return session.fail(undone.error().message, ExitCode::not_written);
  }
  if (undone->interrupted) {
    session.console.error("interrupted: every file is as it was\n");
    return ExitCode::interrupted;
  }
  session.console.error(
      undone->written.empty()
          ? fmt::format("{}: there is no run to take back\n", root)
          : fmt::format("{} restored in {}\n", count_of(undone->written.size(), "file"), root));
  return ExitCode::done;
}

}  // namespace

int run_command(int argc, const char* const* argv, const Services& services) {
  Session session(services);
  const Command command = parse_command_line(argc, argv);
  ExitCode code = ExitCode::done;
  if (const auto* answered = std::get_if<Answered>(&command)) code = answer(session, *answered);
  if (const auto* options = std::get_if<RulesOptions>(&command)) {
    code = rules_command(session, *options);
  }
  if (const auto* options = std::get_if<ExplainOptions>(&command)) {
    code = explain(session, *options);
  }
  if (const auto* options = std::get_if<MigrateOptions>(&command)) {
    code = migrate(session, *options);
  }
  if (const auto* options = std::get_if<VerifyOptions>(&command)) {
    code = verify(session, *options);
  }
  if (const auto* options = std::get_if<LspOptions>(&command)) {
    code = serve_editor(session, *options);
  }
  if (const auto* options = std::get_if<UndoOptions>(&command)) {
    code = take_back(session, *options);
  }
  return static_cast<int>(code);
}

}  // namespace refit
