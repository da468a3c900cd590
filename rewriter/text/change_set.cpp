// The steps of a change set, each of which may be the last that the process takes.
// Entry point: ChangeSets.
#include "rewriter/text/change_set.hpp"

#include <fmt/format.h>

#include <chrono>
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "rewriter/text/count.hpp"

namespace refit {
namespace {

constexpr char kStaging[] = "staging", kPending[] = "pending", kDone[] = "done";
constexpr uint64_t kLongestJournal = 1ull << 30;
constexpr uint64_t kAnyLength = std::numeric_limits<uint64_t>::max();
constexpr std::string_view kAllOld = "every file is as it was";

tl::unexpected<FileError> error_of(std::string file, std::string message) {
  return tl::unexpected<FileError>(FileError{std::move(file), std::move(message)});
}

tl::unexpected<FileError> step_failed(std::string file, std::string_view step,
                                      const DiskError& error) {
  return error_of(std::move(file), fmt::format("{}: {}", step, error.message));
}

tl::unexpected<FileError> and_so(FileError error, std::string_view consequence) {
  return error_of(std::move(error.file), fmt::format("{}; {}", error.message, consequence));
}

std::string new_id() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}", device(), device());
}

}  // namespace

// The folder of the journal, for this process alone.
class ChangeSets::Lock {
 public:
  static Result<Lock> take(ChangeSets& sets) {
    constexpr int kTries = 100;
    for (int tries = 0;; ++tries) {
      auto handle = sets.disk_.lock_folder(sets.place_.folder);
      if (handle) return Lock(sets.disk_, *handle);
      // Whoever had it until now may have removed it.
      const bool gone = handle.error().kind == DiskError::Kind::missing && sets.prepare();
      if (!gone && handle.error().kind != DiskError::Kind::busy) {
        return step_failed({}, "locking " + sets.place_.folder, handle.error());
      }
      if (tries == kTries) {
        return error_of({}, "another run of refit is writing this tree; run the command again");
      }
      if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  Lock(Lock&& other) noexcept
      : disk_(other.disk_), handle_(std::exchange(other.handle_, std::nullopt)) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  Lock& operator=(Lock&&) = delete;
  ~Lock() {
    if (handle_) (void)disk_.close(*handle_);
  }

 private:
  Lock(Disk& disk, int handle) : disk_(disk), handle_(handle) {}
  Disk& disk_;
  std::optional<int> handle_;
};

std::string ChangeSets::at(std::string_view name) const {
  return fmt::format("{}/{}", name == kDone ? place_.done : place_.folder, name);
}

// A folder that nobody but this user can have put journals into.
bool ChangeSets::is_own(const std::string& folder) const {
  const auto status = disk_.status(folder);
  return status && status->kind == FileStatus::Kind::folder && status->user == disk_.user() &&
         (status->mode & 022u) == 0;
}

bool ChangeSets::make_own(const std::string& folder) {
  return disk_.make_folder(folder) || (is_own(folder) && disk_.check_writable(folder));
}

bool ChangeSets::has(const char* name) const {
  return is_own(name == kDone ? place_.done : place_.folder) && disk_.status(at(name));
}

ChangeSets::Result<ReplacedFiles> ChangeSets::write(std::vector<FileChange> changes,
                                                    const Stop& stop) {
  const auto lock = Lock::take(*this);
  if (!lock) return and_so(lock.error(), kAllOld);
  if (const auto recovered = recover_locked(); !recovered) return tl::unexpected(recovered.error());
  return replace(Journal{false, new_id(), std::move(changes)}, stop);
}

ChangeSets::Result<std::vector<std::string>> ChangeSets::recover() {
  if (!has(kStaging) && !has(kPending)) return std::vector<std::string>();
  const auto lock = Lock::take(*this);
  if (!lock) return tl::unexpected(lock.error());
  return recover_locked();
}

ChangeSets::Result<std::optional<Journal>> ChangeSets::last() const {
  if (!has(kDone)) return std::optional<Journal>();
  return load(kDone);
}

ChangeSets::Result<ReplacedFiles> ChangeSets::undo(const Stop& stop) {
  if (!has(kDone) && !has(kPending)) return ReplacedFiles();
  if (!prepare()) return error_of({}, "cannot make " + place_.folder + "; nothing was restored");
  const auto lock = Lock::take(*this);
  if (!lock) return and_so(lock.error(), kAllOld);
  if (const auto recovered = recover_locked(); !recovered) return tl::unexpected(recovered.error());
  auto done = load(kDone);
  if (!done || !*done) tidy();
  if (!done) return and_so(done.error(), "nothing was restored");
  if (!*done) return ReplacedFiles();
  Journal journal{true, new_id(), {}};
  for (FileChange& change : (*done)->files) {
    const auto current = disk_.read(place_.root + "/" + change.file, kAnyLength);
    if (current && *current == change.before) continue;
    if (!current || *current != change.after) {
      tidy();
      return error_of(change.file, "it changed since that run; nothing was restored");
    }
    journal.files.push_back(
        {std::move(change.file), std::move(change.after), std::move(change.before)});
  }
  return replace(std::move(journal), stop);
}

// The change set from its first step to its last; the folder is locked.
ChangeSets::Result<ReplacedFiles> ChangeSets::replace(Journal journal, const Stop& stop) {
  ReplacedFiles replaced;
  std::vector<FileChange> kept;
  for (FileChange& change : journal.files) {
    if (const auto checked = check(change, replaced.notes); checked) {
      kept.push_back(std::move(change));
    } else {
      replaced.left.push_back(checked.error());
    }
  }
  journal.files = std::move(kept);
  if (journal.files.empty()) {
    tidy();
    return replaced;
  }

  auto staged = write_journal(journal).and_then([&] { return stage(journal, stop); });
  if (staged && *staged) {
    auto recorded = disk_.rename(at(kStaging), at(kPending));
    if (recorded) recorded = disk_.sync_folder(place_.folder);
    if (!recorded) staged = step_failed({}, "recording the change set", recorded.error());
  }
  if (!staged || !*staged) {
    (void)disk_.remove(at(kPending));
    discard(journal, kStaging);
    if (!staged) return and_so(staged.error(), kAllOld);
    replaced.interrupted = true;
    return replaced;
  }

  if (const auto done = commit(journal, stop, replaced); !done) return tl::unexpected(done.error());
  if (replaced.interrupted) return replaced;
  const auto done = finish(journal);
  if (!done) {
    return and_so(done.error(), "every file is new, but a power cut now may bring old ones back");
  }
  replaced.kept = done->empty();
  if (!replaced.kept) replaced.notes.push_back(*done);
  return replaced;
}

// Writes the new texts beside the old ones; false where `stop` says so.
ChangeSets::Result<bool> ChangeSets::stage(const Journal& journal, const Stop& stop) {
  for (std::size_t i = 0; i < journal.files.size(); ++i) {
    if (stop()) return false;
    const auto written = write_temporary(target(journal, i), journal.files[i].after);
    if (!written) return error_of(journal.files[i].file, written.error().message);
  }
  return !stop();
}

// Renames the new texts over the old ones, or takes everything back.
ChangeSets::Result<void> ChangeSets::commit(const Journal& journal, const Stop& stop,
                                            ReplacedFiles& replaced) {
  std::vector<std::size_t> numbers;
  const auto back = [&] { return take_back(journal, numbers); };
  for (std::size_t i = 0; i < journal.files.size(); ++i) {
    const FileChange& change = journal.files[i];
    const Target to = target(journal, i);
    if (stop()) {
      replaced.interrupted = true;
      replaced.written.clear();
      return back();
    }
    std::vector<std::string> again;
    if (const auto same = check(change, again); !same) {
      replaced.left.push_back(same.error());
      (void)disk_.remove(to.temporary);
      continue;
    }
    if (const auto done = disk_.rename(to.temporary, to.path); !done) {
      if (const auto taken = back(); !taken) return tl::unexpected(taken.error());
      return and_so({change.file, "replacing the file: " + done.error().message}, kAllOld);
    }
    numbers.push_back(i);
    replaced.written.push_back(change.file);
  }
  return {};
}

// Gives those files their old texts and forgets the change set.
ChangeSets::Result<void> ChangeSets::take_back(const Journal& journal,
                                               const std::vector<std::size_t>& replaced) {
  for (const std::size_t number : replaced) {
    const auto done = exchange(journal, number, journal.files[number].before);
    if (!done) return and_so(done.error(), "the next `refit migrate` completes the run");
  }
  discard(journal, kPending);
  return {};
}

ChangeSets::Result<std::vector<std::string>> ChangeSets::recover_locked() {
  std::vector<std::string> said;
  if (const auto staging = load(kStaging); disk_.status(at(kStaging))) {
    // A journal that is not whole was being written: there are no temporary files yet.
    discard(staging && *staging ? **staging : Journal(), kStaging);
    said.push_back(
        "An earlier run was killed before it replaced a file; what it left behind is removed.");
  }
  const auto pending = load(kPending);
  if (!pending) {
    return and_so(pending.error(),
                  "it says which files a killed run was replacing; restore them from version "
                  "control and remove it");
  }
  if (!*pending) return said;
  auto completed = complete(**pending);
  if (!completed) return and_so(completed.error(), "so a run that was killed is still half done");
  said.push_back(std::move(*completed));
  const auto done = finish(**pending);
  if (!done) return tl::unexpected(done.error());
  if (!done->empty()) said.push_back(*done);
  return said;
}

// Replaces what a killed run did not come to. Its temporary files may be there, whole or in part.
ChangeSets::Result<std::string> ChangeSets::complete(const Journal& journal) {
  std::size_t replaced = 0;
  std::string changed;
  for (std::size_t i = 0; i < journal.files.size(); ++i) {
    const FileChange& change = journal.files[i];
    const Target to = target(journal, i);
    const auto current = disk_.read(to.path, kAnyLength);
    if (current && *current == change.before) {
      const auto staged = disk_.read(to.temporary, kAnyLength);
      const bool whole = staged && *staged == change.after;
      const auto done =
          whole ? disk_.rename(to.temporary, to.path).map_error([&](const DiskError& error) {
            return FileError{change.file, error.message};
          })
                : exchange(journal, i, change.after);
      if (!done) return tl::unexpected(done.error());
      ++replaced;
      continue;
    }
    (void)disk_.remove(to.temporary);
    if (!current || *current != change.after) {
      changed += fmt::format(" {} changed since and is left as it is.", change.file);
    }
  }
  return fmt::format(
      "An earlier {} was killed while it replaced {}; {} it had not come to {} "
      "replaced now.{}",
      journal.undo ? "`refit undo`" : "run", count_of(journal.files.size(), "file"), replaced,
      replaced == 1 ? "is" : "are", changed);
}

// Makes the new texts last, and the change set the one that undo() takes back. Gives a sentence
// where that one cannot be kept.
ChangeSets::Result<std::string> ChangeSets::finish(const Journal& journal) {
  std::set<std::string> folders;
  for (std::size_t i = 0; i < journal.files.size(); ++i) folders.insert(target(journal, i).folder);
  for (const std::string& folder : folders) {
    if (const auto done = disk_.sync_folder(folder); !done) {
      return step_failed({}, "syncing " + folder, done.error());
    }
  }
  if (journal.undo) {
    (void)disk_.remove(at(kDone));
    (void)disk_.remove_folder(place_.done);
    discard(Journal(), kPending);
    return std::string();
  }
  const auto kept = keep(journal);
  if (place_.done != place_.folder || !kept) discard(Journal(), kPending);
  if (kept) return std::string();
  return "`refit undo` cannot take this run back: " + kept.error().message;
}

DiskResult<void> ChangeSets::keep(const Journal& journal) {
  if (place_.done == place_.folder) {
    auto renamed = disk_.rename(at(kPending), at(kDone));
    return renamed ? disk_.sync_folder(place_.done) : renamed;
  }
  (void)disk_.remove(at(kDone));
  if (place_.done.empty() || !make_own(place_.done)) {
    return tl::unexpected<DiskError>(DiskError{
        DiskError::Kind::other, "there is no folder of this user to keep its journal in"});
  }
  const std::string fresh = place_.done + "/new";
  (void)disk_.remove(fresh);
  auto written = write_new(fresh, journal_text(journal));
  if (written) written = disk_.rename(fresh, at(kDone));
  if (!written) (void)disk_.remove(fresh);
  return written;
}

// Removes the temporary files of a change set, and then its journal.
void ChangeSets::discard(const Journal& journal, const char* name) {
  for (std::size_t i = 0; i < journal.files.size(); ++i) {
    (void)disk_.remove(target(journal, i).temporary);
  }
  (void)disk_.remove(at(name));
  (void)disk_.sync_folder(place_.folder);
  tidy();
}

// Leaves no folder behind that holds no journal.
void ChangeSets::tidy() { (void)disk_.remove_folder(place_.folder); }

ChangeSets::Target ChangeSets::target(const Journal& journal, std::size_t number) const {
  Target target;
  target.path = place_.root + "/" + journal.files[number].file;
  target.folder = target.path.substr(0, target.path.rfind('/') + 1);
  target.temporary = fmt::format("{}.refit-{}-{}.tmp", target.folder, journal.id, number);
  return target;
}

// Whether the file is one to be written, and still what its change was made from.
ChangeSets::Result<void> ChangeSets::check(const FileChange& change,
                                           std::vector<std::string>& notes) const {
  const auto stays = [&](std::string_view step, std::string_view why) {
    return error_of(change.file, fmt::format("{}: {}; the file is as it was", step, why));
  };
  const std::string path = place_.root + "/" + change.file;
  const auto real = disk_.resolve(path);
  if (!real) return stays("looking up the file", real.error().message);
  const auto status = disk_.status(path);
  if (!status) return stays("reading the file's mode", status.error().message);
  if (*real != path || status->kind != FileStatus::Kind::regular) {
    return stays("replacing the file", "Not a regular file");
  }
  // A rename needs no permission on the file itself, and root every permission; a file marked
  // read-only is to stay all the same.
  if (const auto allowed = disk_.check_writable(path); !allowed) {
    return stays("the file may not be written", allowed.error().message);
  }
  if ((status->mode & 0222u) == 0) return stays("the file may not be written", "Marked read-only");
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  if (const auto allowed = disk_.check_writable(folder); !allowed) {
    return stays("making a temporary file beside it", allowed.error().message);
  }
  const auto current = disk_.read(path, kAnyLength);
  if (!current) return stays("reading the file once more", current.error().message);
  if (*current != change.before) {
    return error_of(change.file,
                    "the file was changed by someone else since it was read; it is left as it is "
                    "now; run the command again");
  }
  if (status->names > 1) {
    notes.push_back(fmt::format("{}: the file has {} hard links; the other names keep the old text",
                                change.file, status->names));
  }
  return {};
}

ChangeSets::Result<void> ChangeSets::exchange(const Journal& journal, std::size_t number,
                                              std::string_view text) {
  const std::string& file = journal.files[number].file;
  const Target to = target(journal, number);
  (void)disk_.remove(to.temporary);
  if (const auto done = write_temporary(to, text); !done) {
    return error_of(file, done.error().message);
  }
  if (const auto done = disk_.rename(to.temporary, to.path); !done) {
    (void)disk_.remove(to.temporary);
    return step_failed(file, "replacing the file", done.error());
  }
  return {};
}

// A new file with the text, and with everything else that the target has.
ChangeSets::Result<void> ChangeSets::write_temporary(const Target& target, std::string_view text) {
  const auto status = disk_.status(target.path);
  if (!status) return step_failed({}, "reading the file's mode", status.error());
  const auto attributes = disk_.attributes(target.path);
  if (!attributes) return step_failed({}, "reading the file's attributes", attributes.error());
  const auto handle = disk_.create(target.temporary);
  if (!handle) return step_failed({}, "making a temporary file beside it", handle.error());

  std::string_view step = "writing the temporary file beside it";
  auto done = disk_.write(*handle, text);
  if (done) {
    // Only root may give files away; anyone else keeps the file under their own name, as an editor
    // does. A change of owner takes away attributes and set-user-id bits.
    (void)disk_.set_owner(*handle, status->user, status->group);
    step = "giving the temporary file the file's access control list and attributes";
    done = disk_.set_attributes(*handle, *attributes);
  }
  if (done) {
    step = "giving the temporary file the file's mode";
    done = disk_.set_mode(*handle, status->mode);
  }
  if (done) {
    step = "syncing the temporary file beside it";
    done = disk_.sync(*handle);
  }
  if (const auto closed = disk_.close(*handle); done && !closed) {
    step = "closing the temporary file beside it";
    done = closed;
  }
  if (done) return {};
  (void)disk_.remove(target.temporary);
  return step_failed({}, step, done.error());
}

DiskResult<void> ChangeSets::write_new(const std::string& path, std::string_view text) {
  const auto handle = disk_.create(path);
  if (!handle) return tl::unexpected(handle.error());
  auto done = disk_.write(*handle, text);
  if (done) done = disk_.sync(*handle);
  if (const auto closed = disk_.close(*handle); done) done = closed;
  return done;
}

ChangeSets::Result<void> ChangeSets::write_journal(const Journal& journal) {
  constexpr std::string_view kStep = "recording the change set";
  const std::string text = journal_text(journal);
  if (text.size() > kLongestJournal) {
    return error_of({}, "the changes come to more than 1 GiB; migrate one folder at a time");
  }
  auto done = write_new(at(kStaging), text);
  if (done) done = disk_.sync_folder(place_.folder);
  if (!done) return step_failed({}, kStep, done.error());
  return {};
}

ChangeSets::Result<std::optional<Journal>> ChangeSets::load(const char* name) const {
  const std::string path = at(name);
  const auto status = disk_.status(path);
  if (!status && status.error().kind == DiskError::Kind::missing) return std::nullopt;
  if (!status) return step_failed({}, "reading " + path, status.error());
  if (status->kind != FileStatus::Kind::regular || status->user != disk_.user()) {
    return error_of({}, path + " is no file of this user");
  }
  const auto text = disk_.read(path, kLongestJournal);
  if (!text) return step_failed({}, "reading " + path, text.error());
  auto journal = read_journal(*text);
  if (!journal) return error_of({}, fmt::format("{}: {}", path, journal.error().message));
  for (const FileChange& change : journal->files) {
    const std::string file = place_.root + "/" + change.file;
    const auto real = disk_.resolve(file);
    if (!may_write_(change.file) || (real && *real != file)) {
      return error_of({}, fmt::format("{} names a file that refit does not write", path));
    }
  }
  return std::optional<Journal>(std::move(*journal));
}

}  // namespace refit
