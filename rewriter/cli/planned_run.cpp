// The run that the options ask for. Entry point: planned_run.
#include "rewriter/cli/planned_run.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/cli/interactive.hpp"
#include "rewriter/cli/selection.hpp"
#include "rewriter/report/review.hpp"

namespace refit {
namespace {

constexpr uint64_t kLongestShown = uint64_t{16} << 20;  // bytes of a file in a review

}  // namespace

std::optional<RunResult> planned_run(Session& session, const RuleSet& rules, const Input& input) {
  const auto fail = [&](const std::string& message, ExitCode code) {
    session.fail(message, code, Breaks::kept);
    return std::nullopt;
  };
  const auto selection = Selection::read(session.options);
  if (!selection) return fail(selection.error().message, ExitCode::usage);
  auto result = input.files.empty() ? RunResult() : session.run(rules, input);
  // Only rules that do not compile make the engine fail as a whole.
  if (!result) return fail(result.error().message, ExitCode::bad_rules);
  if (session.options.write_baseline) {
    session.write_file(*session.options.write_baseline, "the baseline",
                       sites_text(result->findings));
  }
  if (selection->all() && !session.options.interactive) return std::move(*result);
  auto chosen = selection->among(result->findings, input);
  if (!chosen) return fail(chosen.error().message, ExitCode::usage);
  if (session.options.interactive) {
    const bool colour = wants_colour(session.options.colour, session.console.error_is_terminal());
    *chosen = ask_sites(*result, std::move(*chosen), session.console, colour);
  }
  session.chosen = std::move(*chosen);
  result = session.run(rules, input);
  if (!result) return fail(result.error().message, ExitCode::bad_rules);
  Selection::leave(*result, *session.chosen);
  return std::move(*result);
}

void add_discovery(const Discovery& discovery, RunResult& result) {
  std::vector<Problem> problems;
  for (const DiscoveryProblem& problem : discovery.problems) {
    problems.push_back({FileProblem::unreadable, problem.file, problem.message});
  }
  result.problems.insert(result.problems.begin(), problems.begin(), problems.end());
  result.notes.insert(result.notes.begin(), discovery.notes.begin(), discovery.notes.end());
}

ReportContext report_context(const Session& session, const Input& input,
                             const std::vector<std::string>& written) {
  ReportContext context;
  context.version = REFIT_VERSION;
  context.target = session.options.target;
  context.strict = session.options.strict;
  context.assume = session.options.assume;
  context.root = input.root;
  context.written = written;
  return context;
}

void write_review(Session& session, const RunResult& result, const Input& input,
                  const ReportContext& context) {
  std::set<std::string> with_sites;
  for (const Finding& finding : result.findings) with_sites.insert(finding.file);
  for (const FileResult& file : result.changed) with_sites.erase(file.file);
  std::map<std::string, std::string> texts;
  for (const InputFile& file : input.files) {
    if (!with_sites.contains(file.relative)) continue;
    if (auto bytes = session.services.disk->read(file.path, kLongestShown)) {
      texts.emplace(file.relative, std::move(*bytes));
    }
  }
  const auto page = to_review(result, context, texts);
  if (!page) {
    session.fail(page.error().message, ExitCode::not_written);
    return;
  }
  session.write_output(*session.options.review, "the review", *page);
}

std::map<std::string, std::string> summaries_of(const RuleSet& rules) {
  std::map<std::string, std::string> summaries;
  for (const Rule& rule : rules.rules()) summaries.emplace(rule.id, rule.summary);
  return summaries;
}

}  // namespace refit
