// Internal: functions that change nothing of what they are given, told from their text.
#pragma once

#include <functional>
#include <string_view>

#include "rewriter/python/syntax/syntax.hpp"
#include "rewriter/rule/catalogue.hpp"

namespace refit::python {

// Whether a function only binds names of its own to what it computes from its parameters by
// arithmetic, pure operations of the catalogue that are written as methods, and Python's functions
// of numbers and sequences: no store, no call of anything else. `source` is the file's text;
// `bound` says whether its module may give a name a meaning of its own.
bool only_reads(TSNode function, std::string_view source, const Catalogue& catalogue,
                const std::function<bool(std::string_view name)>& bound);

}  // namespace refit::python
