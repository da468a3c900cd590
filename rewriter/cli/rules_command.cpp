// `refit rules` and `refit assumptions`. Entry point: rules_command.
#include "rewriter/cli/rules_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/cli/assumptions.hpp"
#include "rewriter/cli/rule_lint.hpp"
#include "rewriter/cli/rule_tests.hpp"
#include "rewriter/cli/rules_new.hpp"
#include "rewriter/report/rule_page.hpp"
#include "rewriter/text/count.hpp"

namespace refit {
namespace {

void test(Session& session, const RulesOptions& options, const RuleSet& rules) {
  const auto all = session.load({options.rules.rules, {}, {}});
  if (!all) return;
  const auto results =
      test_rules(*all, rules_of(rules, options.tested), session.rules_folder, session.services);
  if (!results) {
    session.fail(results.error().message, ExitCode::bad_rules, Breaks::kept);
    return;
  }
  session.show(printable(results_text(*results), Breaks::kept));
  if (!results->failures.empty()) session.raise(ExitCode::would_change);
  if (!options.no_numeric) {
    const auto numeric =
        run_numeric_tests(results->numeric, options.python, session.console.error_is_terminal());
    session.show(printable(numeric.text, Breaks::kept));
    if (numeric.failed != 0) session.raise(ExitCode::would_change);
  } else if (!results->numeric.empty()) {
    session.show(fmt::format("{} left out\n", count_of(results->numeric.size(), "numeric test")));
  }
  if (!options.update) return;
  const auto updated = update_tests(results->failures);
  if (!updated) {
    session.fail(updated.error().message, ExitCode::not_written);
    return;
  }
  session.show(fmt::format("{} updated; read what changed\n", count_of(*updated, "test")));
}

void check(Session& session, const RulesOptions& options, const RuleSet& rules) {
  // Patterns are compiled where a run begins.
  for (const Target target : {Target::cuda, Target::ascend}) {
    session.options.target = target;
    const auto compiled = session.run(rules, Input{});
    if (compiled) continue;
    session.fail(compiled.error().message, ExitCode::bad_rules, Breaks::kept);
    return;
  }
  const auto chosen = rules_of(rules, options.tested);
  const std::string doubts = lint_text(rules, chosen);
  session.show(printable(doubts, Breaks::kept));
  if (!doubts.empty()) session.raise(ExitCode::would_change);
  const auto without = std::ranges::count_if(chosen, [](const Rule* rule) {
    return std::ranges::none_of(rule->tests,
                                [](const RuleTest& t) { return t.numeric.has_value(); });
  });
  session.show(fmt::format("{} checked, {} without a numeric test\n",
                           count_of(chosen.size(), "rule"), without));
}

}  // namespace

ExitCode rules_command(Session& session, const RulesOptions& options) {
  const auto rules = session.load(options.rules);
  if (!rules) return session.code();
  switch (options.action) {
    case RulesOptions::Action::list:
      session.show(options.json ? rules_json(rules->rules()) : rules_text(rules->rules()));
      break;
    case RulesOptions::Action::show: {
      const auto rule = std::ranges::find(rules->rules(), options.id, &Rule::id);
      if (rule == rules->rules().end()) {
        return session.fail(
            fmt::format("there is no rule {}; `refit rules` lists them", options.id),
            ExitCode::usage);
      }
      session.show(printable(rule_page(*rule), Breaks::kept));
      break;
    }
    case RulesOptions::Action::assumptions:
      session.show(assumptions_text(*rules));
      break;
    case RulesOptions::Action::check:
      check(session, options, *rules);
      break;
    case RulesOptions::Action::draft:
      new_rule(session, options, *rules);
      break;
    case RulesOptions::Action::test:
      test(session, options, *rules);
      break;
  }
  return session.code();
}

}  // namespace refit
