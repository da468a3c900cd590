// The disk as an interface, so that failures and interruptions are tested with a twin in memory.
// Entry points: real_disk, read_file. Files are replaced by text/change_set.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace refit {

struct DiskError {
  enum class Kind {
    missing,    // no such file or folder
    exists,     // there already is one
    too_large,  // longer than the caller's limit
    busy,       // another process has it locked
    other,
  };
  Kind kind = Kind::other;
  std::string message;  // the system's words, e.g. "Permission denied"
};

template <typename T>
using DiskResult = tl::expected<T, DiskError>;

struct FileStatus {
  enum class Kind { regular, folder, other };  // a symbolic link is `other`
  Kind kind = Kind::other;
  uint32_t mode = 0;  // permission bits, 07777
  uint32_t user = 0, group = 0;
  uint64_t names = 1;  // hard links
};

// Extended attributes by name, access control lists among them.
using Attributes = std::map<std::string, std::string>;

// The system calls that reading and replacing a file take, one by one. Handles are what create()
// and lock_folder() returned, until close().
class Disk {
 public:
  virtual ~Disk() = default;

  // A regular file's bytes; fails as too_large, unread, where there are more than `limit`.
  virtual DiskResult<std::string> read(const std::string& path, uint64_t limit) = 0;
  // The path without symbolic links.
  virtual DiskResult<std::string> resolve(const std::string& path) = 0;
  virtual DiskResult<FileStatus> status(const std::string& path) = 0;
  virtual DiskResult<Attributes> attributes(const std::string& path) = 0;
  // Whether this process may write to the file, or make and rename files in the folder.
  virtual DiskResult<void> check_writable(const std::string& path) = 0;
  virtual uint32_t user() const = 0;  // whom the process acts for

  virtual DiskResult<int> create(const std::string& path) = 0;  // new, empty, mode 0600
  virtual DiskResult<void> write(int handle, std::string_view bytes) = 0;
  virtual DiskResult<void> set_owner(int handle, uint32_t user, uint32_t group) = 0;
  // Gives the file these attributes and no others. What only the system itself may set
  // ("security.*") is left to it.
  virtual DiskResult<void> set_attributes(int handle, const Attributes& attributes) = 0;
  virtual DiskResult<void> set_mode(int handle, uint32_t mode) = 0;
  virtual DiskResult<void> sync(int handle) = 0;
  virtual DiskResult<void> close(int handle) = 0;  // the handle is gone even when this fails

  virtual DiskResult<void> rename(const std::string& from, const std::string& to) = 0;
  virtual DiskResult<void> remove(const std::string& path) = 0;

  virtual DiskResult<void> make_folder(const std::string& path) = 0;  // mode 0700
  virtual DiskResult<void> sync_folder(const std::string& path) = 0;
  virtual DiskResult<void> remove_folder(const std::string& path) = 0;  // an empty one
  // A lock that ends with the handle, and so with the process; fails as busy where another holds
  // it.
  virtual DiskResult<int> lock_folder(const std::string& path) = 0;
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

}  // namespace refit
