// The disk as an interface, so that failures and interruptions are tested with a twin in memory,
// and the one way in which refit replaces a file. Entry points: real_disk, write_atomically.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rewriter/text/expected.hpp"

namespace refit {

struct DiskError {
  enum class Kind {
    missing,    // no such file or folder
    exists,     // there already is one
    too_large,  // longer than the caller's limit
    other,
  };
  Kind kind = Kind::other;
  std::string message;  // the system's words, e.g. "Permission denied"
};

template <typename T>
using DiskResult = tl::expected<T, DiskError>;

struct FileStatus {
  bool regular = false;
  uint32_t mode = 0;  // permission bits, 07777
  uint32_t user = 0, group = 0;
};

// The system calls that reading and replacing a file take, one by one. Handles are what create()
// returned, until close().
class Disk {
 public:
  virtual ~Disk() = default;

  // A regular file's bytes; fails as too_large, unread, where there are more than `limit`.
  virtual DiskResult<std::string> read(const std::string& path, uint64_t limit) = 0;
  // The path without symbolic links.
  virtual DiskResult<std::string> resolve(const std::string& path) = 0;
  virtual DiskResult<FileStatus> status(const std::string& path) = 0;
  virtual DiskResult<void> check_writable(const std::string& path) = 0;

  virtual DiskResult<int> create(const std::string& path) = 0;  // new, empty, mode 0600
  virtual DiskResult<void> write(int handle, std::string_view bytes) = 0;
  virtual DiskResult<void> set_owner(int handle, uint32_t user, uint32_t group) = 0;
  virtual DiskResult<void> set_mode(int handle, uint32_t mode) = 0;
  virtual DiskResult<void> sync(int handle) = 0;
  virtual DiskResult<void> close(int handle) = 0;  // the handle is gone even when this fails

  virtual DiskResult<void> rename(const std::string& from, const std::string& to) = 0;
  virtual DiskResult<void> sync_folder(const std::string& path) = 0;
  virtual DiskResult<void> remove(const std::string& path) = 0;
};

Disk& real_disk();

// Memory that files are read into, one after the other.
class ReadRoom {
 public:
  char* of(std::size_t size) {  // keeps what it holds
    if (size > size_) {
      const std::size_t larger = std::max(size, 2 * size_);
      auto room = std::make_unique_for_overwrite<char[]>(larger);
      std::copy_n(room_.get(), size_, room.get());
      room_ = std::move(room);
      size_ = larger;
    }
    return room_.get();
  }

 private:
  std::unique_ptr<char[]> room_;
  std::size_t size_ = 0;
};

// As real_disk().read, without memory of its own: the bytes are there until `room` is used again.
DiskResult<std::string_view> read_file(const std::string& path, uint64_t limit, ReadRoom& room);

// Replaces the content of the regular file `path`: the bytes go to a new file in the same folder,
// which takes over the mode and, where permitted, the owner, is synced and renamed over the old
// one. Where `path` is a symbolic link the file it leads to is replaced and the link stays. At any
// moment, and after any failure, the file is wholly old or wholly new; after an error it is old,
// except when only the last sync of the folder failed, which the message says.
// `expected` is the content that the new bytes were made from: a file that someone changed in the
// meantime is left alone.
Expected<void> write_atomically(Disk& disk, const std::string& path, std::string_view bytes,
                                std::string_view expected);

}  // namespace refit
