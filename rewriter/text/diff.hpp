// Unified diffs as git writes and `git apply` reads them. Entry
// points: unified_diff, changed_lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"

namespace refit {

// The diff of one file from `before` to `after` (bytes in the file's own encoding), with three
// lines of context; empty where they are equal. `path` is relative to the folder where the diff is
// to be applied, '/' separated. `colour` adds terminal escapes as git does; such a diff is for eyes
// only. Fails only where memory does, or beyond 1 GiB.
Expected<std::string> unified_diff(const std::string& path, std::string_view before,
                                   std::string_view after, bool colour);

// Lines of a text, counted from 0, in whose place other text stands in a later one.
struct LineChange {
  uint32_t first = 0, count = 0;  // count 0: the text is inserted in front of line `first`
  std::string text;               // whole lines
};

// What changed between two texts, by ascending line. A line ends in "\n". Fails as unified_diff.
Expected<std::vector<LineChange>> changed_lines(std::string_view before, std::string_view after);

}  // namespace refit
