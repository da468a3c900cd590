// refit's commands: what to do in which order, and which words say so. Entry point: run_command.
#include "rewriter/cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/assumptions.hpp"
#include "rewriter/cli/closing.hpp"
#include "rewriter/cli/explain_input.hpp"
#include "rewriter/cli/interactive.hpp"
#include "rewriter/cli/options.hpp"
#include "rewriter/cli/progress.hpp"
#include "rewriter/cli/rule_lint.hpp"
#include "rewriter/cli/rule_tests.hpp"
#include "rewriter/cli/rules_folder.hpp"
#include "rewriter/cli/selection.hpp"
#include "rewriter/cli/temporary_folder.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/report/github.hpp"
#include "rewriter/report/json.hpp"
#include "rewriter/report/review.hpp"
#include "rewriter/report/rule_page.hpp"
#include "rewriter/report/sarif.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/count.hpp"
#include "rewriter/text/diff.hpp"

namespace refit {
namespace {

constexpr uint64_t kLongestShown = uint64_t{16} << 20;  // bytes of a file in a review

bool wants_colour(Colour colour, bool terminal) {
  if (colour != Colour::automatic) return colour == Colour::always;
  const char* no_color = std::getenv("NO_COLOR");  // any text at all means: none
  return terminal && (no_color == nullptr || *no_color == '\0');
}

// The largest of the codes that apply.
class Verdict {
 public:
  void raise(ExitCode code) { code_ = std::max(code_, code); }
  ExitCode code() const { return code_; }

 private:
  ExitCode code_ = ExitCode::done;
};

class Session {
 public:
  explicit Session(const Services& services) : services_(services), console_(*services.console) {}

  ExitCode answer(const Answered& answered) {
    console_.error(answered.error);
    show(answered.out);
    return std::max(answered.code, verdict_.code());
  }

  ExitCode rules(const RulesOptions& options) {
    const auto rules = load(options.rules);
    if (!rules) return verdict_.code();
    switch (options.action) {
      case RulesOptions::Action::list:
        show(options.json ? rules_json(rules->rules()) : rules_text(rules->rules()));
        break;
      case RulesOptions::Action::show: {
        const auto rule = std::ranges::find(rules->rules(), options.id, &Rule::id);
        if (rule == rules->rules().end()) {
          say_error(fmt::format("there is no rule {}; `refit rules` lists them", options.id));
          return ExitCode::usage;
        }
        show(printable(rule_page(*rule), Breaks::kept));
        break;
      }
      case RulesOptions::Action::assumptions:
        show(assumptions_text(*rules));
        break;
      case RulesOptions::Action::check:
        check(options, *rules);
        break;
      case RulesOptions::Action::test:
        test(options, *rules);
        break;
    }
    return verdict_.code();
  }

  ExitCode explain(const ExplainOptions& options) {
    options_.target = options.target;
    options_.strict = options.strict;
    options_.assume = options.assume;
    const auto rules = load(options.rules);
    if (!rules) return verdict_.code();
    const auto found = explain_input(options.file);
    if (!found) {
      say_error(found.error().message);
      return found.error().usage ? ExitCode::usage : ExitCode::unreadable_input;
    }
    const std::string& name = found->name;
    auto planned = run(*rules, found->input, name, options.line);
    if (!planned) {
      say_error(planned.error().message, Breaks::kept);
      return ExitCode::bad_rules;
    }
    for (const Problem& problem : planned->problems) {
      if (problem.file != name) continue;
      say_error(fmt::format("{}: {}", problem.file, problem.message));
      if (problem.kind != FileProblem::withheld) verdict_.raise(ExitCode::unreadable_input);
    }
    show(explanation_text(*planned, name, options.line));
    return verdict_.code();
  }

  ExitCode migrate(const MigrateOptions& options) {
    options_ = options;
    const auto rules = load(options.rules);
    if (!rules) return verdict_.code();
    auto discovery = discover(options.paths, {options.include, options.exclude});
    if (!discovery) {
      say_error(discovery.error().message);
      return discovery.error().usage ? ExitCode::usage : ExitCode::unreadable_input;
    }
    Input& input = discovery->input;
    const TemporaryFolder folder;
    std::string text;
    if (options.from_input) {
      text = console_.read_all();
      if (!stand_in(input, text, folder.path())) return verdict_.code();
    }
    const auto recovered = recover(input, *services_.disk);
    if (!recovered) {
      say_error(recovered.error().message);
      return ExitCode::not_written;
    }
    auto planned = plan(*rules, input);
    if (!planned) return verdict_.code();
    RunResult& result = *planned;
    add_discovery(*discovery, result);
    result.notes.insert(result.notes.begin(), recovered->begin(), recovered->end());
    if (!options.configured.empty()) {
      result.notes.insert(result.notes.begin(), options.configured);
    }

    Applied applied;
    if (options.write) applied = apply(result, input, *services_.disk);
    if (options.diff) show_diff(result);
    write_reports(*rules, result, input, applied);
    if (options.review) write_review(result, input);
    if (options.from_input) {
      show(result.changed.empty() ? text : *result.changed.front().new_bytes);
    }
    if (options.quiet) {
      for (const std::string& sentence : *recovered) say_error(sentence);
    }
    tell(result, input, applied);
    judge(result, applied);
    return verdict_.code();
  }

  ExitCode take_back(const UndoOptions& options) {
    const auto discovery = discover({options.path}, {});
    if (!discovery) {
      say_error(discovery.error().message);
      return discovery.error().usage ? ExitCode::usage : ExitCode::unreadable_input;
    }
    const auto undone = undo(discovery->input, *services_.disk);
    const std::string root = printable(discovery->input.root, Breaks::escaped);
    if (!undone) {
      say_error(undone.error().message);
      return ExitCode::not_written;
    }
    if (undone->interrupted) {
      console_.error("interrupted: every file is as it was\n");
      return ExitCode::interrupted;
    }
    console_.error(
        undone->written.empty()
            ? fmt::format("{}: there is no run to take back\n", root)
            : fmt::format("{} restored in {}\n", count_of(undone->written.size(), "file"), root));
    return ExitCode::done;
  }

 private:
  std::optional<RuleSet> load(const RuleOptions& options) {
    const auto folder = find_rules_folder();
    if (!folder) {
      say_error(folder.error().message);
      verdict_.raise(ExitCode::bad_rules);
      return std::nullopt;
    }
    rules_folder_ = *folder;
    std::vector<std::string> paths{*folder};
    paths.insert(paths.end(), options.rules.begin(), options.rules.end());
    auto rules = services_.load_rules(paths, *folder + "/catalogue");
    if (!rules) {
      say_error(rules.error().message, Breaks::kept);
      verdict_.raise(ExitCode::bad_rules);
      return std::nullopt;
    }
    auto assumed = resolve_assumptions(*rules, options_.assume);
    if (!assumed) {
      say_error(assumed.error().message);
      verdict_.raise(ExitCode::usage);
      return std::nullopt;
    }
    options_.assume = std::move(*assumed);
    if (const auto selected = services_.select_rules(*rules, options.select, options.ignore);
        !selected) {
      say_error(selected.error().message, Breaks::kept);
      verdict_.raise(ExitCode::usage);
      return std::nullopt;
    }
    return std::move(*rules);
  }

  void test(const RulesOptions& options, const RuleSet& rules) {
    const auto all = load({options.rules.rules, {}, {}});
    if (!all) return;
    const auto results =
        test_rules(*all, rules_of(rules, options.tested), rules_folder_, services_);
    if (!results) {
      say_error(results.error().message, Breaks::kept);
      verdict_.raise(ExitCode::bad_rules);
      return;
    }
    show(printable(results_text(*results), Breaks::kept));
    if (!results->failures.empty()) verdict_.raise(ExitCode::would_change);
    if (!options.update) return;
    const auto updated = update_tests(results->failures);
    if (!updated) {
      say_error(updated.error().message);
      verdict_.raise(ExitCode::not_written);
      return;
    }
    show(fmt::format("{} updated; read what changed\n", count_of(*updated, "test")));
  }

  void check(const RulesOptions& options, const RuleSet& rules) {
    // Patterns are compiled where a run begins.
    for (const Target target : {Target::cuda, Target::ascend}) {
      options_.target = target;
      const auto compiled = run(rules, Input{});
      if (compiled) continue;
      say_error(compiled.error().message, Breaks::kept);
      verdict_.raise(ExitCode::bad_rules);
      return;
    }
    const auto chosen = rules_of(rules, options.tested);
    const std::string doubts = lint_text(rules, chosen);
    show(printable(doubts, Breaks::kept));
    if (!doubts.empty()) verdict_.raise(ExitCode::would_change);
    show(fmt::format("{} checked\n", count_of(chosen.size(), "rule")));
  }

  // Has the only file of the input read from the text instead, which is put into the folder.
  bool stand_in(Input& input, const std::string& text, const std::string& folder) {
    const bool one = input.files.size() == 1 && input.files.front().relative.ends_with(".py");
    if (!one) {
      say_error(fmt::format("{} is not one Python file", options_.paths.front()));
      verdict_.raise(ExitCode::usage);
      return false;
    }
    input.files.front().path = folder + "/input.py";
    write_file(input.files.front().path, "the text", text);
    return verdict_.code() == ExitCode::done;
  }

  // The run with the sites that the options choose; nothing where that has failed and is said.
  std::optional<RunResult> plan(const RuleSet& rules, const Input& input) {
    const auto fail = [&](const std::string& message, ExitCode code) {
      say_error(message, Breaks::kept);
      verdict_.raise(code);
      return std::nullopt;
    };
    const auto selection = Selection::read(options_);
    if (!selection) return fail(selection.error().message, ExitCode::usage);
    auto result = input.files.empty() ? RunResult() : run(rules, input);
    // Only rules that do not compile make the engine fail as a whole.
    if (!result) return fail(result.error().message, ExitCode::bad_rules);
    if (options_.write_baseline) {
      write_file(*options_.write_baseline, "the baseline", sites_text(result->findings));
    }
    if (selection->all() && !options_.interactive) return std::move(*result);
    auto chosen = selection->among(result->findings, input);
    if (!chosen) return fail(chosen.error().message, ExitCode::usage);
    if (options_.interactive) {
      const bool colour = wants_colour(options_.colour, console_.error_is_terminal());
      *chosen = ask_sites(*result, std::move(*chosen), console_, colour);
    }
    chosen_ = std::move(*chosen);
    result = run(rules, input);
    if (!result) return fail(result.error().message, ExitCode::bad_rules);
    Selection::leave(*result, *chosen_);
    return std::move(*result);
  }

  Expected<RunResult> run(const RuleSet& rules, const Input& input, const std::string& file = {},
                          uint32_t line = 0) {
    EngineOptions engine;
    engine.chosen = chosen_;
    engine.explain = file;
    engine.explain_line = line;
    engine.target = options_.target;
    engine.strict = options_.strict;
    engine.assume = options_.assume;
    engine.jobs = options_.jobs;
    engine.rules_folder = rules_folder_;
    engine.site_edits = !options_.reports.empty() || options_.review;
    std::unique_ptr<ProgressBar> bar;
    if (console_.error_is_terminal() && !options_.quiet) {
      bar = std::make_unique<ProgressBar>(console_);
    }
    return services_.run(rules, input, engine, [&](uint64_t done, uint64_t total) {
      if (bar) bar->update(done, total);
    });
  }

  static void add_discovery(const Discovery& discovery, RunResult& result) {
    std::vector<Problem> problems;
    for (const DiscoveryProblem& problem : discovery.problems) {
      problems.push_back({FileProblem::unreadable, problem.file, problem.message});
    }
    result.problems.insert(result.problems.begin(), problems.begin(), problems.end());
    result.notes.insert(result.notes.begin(), discovery.notes.begin(), discovery.notes.end());
  }

  void show_diff(const RunResult& result) {
    const bool colour = wants_colour(options_.colour, console_.out_is_terminal());
    for (const FileResult& file : result.changed) {
      if (out_closed_) return;
      const auto diff = unified_diff(file.file, file.before_bytes, *file.new_bytes, colour);
      if (!diff) {
        say_error(diff.error().message);
        verdict_.raise(ExitCode::not_written);
        continue;
      }
      show(*diff);
    }
  }

  void write_reports(const RuleSet& rules, const RunResult& result, const Input& input,
                     const Applied& applied) {
    const ReportContext context = report_context(input, applied.written);
    for (const ReportOption& report : options_.reports) {
      write_output(report.path, "the report", report_text(report.format, rules, result, context));
    }
  }

  ReportContext report_context(const Input& input, const std::vector<std::string>& written) const {
    ReportContext context;
    context.version = REFIT_VERSION;
    context.target = options_.target;
    context.strict = options_.strict;
    context.assume = options_.assume;
    context.root = input.root;
    context.written = written;
    return context;
  }

  void write_review(const RunResult& result, const Input& input) {
    std::set<std::string> with_sites;
    for (const Finding& finding : result.findings) with_sites.insert(finding.file);
    for (const FileResult& file : result.changed) with_sites.erase(file.file);
    std::map<std::string, std::string> texts;
    for (const InputFile& file : input.files) {
      if (!with_sites.contains(file.relative)) continue;
      if (auto bytes = services_.disk->read(file.path, kLongestShown)) {
        texts.emplace(file.relative, std::move(*bytes));
      }
    }
    const auto page = to_review(result, report_context(input, {}), texts);
    if (!page) {
      say_error(page.error().message);
      verdict_.raise(ExitCode::not_written);
      return;
    }
    write_output(*options_.review, "the review", *page);
  }

  static std::string report_text(ReportFormat format, const RuleSet& rules, const RunResult& result,
                                 const ReportContext& context) {
    switch (format) {
      case ReportFormat::sarif: {
        std::map<std::string, std::string> summaries;
        for (const Rule& rule : rules.rules()) summaries.emplace(rule.id, rule.summary);
        return to_sarif(result, context, summaries);
      }
      case ReportFormat::github:
        return to_github(result);
      case ReportFormat::json:
        break;
    }
    return to_json(result, context);
  }

  void write_output(const std::string& path, std::string_view what, const std::string& text) {
    if (path == "-") {
      show(text);
    } else {
      write_file(path, what, text);
    }
  }

  void write_file(const std::string& path, std::string_view what, const std::string& text) {
    // Written in place: it may be a pipe or a device.
    errno = 0;
    std::ofstream file(path, std::ios::binary);
    file << text << std::flush;
    if (!file) {
      say_error(fmt::format("cannot write {} {}: {}", what, path, std::strerror(errno)));
      verdict_.raise(ExitCode::not_written);
    }
  }

  // Everything for a person, in the order in which it is looked for: the sites, what else to know,
  // the table, what went wrong, and last what to do next.
  void tell(const RunResult& result, const Input& input, const Applied& applied) {
    const bool colour = wants_colour(options_.colour, console_.error_is_terminal());
    if (!options_.quiet) {
      if (!options_.review) console_.error(findings_text(result, {colour, !options_.diff}));
      console_.error(notes_text(result));
      console_.error(summary_text(result, colour));
    }
    console_.error(problems_text(result, colour));
    if (applied.interrupted) {
      console_.error(fmt::format("interrupted: 0 of {} were written, the others are as they were\n",
                                 count_of(result.changed.size(), "changed file")));
    }
    if (!options_.quiet) console_.error(closing(options_, result, input, applied));
  }

  void judge(const RunResult& result, const Applied& applied) {
    if (options_.check && !result.changed.empty()) verdict_.raise(ExitCode::would_change);
    for (const Problem& problem : result.problems) verdict_.raise(code_of(problem.kind));
    if (applied.interrupted) verdict_.raise(ExitCode::interrupted);
  }

  void show(std::string_view text) {
    if (out_closed_ || text.empty()) return;
    const Console::Written written = console_.out(text);
    if (written == Console::Written::yes) return;
    out_closed_ = true;
    if (written == Console::Written::failed) {
      say_error("cannot write to standard output");
      verdict_.raise(ExitCode::not_written);
    }
  }

  void say_error(std::string_view message, Breaks breaks = Breaks::escaped) {
    console_.error(fmt::format("refit: {}\n", printable(message, breaks)));
  }

  const Services& services_;
  Console& console_;
  MigrateOptions options_;
  std::string rules_folder_;
  std::optional<std::set<std::string>> chosen_;  // fingerprints of the only sites to rewrite
  Verdict verdict_;
  bool out_closed_ = false;
};

}  // namespace

int run_command(int argc, const char* const* argv, const Services& services) {
  Session session(services);
  const Command command = parse_command_line(argc, argv);
  ExitCode code = ExitCode::done;
  if (const auto* answered = std::get_if<Answered>(&command)) code = session.answer(*answered);
  if (const auto* options = std::get_if<RulesOptions>(&command)) {
    code = session.rules(*options);
  }
  if (const auto* options = std::get_if<ExplainOptions>(&command)) {
    code = session.explain(*options);
  }
  if (const auto* options = std::get_if<MigrateOptions>(&command)) {
    code = session.migrate(*options);
  }
  if (const auto* options = std::get_if<UndoOptions>(&command)) {
    code = session.take_back(*options);
  }
  return static_cast<int>(code);
}

}  // namespace refit
