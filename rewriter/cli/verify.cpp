// `refit verify`. The original and the migrated texts are brought together here; what runs them is
// verify_process.hpp. Entry point: verify.
#include "rewriter/cli/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "rewriter/cli/apply.hpp"
#include "rewriter/cli/closing.hpp"
#include "rewriter/cli/originals.hpp"
#include "rewriter/cli/planned_run.hpp"
#include "rewriter/cli/verify_process.hpp"
#include "rewriter/project/discover.hpp"
#include "rewriter/project/language.hpp"
#include "rewriter/report/text.hpp"
#include "rewriter/text/count.hpp"

namespace refit {
namespace {

class Verifier {
 public:
  Verifier(Session& session, const VerifyOptions& options) : session_(session), options_(options) {}

  ExitCode run() {
    const auto rules = session_.load(session_.options.rules);
    if (!rules) return session_.code();
    auto discovery =
        discover(session_.options.paths, {session_.options.include, session_.options.exclude});
    if (!discovery) {
      return session_.fail(discovery.error().message,
                           discovery.error().usage ? ExitCode::usage : ExitCode::unreadable_input);
    }
    Input& input = discovery->input;
    const auto recovered = recover(input, *session_.services.disk);
    if (!recovered) return session_.fail(recovered.error().message, ExitCode::not_written);
    if (!put_originals(input)) return session_.code();
    auto result = planned_run(session_, *rules, input);
    if (!result) return session_.code();
    add_discovery(*discovery, *result);
    for (const Problem& problem : result->problems) session_.raise(code_of(problem.kind));
    session_.console.error(problems_text(*result, colour()));
    if (!collect(*result, input)) return session_.code();
    auto verification = run_functions(input, job_);
    if (!verification) {
      return session_.fail(verification.error().message, ExitCode::cannot_verify, Breaks::kept);
    }
    tell(*rules, *result, input, *verification);
    if (verification->count(Verdict::differs) != 0) session_.raise(ExitCode::would_change);
    return session_.code();
  }

 private:
  bool colour() const {
    return wants_colour(session_.options.colour, session_.console.error_is_terminal());
  }

  // Lets the run read the original texts where others lie in their place.
  bool put_originals(Input& input) {
    if (options_.planned) return true;
    auto found = originals(input, options_.revision, *session_.services.disk);
    if (!found) {
      session_.fail(found.error().message,
                    options_.revision ? ExitCode::usage : ExitCode::unreadable_input);
      return false;
    }
    originals_ = std::move(*found);
    for (InputFile& file : input.files) {
      const auto text = originals_.texts.find(file.relative);
      if (text != originals_.texts.end()) {
        file.bytes = std::make_shared<const std::string>(text->second);
      }
    }
    return true;
  }

  // Whether the migrated texts lie in the tree; otherwise the run has made them.
  bool is_migrated() const { return options_.revision || !originals_.texts.empty(); }

  // Fills the job: both texts of each file, and the sites in them.
  bool collect(const RunResult& result, const Input& input) {
    std::map<std::string, FileVersions> files;
    if (is_migrated()) {
      for (const InputFile& file : input.files) {
        const auto text = originals_.texts.find(file.relative);
        if (text == originals_.texts.end()) continue;
        auto now = session_.services.disk->read(file.path, std::numeric_limits<uint64_t>::max());
        if (!now) {
          session_.fail(fmt::format("cannot read {}: {}", file.path, now.error().message),
                        ExitCode::unreadable_input);
          return false;
        }
        files[file.relative] = {file.relative, text->second, std::move(*now)};
      }
    } else {
      for (const FileResult& file : result.changed) {
        files[file.file] = {file.file, file.before_bytes, *file.new_bytes};
      }
    }
    for (auto& [name, versions] : files) {
      const LanguageFacts* facts = language_of(name);
      if (facts != nullptr && facts->language == Language::python) {
        job_.files.push_back(std::move(versions));
      } else {
        other_.push_back(name);
      }
    }
    for (const Finding& finding : result.findings) {
      const bool here =
          finding.outcome == Outcome::rewritten && !finding.through &&
          std::ranges::find(job_.files, finding.file, &FileVersions::file) != job_.files.end();
      if (here) job_.sites.push_back(&finding);
    }
    job_.python = options_.python;
    job_.inputs = options_.inputs;
    job_.seconds = options_.seconds;
    job_.original_lies = !is_migrated();
    job_.progress = session_.console.error_is_terminal() && !session_.options.quiet;
    return true;
  }

  void tell(const RuleSet& rules, const RunResult& result, const Input& input,
            Verification& verification) {
    verification.original = is_migrated()
                                ? originals_.from
                                : "the tree as it is, and what `refit migrate` would change";
    verification.original_lies = !is_migrated();
    if (!other_.empty()) {
      verification.notes.push_back(fmt::format(
          "Only Python is run: {} of C++, {} for one, changed and {} not looked at.",
          count_of(other_.size(), "file"), other_.front(), other_.size() == 1 ? "is" : "are"));
    }
    const ReportContext context = report_context(session_, input, {});
    const auto& reports = session_.options.reports;
    for (const ReportOption& report : reports) {
      session_.write_output(report.path, "the report",
                            report.format == ReportFormat::sarif
                                ? verification_sarif(verification, context, summaries_of(rules))
                                : verification_json(verification, context));
    }
    const auto& page = session_.options.review;
    if (page) write_page(result, input, context, verification);
    const bool out_taken =
        std::ranges::find(reports, "-", &ReportOption::path) != reports.end() || page == "-";
    if (!out_taken) {
      const bool out_colour =
          wants_colour(session_.options.colour, session_.console.out_is_terminal());
      session_.show(verification_text(verification, out_colour));
    }
    if (session_.options.quiet) return;
    RunResult notes;
    notes.notes = result.notes;
    notes.notes.insert(notes.notes.end(), verification.notes.begin(), verification.notes.end());
    session_.console.error(notes_text(notes));
    session_.console.error(fmt::format("original: {}\n", printable(verification.original)));
    session_.console.error(verification_summary(verification));
  }

  void write_page(const RunResult& result, const Input& input, ReportContext context,
                  const Verification& verification) {
    for (const VerifiedFunction& function : verification.functions) {
      for (const VerifiedSite& site : function.sites) {
        context.verdicts[site.finding] = {to_string(site.verdict), site.reason};
      }
    }
    write_review(session_, result, input, context);
  }

  Session& session_;
  const VerifyOptions& options_;
  Originals originals_;
  VerifyJob job_;
  std::vector<std::string> other_;  // changed files that are not Python
};

}  // namespace

ExitCode verify(Session& session, const VerifyOptions& options) {
  session.options = options.migrate;
  return Verifier(session, options).run();
}

}  // namespace refit
