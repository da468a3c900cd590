// A rule from an example: what a function computes before and after somebody rewrote it by hand.
// The values of both are compared; what differs becomes the rule's pattern and its rewrite, the
// function's parameters become holes, and literals stay. Entry points: draft_rule,
// same_computations.
#pragma once

#include <string>
#include <vector>

#include "rewriter/language/languages.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/rule/catalogue.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

struct Draft {
  std::string function;                // in which the difference is
  std::string pattern;                 // one `return` statement, with $holes
  std::string rewrite;                 // a call, with $holes
  std::string callee;                  // that it calls
  std::vector<std::string> holes;      // names, in the order of the pattern
  std::vector<std::string> constants;  // literals that stay, as the pattern writes them
  // One list for each operation that has a name: the words of which one stands where it is called.
  std::vector<std::vector<std::string>> triggers;
};

// Each input is one Python file, under the same relative name. Fails where the files do not differ
// in one computation, which one call replaces, or where a rule cannot say what is computed.
Expected<Draft> draft_rule(const Languages& languages, const Catalogue& catalogue,
                           const Input& before, const Input& after);

// Whether the functions of two such files return the same, as far as their values show.
Expected<bool> same_computations(const Languages& languages, const Catalogue& catalogue,
                                 const Input& one, const Input& other);

}  // namespace refit
