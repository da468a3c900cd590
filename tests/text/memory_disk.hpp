// The disk's twin in memory: keeps apart what was written from what was synced, fails or dies at a
// chosen operation, and can lose its power. Entry point: MemoryDisk.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/text/disk.hpp"

namespace refit {

struct Killed {};  // thrown where the process is to die; nothing of the code under test runs after

class MemoryDisk final : public Disk {
 public:
  struct File {
    std::string bytes, synced;  // what processes see, and what a power cut leaves
    uint32_t mode = 0644, user = 1000, group = 1000;
    uint64_t names = 1;
    Attributes attributes;
    bool writable = true;
  };

  // What processes see by name, and which of it a power cut leaves.
  std::map<std::string, File> files;
  std::map<std::string, File> durable;
  std::map<std::string, std::string> links;
  std::set<std::string> folders{"/tree"};
  std::vector<std::string> log;  // the operations, in order

  enum class Fault { none, error, kill };
  Fault fault = Fault::none;
  std::string fault_operation;  // the operation that fails, by name; empty: the one of this number
  std::size_t fault_number = 0;
  // Called before each operation, to change the world behind the code's back.
  std::vector<std::pair<std::string, std::function<void()>>> before;

  void put(const std::string& path, std::string bytes) {
    File file;
    file.bytes = file.synced = std::move(bytes);
    files[path] = durable[path] = file;
  }
  void cut_power() {
    files = durable;
    for (auto& [path, file] : files) file.bytes = file.synced;
    open_.clear();
  }

  DiskResult<std::string> read(const std::string& path, uint64_t limit) override {
    if (auto ok = step("read " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    const auto at = files.find(path);
    if (at == files.end()) return missing();
    if (at->second.bytes.size() > limit) {
      return tl::unexpected<DiskError>(DiskError{DiskError::Kind::too_large, "Too long"});
    }
    return at->second.bytes;
  }
  DiskResult<std::string> resolve(const std::string& path) override {
    if (auto ok = step("resolve " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    const auto link = links.find(path);
    std::string target = link == links.end() ? path : link->second;
    if (!files.contains(target)) return missing();
    return target;
  }
  DiskResult<FileStatus> status(const std::string& path) override {
    if (auto ok = step("status " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    if (folders.contains(path)) {
      return FileStatus{FileStatus::Kind::folder, 0700, user(), user(), 1};
    }
    const auto at = files.find(path);
    if (at == files.end()) return missing();
    const File& file = at->second;
    return FileStatus{FileStatus::Kind::regular, file.mode, file.user, file.group, file.names};
  }
  DiskResult<Attributes> attributes(const std::string& path) override {
    if (auto ok = step("attributes " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    return files.at(path).attributes;
  }
  uint32_t user() const override { return 1000; }
  DiskResult<void> check_writable(const std::string& path) override {
    if (auto ok = step("check_writable " + path); !ok) return ok;
    const auto at = files.find(path);
    if (at != files.end() && !at->second.writable) return error("Permission denied");
    return {};
  }
  DiskResult<int> create(const std::string& path) override {
    if (auto ok = step("create " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    if (files.contains(path)) {
      return tl::unexpected<DiskError>(DiskError{DiskError::Kind::exists, "File exists"});
    }
    File file;
    file.mode = 0600;
    files[path] = file;
    open_[next_] = path;
    return next_++;
  }
  DiskResult<void> write(int handle, std::string_view bytes) override {
    File& file = files.at(open_.at(handle));
    // A write that fails or dies has written a part.
    file.bytes += bytes.substr(0, bytes.size() / 2);
    if (auto ok = step("write"); !ok) return ok;
    file.bytes += bytes.substr(bytes.size() / 2);
    return {};
  }
  DiskResult<void> set_owner(int handle, uint32_t user, uint32_t group) override {
    if (auto ok = step("set_owner"); !ok) return ok;
    File& file = files.at(open_.at(handle));
    file.user = user;
    file.group = group;
    return {};
  }
  DiskResult<void> set_attributes(int handle, const Attributes& attributes) override {
    if (auto ok = step("set_attributes"); !ok) return ok;
    files.at(open_.at(handle)).attributes = attributes;
    return {};
  }
  DiskResult<void> set_mode(int handle, uint32_t mode) override {
    if (auto ok = step("set_mode"); !ok) return ok;
    files.at(open_.at(handle)).mode = mode;
    return {};
  }
  DiskResult<void> sync(int handle) override {
    if (auto ok = step("sync"); !ok) return ok;
    File& file = files.at(open_.at(handle));
    file.synced = file.bytes;
    return {};
  }
  DiskResult<void> close(int handle) override {
    if (locks_.erase(handle) != 0) return {};  // a process that dies gives its lock back too
    open_.erase(handle);
    return step("close");
  }
  DiskResult<void> rename(const std::string& from, const std::string& to) override {
    if (auto ok = step("rename " + to); !ok) return ok;
    if (!files.contains(from)) return missing();
    files[to] = files.at(from);
    files.erase(from);
    // The worst case: the new name reaches the disk at once, the content only if it was synced.
    durable[to] = files[to];
    durable.erase(from);
    return {};
  }
  DiskResult<void> sync_folder(const std::string& path) override {
    if (auto ok = step("sync_folder " + path); !ok) return ok;
    // What was made or removed there stays so after a power cut.
    const std::string prefix = path.ends_with('/') ? path : path + "/";
    const auto there = [&](const auto& entry) {
      return entry.first.starts_with(prefix) &&
             entry.first.find('/', prefix.size()) == std::string::npos;
    };
    std::erase_if(durable, there);
    for (const auto& entry : files) {
      if (there(entry)) durable.insert(entry);
    }
    return {};
  }
  DiskResult<void> make_folder(const std::string& path) override {
    if (auto ok = step("make_folder " + path); !ok) return ok;
    if (!folders.insert(path).second) {
      return tl::unexpected<DiskError>(DiskError{DiskError::Kind::exists, "File exists"});
    }
    return {};
  }
  DiskResult<void> remove_folder(const std::string& path) override {
    if (auto ok = step("remove_folder " + path); !ok) return ok;
    for (const auto& [name, file] : files) {
      if (name.starts_with(path + "/")) return error("Directory not empty");
    }
    folders.erase(path);
    return {};
  }
  DiskResult<int> lock_folder(const std::string& path) override {
    if (auto ok = step("lock_folder " + path); !ok) return tl::unexpected<DiskError>(ok.error());
    if (!folders.contains(path)) return missing();
    locks_.insert(next_);
    return next_++;
  }
  DiskResult<void> remove(const std::string& path) override {
    if (auto ok = step("remove " + path); !ok) return ok;
    if (files.erase(path) == 0) return missing();
    return {};
  }

 private:
  static tl::unexpected<DiskError> error(std::string message) {
    return tl::unexpected<DiskError>(DiskError{DiskError::Kind::other, std::move(message)});
  }
  static tl::unexpected<DiskError> missing() {
    return tl::unexpected<DiskError>(
        DiskError{DiskError::Kind::missing, "No such file or directory"});
  }
  DiskResult<void> step(const std::string& operation) {
    const std::size_t number = log.size();
    log.push_back(operation);
    for (const auto& [name, action] : before) {
      if (operation.starts_with(name)) action();
    }
    const bool here =
        fault_operation.empty() ? number == fault_number : operation.starts_with(fault_operation);
    if (fault == Fault::kill && here) throw Killed{};
    if (fault == Fault::error && here) return error("No space left on device");
    return {};
  }

  std::map<int, std::string> open_;
  std::set<int> locks_;
  int next_ = 3;
};

}  // namespace refit
