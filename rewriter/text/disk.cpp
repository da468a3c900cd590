// The real disk (POSIX) and the atomic replacement of a file. Entry point: write_atomically.
#include "rewriter/text/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

namespace refit {
namespace {

tl::unexpected<DiskError> system_error(int error) {
  DiskError::Kind kind = DiskError::Kind::other;
  if (error == ENOENT || error == ENOTDIR) kind = DiskError::Kind::missing;
  if (error == EEXIST) kind = DiskError::Kind::exists;
  return tl::unexpected<DiskError>(DiskError{kind, std::strerror(error)});
}

DiskResult<void> check(int status) {
  if (status != 0) return system_error(errno);
  return {};
}

// Reads an open file to its end into what `room(size)` gives; the result is how many bytes it has.
template <typename Room>
DiskResult<std::size_t> read_all(int file, uint64_t limit, Room room) {
  struct stat info;
  if (fstat(file, &info) != 0) return system_error(errno);
  if (!S_ISREG(info.st_mode)) {
    return tl::unexpected<DiskError>(DiskError{DiskError::Kind::other, "Not a regular file"});
  }
  std::size_t used = 0;
  // One byte more than the file says, so that the last read sees its end.
  std::size_t more = static_cast<std::size_t>(info.st_size) + 1;
  for (;;) {
    if (static_cast<uint64_t>(info.st_size) > limit || used > limit) {
      return tl::unexpected<DiskError>(
          DiskError{DiskError::Kind::too_large, fmt::format("Longer than {} MiB", limit >> 20)});
    }
    const ssize_t count = ::read(file, room(used + more) + used, more);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno);
    used += static_cast<std::size_t>(count);
    if (count == 0) return used;
    more -= static_cast<std::size_t>(count);
    if (more == 0) more = 4096;
  }
}

template <typename Room>
DiskResult<std::size_t> read_all(const std::string& path, uint64_t limit, Room room) {
  // O_NONBLOCK: opening a pipe that has no writer must not wait.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return system_error(errno);
  auto size = read_all(file, limit, room);
  ::close(file);
  return size;
}

class RealDisk final : public Disk {
 public:
  DiskResult<std::string> read(const std::string& path, uint64_t limit) override {
    std::string bytes;
    const auto size = read_all(path, limit, [&](std::size_t room) {
      bytes.resize(room);
      return bytes.data();
    });
    if (!size) return tl::unexpected(size.error());
    bytes.resize(*size);
    return bytes;
  }

  DiskResult<std::string> resolve(const std::string& path) override {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr),
                                                           &std::free);
    if (!real) return system_error(errno);
    return std::string(real.get());
  }

  DiskResult<FileStatus> status(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return system_error(errno);
    return FileStatus{S_ISREG(info.st_mode), info.st_mode & 07777u, info.st_uid, info.st_gid};
  }

  DiskResult<void> check_writable(const std::string& path) override {
    return check(faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS));
  }

  DiskResult<int> create(const std::string& path) override {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return system_error(errno);
    return file;
  }

  DiskResult<void> write(int handle, std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(handle, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(errno);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  DiskResult<void> set_owner(int handle, uint32_t user, uint32_t group) override {
    return check(fchown(handle, user, group));
  }

  DiskResult<void> set_mode(int handle, uint32_t mode) override {
    return check(fchmod(handle, mode));
  }

  DiskResult<void> sync(int handle) override {
    int status = fsync(handle);
    while (status != 0 && errno == EINTR) status = fsync(handle);
    return check(status);
  }

  DiskResult<void> close(int handle) override { return check(::close(handle)); }

  DiskResult<void> rename(const std::string& from, const std::string& to) override {
    return check(std::rename(from.c_str(), to.c_str()));
  }

  DiskResult<void> sync_folder(const std::string& path) override {
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return system_error(errno);
    auto result = sync(folder);
    // Some file systems have no such operation for folders; there is nothing to wait for then.
    const bool unsupported = !result && (errno == EINVAL || errno == ENOTSUP);
    ::close(folder);
    if (unsupported) return {};
    return result;
  }

  DiskResult<void> remove(const std::string& path) override { return check(unlink(path.c_str())); }
};

// Removes the temporary file unless it was renamed away.
class Temporary {
 public:
  Temporary(Disk& disk, std::string path, int handle)
      : disk_(disk), path_(std::move(path)), handle_(handle) {}
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (handle_) (void)disk_.close(*handle_);
    if (!kept_) (void)disk_.remove(path_);
  }
  const std::string& path() const { return path_; }
  int handle() const { return *handle_; }
  DiskResult<void> close() {
    const int handle = *handle_;
    handle_.reset();
    return disk_.close(handle);
  }
  void keep() { kept_ = true; }

 private:
  Disk& disk_;
  std::string path_;
  std::optional<int> handle_;
  bool kept_ = false;
};

}  // namespace

Disk& real_disk() {
  static RealDisk disk;
  return disk;
}

DiskResult<std::string_view> read_file(const std::string& path, uint64_t limit, ReadRoom& room) {
  char* bytes = nullptr;
  const auto size =
      read_all(path, limit, [&](std::size_t needed) { return bytes = room.of(needed); });
  if (!size) return tl::unexpected(size.error());
  return std::string_view(bytes, *size);
}

Expected<void> write_atomically(Disk& disk, const std::string& path, std::string_view bytes,
                                std::string_view expected) {
  const auto failed = [](std::string_view step, const DiskError& error) {
    return failure(fmt::format("{}: {}; the file is as it was", step, error.message));
  };

  const auto target = disk.resolve(path);
  if (!target) return failed("looking up the file", target.error());
  const auto status = disk.status(*target);
  if (!status) return failed("reading the file's mode", status.error());
  if (!status->regular) {
    return failed("replacing the file", {DiskError::Kind::other, "Not a regular file"});
  }
  // A rename needs no permission on the file itself; a file marked read-only is to stay all the
  // same.
  if (const auto allowed = disk.check_writable(*target); !allowed) {
    return failed("the file may not be written", allowed.error());
  }

  const std::string folder = target->substr(0, target->rfind('/') + 1);
  static std::atomic<unsigned> counter{0};
  std::string name;
  DiskResult<int> handle = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    name = fmt::format("{}.refit-{}-{}.tmp", folder, getpid(), counter++);
    handle = disk.create(name);
    if (handle || handle.error().kind != DiskError::Kind::exists) break;
  }
  if (!handle) return failed("making a temporary file beside it", handle.error());

  Temporary temporary(disk, name, *handle);
  if (const auto done = disk.write(*handle, bytes); !done) {
    return failed("writing the temporary file beside it", done.error());
  }
  // Only root may give files away; anyone else keeps the file under their own name, as an editor
  // does. The mode comes second, because a change of owner clears set-user-id bits.
  (void)disk.set_owner(*handle, status->user, status->group);
  if (const auto done = disk.set_mode(*handle, status->mode); !done) {
    return failed("giving the temporary file the file's mode", done.error());
  }
  if (const auto done = disk.sync(*handle); !done) {
    return failed("syncing the temporary file beside it", done.error());
  }
  if (const auto done = temporary.close(); !done) {
    return failed("closing the temporary file beside it", done.error());
  }

  const auto current = disk.read(*target, std::numeric_limits<uint64_t>::max());
  if (!current) return failed("reading the file once more", current.error());
  if (*current != expected) {
    return failure(
        "the file was changed by someone else since it was read; it is left as it is now; run the "
        "command again");
  }
  if (const auto done = disk.rename(name, *target); !done) {
    return failed("renaming the temporary file over it", done.error());
  }
  temporary.keep();
  if (const auto done = disk.sync_folder(folder); !done) {
    return failure(fmt::format(
        "the file holds its new content, but syncing its folder failed: {}; a power cut now may "
        "bring the old content back",
        done.error().message));
  }
  return {};
}

}  // namespace refit
