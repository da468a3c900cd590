// Comments of a source file that keep sites as they are: `refit: ignore`. Entry point: remarks_of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/plan/finding.hpp"

namespace refit {

struct Remark {
  uint32_t line = 0;               // of the comment
  uint32_t first = 0, last = 0;    // lines that it speaks of
  std::vector<std::string> rules;  // ids or globs of them; empty: every rule

  bool covers(const Finding& finding) const;
};

// `refit: ignore`, `refit: ignore[rule, …]`: behind code it speaks of that line, on a line of its
// own of the next line with code; where a function begins on that line, of all of the function.
// `refit: ignore-file`, with or without rules, speaks of the whole file.
std::vector<Remark> remarks_of(const Unit& unit, const Frontend& frontend);

}  // namespace refit
