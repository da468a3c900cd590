// The real disk (POSIX). Entry points: real_disk, read_file.
#include "rewriter/text/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace refit {
namespace {

tl::unexpected<DiskError> system_error(int error) {
  DiskError::Kind kind = DiskError::Kind::other;
  if (error == ENOENT || error == ENOTDIR) kind = DiskError::Kind::missing;
  if (error == EEXIST) kind = DiskError::Kind::exists;
  if (error == EWOULDBLOCK) kind = DiskError::Kind::busy;
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

// What the system sets by itself, as SELinux's labels; a process is seldom allowed to.
constexpr std::string_view kOfTheSystem = "security.";

DiskResult<Attributes> attributes_of(int file) {
  Attributes found;
  const ssize_t room = flistxattr(file, nullptr, 0);
  if (room < 0 && errno == ENOTSUP) return found;
  if (room < 0) return system_error(errno);
  std::string names(static_cast<std::size_t>(room), '\0');
  const ssize_t size = flistxattr(file, names.data(), names.size());
  if (size < 0) return system_error(errno);
  names.resize(static_cast<std::size_t>(size));
  for (std::size_t begin = 0; begin < names.size();) {
    const std::string name = names.c_str() + begin;
    begin += name.size() + 1;
    const ssize_t length = fgetxattr(file, name.c_str(), nullptr, 0);
    if (length < 0) return system_error(errno);
    std::string value(static_cast<std::size_t>(length), '\0');
    const ssize_t got = fgetxattr(file, name.c_str(), value.data(), value.size());
    if (got < 0) return system_error(errno);
    value.resize(static_cast<std::size_t>(got));
    found.emplace(name, std::move(value));
  }
  return found;
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
    if (lstat(path.c_str(), &info) != 0) return system_error(errno);
    FileStatus status;
    if (S_ISREG(info.st_mode)) status.kind = FileStatus::Kind::regular;
    if (S_ISDIR(info.st_mode)) status.kind = FileStatus::Kind::folder;
    status.mode = info.st_mode & 07777u;
    status.user = info.st_uid;
    status.group = info.st_gid;
    status.names = info.st_nlink;
    return status;
  }

  DiskResult<Attributes> attributes(const std::string& path) override {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) return system_error(errno);
    auto found = attributes_of(file);
    ::close(file);
    return found;
  }

  // A file is opened, because that also fails for one that is immutable (chattr +i) or lies on a
  // read-only disk.
  DiskResult<void> check_writable(const std::string& path) override {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) return system_error(errno);
    if (S_ISDIR(info.st_mode)) {
      return check(faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS));
    }
    const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (file < 0) return system_error(errno);
    return check(::close(file));
  }

  uint32_t user() const override { return geteuid(); }

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

  DiskResult<void> set_attributes(int handle, const Attributes& wanted) override {
    const auto present = attributes_of(handle);
    if (!present) return tl::unexpected(present.error());
    for (const auto& [name, value] : *present) {
      // A folder may give new files an access control list of its own.
      if (wanted.contains(name) || name.starts_with(kOfTheSystem)) continue;
      if (fremovexattr(handle, name.c_str()) != 0) return system_error(errno);
    }
    for (const auto& [name, value] : wanted) {
      const auto at = present->find(name);
      if (at != present->end() && at->second == value) continue;
      if (fsetxattr(handle, name.c_str(), value.data(), value.size(), 0) != 0 &&
          !name.starts_with(kOfTheSystem)) {
        return system_error(errno);
      }
    }
    return {};
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

  DiskResult<void> make_folder(const std::string& path) override {
    return check(mkdir(path.c_str(), 0700));
  }

  DiskResult<void> remove_folder(const std::string& path) override {
    return check(rmdir(path.c_str()));
  }

  DiskResult<int> lock_folder(const std::string& path) override {
    const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder < 0) return system_error(errno);
    auto locked = check(flock(folder, LOCK_EX | LOCK_NB));
    // Whoever had the lock until now may have removed the folder.
    struct stat mine, named;
    if (locked && (fstat(folder, &mine) != 0 || lstat(path.c_str(), &named) != 0 ||
                   mine.st_ino != named.st_ino || mine.st_dev != named.st_dev)) {
      locked = system_error(ENOENT);
    }
    if (locked) return folder;
    ::close(folder);
    return tl::unexpected(locked.error());
  }
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

}  // namespace refit
