// The command line through CLI11. Entry point: parse_command_line.
#include "rewriter/cli/options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "rewriter/cli/option_checks.hpp"
#include "rewriter/cli/project_config.hpp"
#include "rewriter/cli/shell_texts.hpp"
#include "rewriter/cli/take_config.hpp"

#include "rewriter/text/printable.hpp"

namespace refit {
namespace {

std::string exit_code_table() {
  std::string text = "Exit codes (of several that apply, the largest):\n";
  for (const ExitCodeText& entry : exit_codes()) {
    text += fmt::format("  {:<4}{}\n", static_cast<int>(entry.code), entry.meaning);
  }
  return text;
}

// One value an occurrence, so that an option never swallows the PATH after it.
CLI::Option* repeatable(CLI::App& app, const std::string& name, std::vector<std::string>& values,
                        const std::string& help, const std::string& value) {
  return app.add_option(name, values, help)->type_name(value)->allow_extra_args(false);
}

void add_rule_options(CLI::App& app, RuleOptions& rules) {
  repeatable(app, "--rules", rules.rules, "Further rules, beside the ones that ship (repeatable)",
             "FILE|DIR|NAME");
  repeatable(app, "--select", rules.select,
             "Only the rules whose id matches this glob (repeatable)", "GLOB");
  repeatable(app, "--ignore", rules.ignore, "Not the rules whose id matches this glob (repeatable)",
             "GLOB");
}

void add_define(CLI::App& app, std::vector<std::string>& names) {
  repeatable(app, "--define", names,
             "Read C++ as it is compiled with this name of the preprocessor (repeatable)",
             "NAME[=VALUE]")
      ->transform(CLI::Validator(check_define, ""));
}

// An option that takes one of a few words.
template <typename T>
CLI::Option* add_choice(CLI::App& app, const std::string& name, T& value,
                        const std::vector<std::pair<std::string, T>>& choices,
                        const std::string& help) {
  std::string words;
  for (const auto& [word, meaning] : choices) words += (words.empty() ? "" : "|") + word;
  const auto check = [choices, words](const std::string& given) -> std::string {
    for (const auto& [word, meaning] : choices) {
      if (word == given) return {};
    }
    return fmt::format("expected {}, found '{}'", words, given);
  };
  const auto set = [choices, &value](const std::string& given) {
    for (const auto& [word, meaning] : choices) {
      if (word == given) value = meaning;
    }
  };
  return app.add_option_function<std::string>(name, set, help)->type_name(words)->check(check);
}

class Parser {
 public:
  Parser() {
    app_.set_version_flag("--version", "refit " REFIT_VERSION);
    app_.require_subcommand(1);
    // What was given may be a file's name that a shell put there.
    app_.failure_message([](const CLI::App*, const CLI::Error& error) {
      return printable(error.what(), Breaks::escaped) + "\nRun with --help for more information.\n";
    });
    app_.get_formatter()->column_width(30);
    app_.footer(
        "refit COMMAND --help shows a command's options. Exit codes: refit migrate --help.\n");
    add_migrate();
    add_review();
    add_verify();
    add_explain();
    add_rules();
    add_lsp();
    add_undo();
    add_shell_texts();
  }

  Command parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      std::ostringstream out, err;
      const int status = app_.exit(error, out, err);
      return Answered{status == 0 ? ExitCode::done : ExitCode::usage, out.str(), err.str()};
    }
    if (why_->parsed()) return why();
    if (assumptions_->parsed()) {
      rules_options_.action = RulesOptions::Action::assumptions;
      return rules_options_;
    }
    if (rules_->parsed()) {
      if (show_->parsed()) rules_options_.action = RulesOptions::Action::show;
      if (check_->parsed()) rules_options_.action = RulesOptions::Action::check;
      if (new_->parsed()) rules_options_.action = RulesOptions::Action::draft;
      if (test_->parsed()) rules_options_.action = RulesOptions::Action::test;
      std::vector<std::string>& rules = rules_options_.rules.rules;
      rules.insert(rules.end(), rules_options_.tested.begin(), rules_options_.tested.end());
      return rules_options_;
    }
    if (undo_->parsed()) return undo_options_;
    if (lsp_->parsed()) {
      lsp_options_.migrate.assume.insert(assume_.begin(), assume_.end());
      lsp_options_.target_given = lsp_->get_option("--target")->count() != 0;
      lsp_options_.no_config = no_config_;
      return lsp_options_;
    }
    if (man_->parsed()) return Answered{ExitCode::done, man_page(app_), {}};
    if (completion_->parsed()) return Answered{ExitCode::done, completion(app_, shell_), {}};
    if (explain_->parsed()) {
      take_place();
      explain_options_.assume.insert(assume_.begin(), assume_.end());
      ExplainOptions& options = explain_options_;
      if (const auto wrong = configure(*explain_, options.file, options)) return usage(*wrong);
      return options;
    }
    migrate_options_.assume.insert(assume_.begin(), assume_.end());
    MigrateOptions& options = migrate_options_;
    const CLI::App& app = review_->parsed() ? *review_ : verify_->parsed() ? *verify_ : *migrate_;
    if (const auto wrong = take_stdin(options)) return usage(*wrong);
    if (const auto wrong = configure(app, options.paths.front(), options)) return usage(*wrong);
    if (review_->parsed()) {
      options.review = page_;
      return options;
    }
    for (const std::string& report : reports_) options.reports.push_back(*report_of(report));
    if (verify_->parsed()) return verify();
    const auto on_out = std::ranges::count(options.reports, "-", &ReportOption::path);
    const bool report_on_out = on_out > 0;
    if (options.from_input) {
      if (!report_on_out) return options;
      return usage("the new text goes to standard output; name a file for the report");
    }
    if ((options.diff && report_on_out) || on_out > 1) {
      return Answered{ExitCode::usage,
                      {},
                      fmt::format("{} both want standard output; name a file for {}\n",
                                  on_out > 1 ? "two reports" : "--diff and --report FORMAT:-",
                                  on_out > 1 ? "one of them" : "the report")};
    }
    if (!options.write && !options.check && !report_on_out) options.diff = true;
    return options;
  }

 private:
  static Answered usage(const std::string& message) {
    return Answered{ExitCode::usage, {}, message + "\n"};
  }

  void take_place() {
    const std::size_t colon = place_.rfind(':');
    explain_options_.file = place_.substr(0, colon);
    explain_options_.line = static_cast<uint32_t>(std::stoul(place_.substr(colon + 1)));
  }

  // As `refit explain` of one rule, whatever the project says of rules.
  Command why() {
    ExplainOptions& options = explain_options_;
    take_place();
    options.rules = rules_options_.rules;
    if (const auto wrong = configure(*why_, options.file, options)) return usage(*wrong);
    options.rules.select = {options.rule};
    options.rules.ignore.clear();
    options.by_path.clear();
    return options;
  }

  Command verify() {
    auto page = std::move(verify_options_.migrate.review);
    verify_options_.migrate = migrate_options_;
    verify_options_.migrate.review = std::move(page);
    for (const ReportOption& report : migrate_options_.reports) {
      if (report.format != ReportFormat::github) continue;
      return usage("verify writes reports as json:FILE and sarif:FILE");
    }
    if (verify_options_.migrate.review && !verify_options_.planned) {
      return usage("--page shows what migrate would change; give --planned with it");
    }
    if (migrate_options_.since && !verify_options_.planned) {
      return usage("--since chooses among what migrate would change; give --planned with it");
    }
    return verify_options_;
  }

  // Puts the file that standard input stands for in the place of `-`; gives what is wrong with it.
  std::optional<std::string> take_stdin(MigrateOptions& options) const {
    const bool dash = std::ranges::find(options.paths, "-") != options.paths.end();
    if (!dash && !stdin_filename_) return std::nullopt;
    if (!dash || options.paths.size() != 1 || !stdin_filename_) {
      return "standard input is read where the only PATH is - and --stdin-filename names its file";
    }
    options.paths = {*stdin_filename_};
    options.from_input = true;
    return std::nullopt;
  }

  // Adds what the project's configuration says: to lists, and where the command line says nothing.
  // Gives what is wrong with it.
  template <typename Options>
  std::optional<std::string> configure(const CLI::App& app, const std::string& path,
                                       Options& options) const {
    if (no_config_) return std::nullopt;
    const auto config = project_config(path);
    if (!config) return config.error().message;
    take_config(*config, app.get_option("--target")->count() != 0, options);
    return std::nullopt;
  }

  void add_no_config(CLI::App& app) {
    app.add_flag("--no-config", no_config_,
                 "Read neither refit.toml nor [tool.refit] of pyproject.toml");
  }

  void add_migrate() {
    migrate_ = app_.add_subcommand(
        "migrate",
        "Rewrite attention, rotary, norm, activation and softmax code to calls of mindiesd");
    CLI::App& app = *migrate_;
    MigrateOptions& options = migrate_options_;
    add_paths(app);
    app.add_flag(
        "--diff", options.diff,
        "Show the unified diff (default without --write, --check, a report on standard output)");
    CLI::Option* write = app.add_flag("--write", options.write, "Replace the files, all or none");
    app.add_flag("--check", options.check, "Write nothing; exit with 1 if any file would change")
        ->excludes(write);
    add_run_options(app);
    repeatable(app, "--report", reports_,
               "Write a report as JSON, SARIF or GitHub annotations; - is standard output "
               "(repeatable)",
               "json:FILE|sarif:FILE|github:FILE")
        ->transform(CLI::Validator(check_report, ""));
    CLI::Option* interactive = app.add_flag("--interactive", options.interactive,
                                            "Ask of each site whether it is to be rewritten");
    app.add_option("--stdin-filename", stdin_filename_,
                   "The Python file whose text stands on standard input, with - as PATH; the new "
                   "text goes to standard output")
        ->type_name("FILE")
        ->excludes(write)
        ->excludes("--diff")
        ->excludes(interactive);
    repeatable(app, "--site", options.sites,
               "Only the site that has this fingerprint in a report (repeatable)", "ID");
    app.add_option("--choose", options.choose, "Only the sites that this file names, all of them")
        ->type_name("FILE");
    app.add_option("--write-baseline", options.write_baseline,
                   "Write the sites that are found as such a file")
        ->type_name("FILE");
    app.footer(exit_code_table());
  }

  void add_review() {
    review_ = app_.add_subcommand(
        "review", "Write a page to judge a migration by: accept and reject sites, take the patch");
    add_paths(*review_);
    review_
        ->add_option("--output", page_, "The page; - is standard output (default: " + page_ + ")")
        ->type_name("FILE");
    add_run_options(*review_);
  }

  void add_verify() {
    verify_ = app_.add_subcommand(
        "verify",
        "Run changed functions as they were and as they are, and compare what they compute; this "
        "executes the code of the repository");
    CLI::App& app = *verify_;
    VerifyOptions& options = verify_options_;
    add_paths(app);
    CLI::Option* revision =
        app.add_option("--revision", options.revision,
                       "The original is what this git revision has (default: the texts before the "
                       "last migrate --write, or, without one, the tree as it is)")
            ->type_name("REV");
    app.add_flag("--planned", options.planned,
                 "Verify what migrate would change now, whatever the last migrate --write did")
        ->excludes(revision);
    app.add_option("--inputs", options.inputs,
                   "A function that returns the arguments to call functions with, by their "
                   "qualified names; for others they are drawn")
        ->type_name("FILE.py:FUNCTION")
        ->transform(CLI::Validator(check_inputs, ""));
    app.add_option("--python", options.python,
                   "The interpreter that runs the code (default: python3)")
        ->type_name("PYTHON");
    app.add_option("--seconds", options.seconds,
                   "The limit of time for each step of a function (default: 60)")
        ->type_name("N")
        ->transform(CLI::Validator(check_seconds, ""));
    repeatable(app, "--report", reports_,
               "Write a report as JSON or SARIF; - is standard output (repeatable)",
               "json:FILE|sarif:FILE")
        ->transform(CLI::Validator(check_report, ""));
    app.add_option("--page", verify_options_.migrate.review,
                   "Write the page of refit review with the verdicts; - is standard output (with "
                   "--planned)")
        ->type_name("FILE");
    add_run_options(app);
    app.footer(exit_code_table());
  }

  void add_paths(CLI::App& app) {
    app.add_option("PATH", migrate_options_.paths,
                   "Source files, or folders of them; all in one tree (one repository)")
        ->required()
        ->type_name("");
  }

  // What decides which sites there are and what is said of them, whatever is done with them.
  void add_run_options(CLI::App& app) {
    MigrateOptions& options = migrate_options_;
    add_choice<Target>(
        app, "--target", options.target, {{"cuda", Target::cuda}, {"ascend", Target::ascend}},
        "cuda (default): the companion runtime; ascend: the published MindIE-SD API");
    app.add_flag("--strict", options.strict, "Refuse whatever needs an assumption");
    repeatable(
        app, "--assume", assume_,
        "Take this for granted, by an id of `refit assumptions`, under --strict, too (repeatable)",
        "NAME");
    add_rule_options(app, options.rules);
    repeatable(app, "--include", options.include,
               "Only files that match this glob, as in a .gitignore at the root (repeatable)",
               "GLOB");
    repeatable(app, "--exclude", options.exclude, "No files that match this glob (repeatable)",
               "GLOB");
    add_define(app, options.define);
    app.add_option("--jobs", options.jobs, "Threads (default: one a core)")
        ->transform(CLI::Validator(check_jobs, ""))
        ->type_name("N");
    app.add_option("--since", options.since,
                   "Only sites in lines that are not in this git revision")
        ->type_name("REV");
    app.add_option("--baseline", options.baseline,
                   "Not the sites that this file names, neither rewritten nor shown")
        ->type_name("FILE");
    add_no_config(app);
    app.add_flag("--quiet", options.quiet,
                 "No findings, notes, summary or progress: only the diff and problems");
    add_choice<Colour>(
        app, "--color", options.colour,
        {{"auto", Colour::automatic}, {"always", Colour::always}, {"never", Colour::never}},
        "Colours; auto (default): on a terminal, unless NO_COLOR is set");
  }

  void add_explain() {
    explain_ = app_.add_subcommand(
        "explain", "Say why a line was rewritten or not, and what would make it migratable");
    CLI::App& app = *explain_;
    ExplainOptions& options = explain_options_;
    app.add_option("FILE:LINE", place_, "A line of a source file; the tree around it is read too")
        ->required()
        ->transform(CLI::Validator(check_place, ""))
        ->type_name("");
    add_choice<Target>(
        app, "--target", options.target, {{"cuda", Target::cuda}, {"ascend", Target::ascend}},
        "cuda (default): the companion runtime; ascend: the published MindIE-SD API");
    app.add_flag("--strict", options.strict, "Refuse whatever needs an assumption");
    repeatable(
        app, "--assume", assume_,
        "Take this for granted, by an id of `refit assumptions`, under --strict, too (repeatable)",
        "NAME");
    add_rule_options(app, options.rules);
    add_define(app, options.define);
    add_no_config(app);
  }

  void add_rules() {
    RulesOptions& options = rules_options_;
    rules_ = app_.add_subcommand("rules", "List, show, check and draft rules, or run their tests");
    add_rule_options(*rules_, options.rules);
    rules_->add_flag("--json", options.json,
                     "The list as JSON, with what each assumes and refuses");
    rules_->require_subcommand(0, 1);
    rules_->fallthrough();
    assumptions_ = app_.add_subcommand("assumptions", "List what rules may assume");
    add_rule_options(*assumptions_, options.rules);
    show_ = rules_->add_subcommand("show", "A rule as a page of Markdown");
    show_->add_option("ID", options.id, "The rule's id")->required()->type_name("");
    check_ = rules_->add_subcommand("check", "Load and compile rules, and say what is doubtful");
    check_->add_option("PATH", options.tested, "As of `refit rules test`")->type_name("");
    why_ = rules_->add_subcommand("why", "Say why a rule has a site on a line, or why it has none");
    why_->add_option("ID", explain_options_.rule, "The rule's id")->required()->type_name("");
    why_->add_option("FILE:LINE", place_, "A line of a source file")
        ->required()
        ->transform(CLI::Validator(check_place, ""))
        ->type_name("");
    add_choice<Target>(
        *why_, "--target", explain_options_.target,
        {{"cuda", Target::cuda}, {"ascend", Target::ascend}},
        "cuda (default): the companion runtime; ascend: the published MindIE-SD API");
    new_ = rules_->add_subcommand("new", "Write a rule from a file before and after a rewrite");
    new_->add_option("BEFORE", options.before, "A Python file")->required()->type_name("");
    new_->add_option("AFTER", options.after, "The same with one computation replaced by a call")
        ->required()
        ->type_name("");
    new_->add_option("--id", options.id, "The rule's id (default: after the function)")
        ->type_name("ID");
    new_->add_option("--output", options.output, "Where it goes (default: standard output)")
        ->type_name("FILE");
    test_ = rules_->add_subcommand("test", "Run the tests that rules carry");
    test_
        ->add_option("PATH", options.tested,
                     "Files and folders of rules, used beside the ones that ship (default: those)")
        ->type_name("");
    test_->add_flag(
        "--update", options.update,
        "Put what `before` becomes into the rule files, as the `after` of failed tests");
    test_->add_flag("--no-numeric", options.no_numeric,
                    "Leave the numeric tests out, which execute the code in the tests");
    test_
        ->add_option("--python", options.python,
                     "The interpreter that runs the numeric tests (default: python3)")
        ->type_name("PYTHON");
  }

  void add_lsp() {
    lsp_ = app_.add_subcommand("lsp", "Serve an editor: a language server on standard input");
    MigrateOptions& options = lsp_options_.migrate;
    add_choice<Target>(
        *lsp_, "--target", options.target, {{"cuda", Target::cuda}, {"ascend", Target::ascend}},
        "cuda (default): the companion runtime; ascend: the published MindIE-SD API");
    lsp_->add_flag("--strict", options.strict, "Refuse whatever needs an assumption");
    repeatable(
        *lsp_, "--assume", assume_,
        "Take this for granted, by an id of `refit assumptions`, under --strict, too (repeatable)",
        "NAME");
    add_rule_options(*lsp_, options.rules);
    add_no_config(*lsp_);
    lsp_->add_flag("--stdio", stdio_, "What it does anyway; editors say so");
  }

  void add_undo() {
    undo_ = app_.add_subcommand(
        "undo", "Give the files that the last `migrate --write` changed their old texts");
    undo_->add_option("PATH", undo_options_.path, "The tree, or a path in it (default: .)")
        ->type_name("");
  }

  void add_shell_texts() {
    completion_ = app_.add_subcommand("completion", "Print a script that completes commands");
    add_choice<Shell>(*completion_, "SHELL", shell_,
                      {{"bash", Shell::bash}, {"zsh", Shell::zsh}, {"fish", Shell::fish}},
                      "The shell that is to read it")
        ->required();
    man_ = app_.add_subcommand("man", "Print the manual page: refit man | man -l -");
  }

  CLI::App app_{"refit puts faster parts into PyTorch model repositories.", "refit"};
  CLI::App* rules_ = nullptr;
  CLI::App* assumptions_ = nullptr;
  CLI::App* show_ = nullptr;
  CLI::App* test_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* why_ = nullptr;
  CLI::App* new_ = nullptr;
  CLI::App* migrate_ = nullptr;
  CLI::App* review_ = nullptr;
  CLI::App* verify_ = nullptr;
  CLI::App* explain_ = nullptr;
  CLI::App* lsp_ = nullptr;
  CLI::App* undo_ = nullptr;
  CLI::App* completion_ = nullptr;
  CLI::App* man_ = nullptr;
  Shell shell_ = Shell::bash;
  std::string place_, page_ = "refit-review.html";
  ExplainOptions explain_options_;
  MigrateOptions migrate_options_;
  RulesOptions rules_options_;
  VerifyOptions verify_options_;
  LspOptions lsp_options_;
  UndoOptions undo_options_;
  std::vector<std::string> assume_, reports_;
  std::optional<std::string> stdin_filename_;
  bool no_config_ = false, stdio_ = false;
};

}  // namespace

Command parse_command_line(int argc, const char* const* argv) { return Parser().parse(argc, argv); }

}  // namespace refit
