// The flags that a compile_commands.json gives a file, as far as they say how the file reads.
// Whoever wrote that file may be a stranger, so a flag passes only if it is known to do nothing
// else.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace refit::cpp {

class CompileCommands {
 public:
  // Of the folder's compile_commands.json. Where that is not there, is no regular file or cannot be
  // read, no file has flags.
  explicit CompileCommands(const std::string& folder);
  ~CompileCommands();
  CompileCommands(const CompileCommands&) = delete;
  CompileCommands& operator=(const CompileCommands&) = delete;

  // The flags of the file's command, or of one like it, its folder first (-working-directory); none
  // where no command is like it, or where the flags name no folder of libtorch's headers. What
  // passes: folders of headers that are there, -D, -U, -include of regular files, -std, -nostdinc,
  // exceptions, run-time types, OpenMP, threads and the machine (-m…).
  std::vector<std::string> of(const std::string& path) const;

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

}  // namespace refit::cpp
