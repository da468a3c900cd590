// `refit migrate` and `refit review`. Entry point: migrate.
#include "rewriter/cli/migrate.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/closing.hpp"
#include "rewriter/cli/planned_run.hpp"
#include "rewriter/cli/uncommitted.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/report/github.hpp"
#include "rewriter/report/json.hpp"
#include "rewriter/report/sarif.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/diff.hpp"

namespace refit {
namespace {

class Migration {
 public:
  explicit Migration(Session& session) : session_(session) {}

  ExitCode run() {
    const MigrateOptions& options = session_.options;
    const auto rules = session_.load(options.rules);
    if (!rules) return session_.code();
    auto discovery = discover(options.paths, {options.include, options.exclude});
    if (!discovery) {
      const bool usage = discovery.error().usage;
      return session_.fail(discovery.error().message,
                           usage ? ExitCode::usage : ExitCode::unreadable_input);
    }
    Input& input = discovery->input;
    std::string text;
    if (options.from_input) {
      text = session_.console.read_all();
      if (!stand_in(input, text)) return session_.code();
    }
    const auto recovered = recover(input, *session_.services.disk);
    if (!recovered) {
      return session_.fail(recovered.error().message, ExitCode::not_written);
    }
    auto planned = planned_run(session_, *rules, input);
    if (!planned) return session_.code();
    RunResult& result = *planned;
    add_discovery(*discovery, result);
    result.notes.insert(result.notes.begin(), recovered->begin(), recovered->end());
    if (!options.configured.empty()) {
      result.notes.insert(result.notes.begin(), options.configured);
    }

    Applied applied;
    if (options.write) {
      if (!options.quiet) session_.console.error(uncommitted_text(result, input));
      applied = apply(result, input, *session_.services.disk);
    }
    if (options.diff) show_diff(result);
    write_reports(*rules, result, input, applied);
    if (options.review) write_review(session_, result, input, report_context(session_, input, {}));
    if (options.from_input) {
      session_.show(result.changed.empty() ? text : *result.changed.front().new_bytes);
    }
    if (options.quiet) {
      for (const std::string& sentence : *recovered) session_.say_error(sentence);
    }
    tell(result, input, applied);
    judge(result, applied);
    return session_.code();
  }

 private:
  // Takes the only file of the input to hold the text.
  bool stand_in(Input& input, const std::string& text) {
    const bool one = input.files.size() == 1 && input.files.front().relative.ends_with(".py");
    if (!one) {
      session_.fail(fmt::format("{} is not one Python file", session_.options.paths.front()),
                    ExitCode::usage);
      return false;
    }
    input.files.front().bytes = std::make_shared<const std::string>(text);
    return true;
  }

  void show_diff(const RunResult& result) {
    const bool colour = wants_colour(session_.options.colour, session_.console.out_is_terminal());
    for (const FileResult& file : result.changed) {
      if (session_.out_closed()) return;
      const auto diff = unified_diff(file.file, file.before_bytes, *file.new_bytes, colour);
      if (!diff) {
        session_.fail(diff.error().message, ExitCode::not_written);
        continue;
      }
      session_.show(*diff);
    }
  }

  void write_reports(const RuleSet& rules, const RunResult& result, const Input& input,
                     const Applied& applied) {
    const ReportContext context = report_context(session_, input, applied.written);
    for (const ReportOption& report : session_.options.reports) {
      session_.write_output(report.path, "the report",
                            report_text(report.format, rules, result, context));
    }
  }

  static std::string report_text(ReportFormat format, const RuleSet& rules, const RunResult& result,
                                 const ReportContext& context) {
    switch (format) {
      case ReportFormat::sarif:
        return to_sarif(result, context, summaries_of(rules));
      case ReportFormat::github:
        return to_github(result);
      case ReportFormat::json:
        break;
    }
    return to_json(result, context);
  }

  // Everything for a person, in the order in which it is looked for: the sites, what else to know,
  // the table, what went wrong, and last what to do next.
  void tell(const RunResult& result, const Input& input, const Applied& applied) {
    const bool colour = wants_colour(session_.options.colour, session_.console.error_is_terminal());
    if (!session_.options.quiet) {
      if (!session_.options.review)
        session_.console.error(findings_text(result, {colour, !session_.options.diff}));
      session_.console.error(notes_text(result));
      session_.console.error(summary_text(result, colour));
    }
    session_.console.error(problems_text(result, colour));
    if (applied.interrupted) {
      session_.console.error(
          fmt::format("interrupted: 0 of {} were written, the others are as they were\n",
                      count_of(result.changed.size(), "changed file")));
    }
    if (!session_.options.quiet)
      session_.console.error(closing(session_.options, result, input, applied));
  }

  void judge(const RunResult& result, const Applied& applied) {
    if (session_.options.check && !result.changed.empty()) session_.raise(ExitCode::would_change);
    for (const Problem& problem : result.problems) session_.raise(code_of(problem.kind));
    if (applied.interrupted) session_.raise(ExitCode::interrupted);
  }

  Session& session_;
};

}  // namespace

ExitCode migrate(Session& session, const MigrateOptions& options) {
  session.options = options;
  return Migration(session).run();
}

}  // namespace refit
