// Which files a run works on: the source files under the PATHs given, as git sees them where there
// is a git work tree. Entry point: discover.
#pragma once

#include <string>
#include <vector>

#include "rewriter/project/input.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct DiscoveryOptions {
  // Globs (project/glob.hpp) on paths relative to the root. A file is taken if it matches one of
  // `include`, or there is none, and none of `exclude`.
  std::vector<std::string> include, exclude;
};

struct DiscoveryProblem {
  std::string file;  // relative to the root
  std::string message;
};

struct Discovery {
  Input input;
  std::vector<DiscoveryProblem> problems;  // folders that could not be read
  std::vector<std::string> notes;          // links not followed, repositories not entered …
};

struct DiscoveryFailure {
  bool usage = false;  // the paths make no sense together; else one of them cannot be read
  std::string message;
};

// Lists every source file (project/language.hpp) that each path is or holds.
//  - In a git work tree: tracked files and those untracked that no ignore file excludes; the root
//  is
//    the work tree's top. Submodules and other repositories inside are named in a note.
//  - Elsewhere, and where git ignores the path itself: the folder as it lies, without `.git` and
//    `__pycache__`; the root is the path, or the folder that holds the outermost Python package
//    that the path is or lies in.
//  - A folder below a path that holds pyvenv.cfg is a virtual environment and left out.
//  - Symbolic links met on the way are not followed. What one inside the tree leads to is found by
//    itself; one that leads out of it, nowhere, or to a folder above it is named in a note. A path
//    that is itself a link stands for what it leads to.
// Fails where a path cannot be read, is no source file, or the paths have different roots.
// The result does not depend on the order of the paths.
tl::expected<Discovery, DiscoveryFailure> discover(const std::vector<std::string>& paths,
                                                   const DiscoveryOptions& options);

}  // namespace refit
