// Unified diffs as git writes and `git apply` reads them. Entry point: unified_diff.
#pragma once

#include <string>
#include <string_view>

#include "rewriter/text/expected.hpp"

namespace refit {

// The diff of one file from `before` to `after` (bytes in the file's own encoding), with three
// lines of context; empty where they are equal. `path` is relative to the folder where the diff is
// to be applied, '/' separated. `colour` adds terminal escapes as git does; such a diff is for eyes
// only. Fails only where memory does, or beyond 1 GiB.
Expected<std::string> unified_diff(const std::string& path, std::string_view before,
                                   std::string_view after, bool colour);

}  // namespace refit
