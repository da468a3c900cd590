// Change sets under a guard against signals. Entry points: apply, recover, last_run, undo.
#include "rewriter/cli/apply.hpp"

#include <csignal>
#include <utility>

#include "rewriter/cli/journal_place.hpp"
#include "rewriter/project/language.hpp"
#include "rewriter/text/change_set.hpp"

namespace refit {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int) { stop_requested = 1; }

class SignalGuard {
 public:
  SignalGuard() {
    stop_requested = 0;
    struct sigaction action = {};
    action.sa_handler = request_stop;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], nullptr, &before_[i]);
      // What nohup has turned off stays off.
      if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
    }
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;
  ~SignalGuard() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      sigaction(kSignals[i], &before_[i], nullptr);
    }
  }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction before_[std::size(kSignals)];
};

// The names of a journal's files as the report has them, which are relative to the tree's root.
std::string prefix_of(const Input& input, const JournalPlace& place) {
  return place.root.size() > input.root.size() ? place.root.substr(input.root.size() + 1) + "/"
                                               : "";
}

ChangeSets change_sets(Disk& disk, JournalPlace place) {
  return {disk, std::move(place),
          [](std::string_view file) { return language_of(file) != nullptr; }};
}

// A problem's file: as the report names it, or the tree itself.
std::string shown(const std::string& prefix, const std::string& file) {
  return file.empty() ? "." : prefix + file;
}

}  // namespace

Applied apply(RunResult& result, const Input& input, Disk& disk) {
  Applied applied;
  if (result.changed.empty()) return applied;
  const SignalGuard guard;
  for (JournalPlace& place : places_for(input, result.changed)) {
    const std::string prefix = prefix_of(input, place);
    ChangeSets sets = change_sets(disk, std::move(place));
    if (!sets.prepare()) continue;
    if (sets.place().done != sets.place().folder) make_state_folder(disk);
    std::vector<FileChange> changes;
    changes.reserve(result.changed.size());
    for (const FileResult& file : result.changed) {
      changes.push_back({file.file.substr(prefix.size()), file.before_bytes, *file.new_bytes});
    }
    const auto replaced = sets.write(std::move(changes), [] { return stop_requested != 0; });
    if (!replaced) {
      const FileError& error = replaced.error();
      result.problems.push_back(
          {FileProblem::unwritable, shown(prefix, error.file), error.message});
      return applied;
    }
    applied.interrupted = replaced->interrupted;
    for (const std::string& file : replaced->written) applied.written.push_back(prefix + file);
    for (const FileError& left : replaced->left) {
      result.problems.push_back({FileProblem::unwritable, prefix + left.file, left.message});
    }
    applied.undoable = replaced->kept && !applied.written.empty();
    result.notes.insert(result.notes.end(), replaced->notes.begin(), replaced->notes.end());
    return applied;
  }
  result.problems.push_back(
      {FileProblem::unwritable, ".",
       "no folder can be made for the journal of the run, neither in git's own folder nor in the "
       "tree; every file is as it was"});
  return applied;
}

Expected<std::vector<std::string>> recover(const Input& input, Disk& disk) {
  std::vector<std::string> said;
  for (JournalPlace& place : places_of(input, /*above=*/true)) {
    ChangeSets sets = change_sets(disk, std::move(place));
    auto found = sets.recover();
    if (!found) {
      const std::string file = found.error().file;
      return failure((file.empty() ? "" : sets.place().root + "/" + file + ": ") +
                     found.error().message);
    }
    for (const std::string& sentence : *found) {
      said.push_back(sets.place().root + ": " + sentence);
    }
  }
  return said;
}

Expected<std::vector<FileChange>> last_run(const Input& input, Disk& disk) {
  for (JournalPlace& place : places_of(input, /*above=*/false)) {
    const std::string prefix = prefix_of(input, place);
    const ChangeSets sets = change_sets(disk, std::move(place));
    auto last = sets.last();
    if (!last) return failure(shown(prefix, last.error().file) + ": " + last.error().message);
    if (!*last) continue;
    std::vector<FileChange> files = std::move((*last)->files);
    for (FileChange& change : files) change.file.insert(0, prefix);
    return files;
  }
  return std::vector<FileChange>();
}

Expected<Applied> undo(const Input& input, Disk& disk) {
  Applied applied;
  const SignalGuard guard;
  for (JournalPlace& place : places_of(input, /*above=*/false)) {
    const std::string prefix = prefix_of(input, place);
    ChangeSets sets = change_sets(disk, std::move(place));
    const auto replaced = sets.undo([] { return stop_requested != 0; });
    if (!replaced) {
      return failure(shown(prefix, replaced.error().file) + ": " + replaced.error().message);
    }
    if (!replaced->left.empty()) {
      const FileError& left = replaced->left.front();
      return failure(prefix + left.file + ": " + left.message);
    }
    applied.interrupted = replaced->interrupted;
    for (const std::string& file : replaced->written) applied.written.push_back(prefix + file);
    if (applied.interrupted || !applied.written.empty()) break;
  }
  return applied;
}

}  // namespace refit
