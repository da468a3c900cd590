// The end of a run. Entry points: closing, code_of.
#include "rewriter/cli/closing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rewriter/text/count.hpp"
#include "rewriter/text/printable.hpp"

namespace refit {

std::string closing(const MigrateOptions& options, const RunResult& result, const Input& input,
                    const Applied& applied) {
  if (input.files.empty()) {
    const bool narrowed = !options.include.empty() || !options.exclude.empty();
    return fmt::format(
        "no source files {}in {}: nothing to do\n",
        narrowed ? "that --include and --exclude leave " : "",
        printable(fmt::format("{}", fmt::join(options.paths, ", ")), Breaks::escaped));
  }
  if (options.review) {
    return fmt::format("{} would change; {} is the review: open it in a browser\n",
                       count_of(result.changed.size(), "file"),
                       printable(*options.review, Breaks::escaped));
  }
  if (result.changed.empty()) {
    return fmt::format("{}: nothing {}\n", count_of(input.files.size(), "source file"),
                       result.findings.empty() ? "that a rule looks for" : "to change");
  }
  if (options.from_input) return "";
  const std::string files = count_of(result.changed.size(), "file");
  if (options.write) {
    return fmt::format("{} of {} rewritten in {}{}\n", applied.written.size(), files,
                       printable(input.root, Breaks::escaped),
                       applied.undoable ? "; `refit undo` there takes it back" : "");
  }
  if (!options.diff) return fmt::format("{} would change\n", files);
  return fmt::format(
      "{} would change; --write writes them, as does `git apply` of the diff in {}\n", files,
      printable(input.root, Breaks::escaped));
}

ExitCode code_of(FileProblem problem) {
  switch (problem) {
    case FileProblem::withheld:
      return ExitCode::withheld;
    case FileProblem::unwritable:
      return ExitCode::not_written;
    default:
      return ExitCode::unreadable_input;
  }
}

}  // namespace refit
