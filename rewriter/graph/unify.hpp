// Patterns against the value graph: does this value compute what the pattern says, and what do the
// pattern's holes stand for then.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

struct Bindings {
  std::map<std::string, ValueId, std::less<>> holes;
  std::set<ValueId> interior;   // values that the pattern itself accounts for
  bool stored_between = false;  // a hole met a value before and after a write to its storage
};

// Matches `pattern` rooted at `root` against `subject` at `at`. On success `bindings` holds the
// holes; on failure it is as it was. Commutative operations are tried both ways; the search is
// bounded, and `*bounded` is set when the bound stopped it.
bool match_value(const Graph& pattern, ValueId root, const Graph& subject, ValueId at,
                 Bindings& bindings, bool* bounded = nullptr);

}  // namespace refit
