// Replacing the files of one run as one change set: whatever ends the process, once the next
// command has run every file is old or every file is new. Entry point: ChangeSets.
//
// The journal (text/journal.hpp) has one of three names:
//   staging  the new texts are being written to temporary files beside the old ones; no file has
//            changed. recover() takes it back.
//   pending  all new texts are synced and are being renamed over the old ones. recover() completes
//            it.
//   done     every file is new. undo() takes it back, as a change set of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "rewriter/text/disk.hpp"
#include "rewriter/text/journal.hpp"

namespace refit {

// Where a change set is recorded.
struct JournalPlace {
  std::string root;    // absolute; the folder that the names of files are relative to
  std::string folder;  // absolute; holds `staging` and `pending`, is made and removed as needed
  std::string done;    // absolute; holds `done`, the same folder or another; "": none is kept
};

struct FileError {
  std::string file;  // as in FileChange; empty where it is about the journal
  std::string message;
};

struct ReplacedFiles {
  std::vector<std::string> written;  // names as in FileChange
  std::vector<FileError> left;       // files that were not to be written, and why; they are old
  std::vector<std::string> notes;    // one sentence each
  bool interrupted = false;          // everything was taken back
  bool kept = true;                  // undo() can take it back; else a note says why not
};

class ChangeSets {
 public:
  template <typename T>
  using Result = tl::expected<T, FileError>;
  using Stop = std::function<bool()>;

  // `may_write` says which names refit writes at all: a journal may come from anyone.
  ChangeSets(Disk& disk, JournalPlace place, std::function<bool(std::string_view)> may_write)
      : disk_(disk), place_(std::move(place)), may_write_(std::move(may_write)) {}

  const JournalPlace& place() const { return place_; }

  // Makes the folder of the journal where it is missing; false where that cannot be.
  bool prepare() { return make_own(place_.folder); }

  // Replaces all files, or none and fails. A file that is not to be written (it is marked
  // read-only, or holds no longer what its change was made from) stays old beside the others.
  // `stop` is asked before each file; once it says so, everything is taken back.
  Result<ReplacedFiles> write(std::vector<FileChange> changes, const Stop& stop);

  // Completes or takes back what a killed run left. Gives sentences about what was found and done;
  // none where there was nothing. Fails where it cannot be done, and then again the next time.
  Result<std::vector<std::string>> recover();

  // The last run, which undo() would take back; nothing where there is none.
  Result<std::optional<Journal>> last() const;

  // Gives the files of the last run their old texts. Fails where one of them changed since; gives
  // no written file where there is nothing to take back.
  Result<ReplacedFiles> undo(const Stop& stop);

 private:
  class Lock;
  struct Target {
    std::string path, folder, temporary;
  };

  Result<std::vector<std::string>> recover_locked();
  Result<ReplacedFiles> replace(Journal journal, const Stop& stop);
  Result<bool> stage(const Journal& journal, const Stop& stop);
  Result<void> commit(const Journal& journal, const Stop& stop, ReplacedFiles& replaced);
  Result<std::string> complete(const Journal& journal);
  Result<void> take_back(const Journal& journal, const std::vector<std::size_t>& replaced);
  Result<std::string> finish(const Journal& journal);
  DiskResult<void> keep(const Journal& journal);
  void discard(const Journal& journal, const char* name);
  void tidy();

  bool is_own(const std::string& folder) const;
  bool make_own(const std::string& folder);
  bool has(const char* name) const;
  Target target(const Journal& journal, std::size_t number) const;
  Result<void> check(const FileChange& change, std::vector<std::string>& notes) const;
  Result<void> exchange(const Journal& journal, std::size_t number, std::string_view text);
  Result<void> write_temporary(const Target& target, std::string_view text);
  DiskResult<void> write_new(const std::string& path, std::string_view text);
  Result<void> write_journal(const Journal& journal);
  Result<std::optional<Journal>> load(const char* name) const;
  std::string at(std::string_view name) const;

  Disk& disk_;
  JournalPlace place_;
  std::function<bool(std::string_view)> may_write_;
};

}  // namespace refit
