// What a run works on: the root of the repository and the files that may be rewritten. Made by
// discover() (project/discover.hpp), read by the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace refit {

struct InputFile {
  std::string path;      // where to read it
  std::string relative;  // name in the report, '/' separated, relative to the root
  // What the file is taken to hold, as bytes in its own encoding; null: what it holds on disk.
  std::shared_ptr<const std::string> bytes = {};
};

struct Input {
  std::string root;              // the repository's root: names in the report are relative to it
  std::vector<InputFile> files;  // the files that may be rewritten, by ascending `relative`
  // Folders, relative to the root ("" for the root itself), from which absolute module names
  // resolve: the root, the PATHs given, and the parent of every outermost package, so that
  // src/wan/attention.py is wan.attention as well as src.wan.attention. Sorted; never empty after
  // discover().
  std::vector<std::string> module_roots;
  std::string git_folder = {};  // git's own folder of the work tree; "" where it is none
};

}  // namespace refit
