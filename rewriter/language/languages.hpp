// The languages of a run: who reads rules, and who reads sources. The command chooses them
// (cli/languages.hpp); the engine asks for a front end when the first file needs it.
#pragma once

#include <memory>

#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/language/frontend.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/project/language.hpp"

namespace refit {

class Languages {
 public:
  virtual ~Languages() = default;
  // Reads patterns and rewrites. `isomorphisms` may be null, and outlives what is returned, as the
  // catalogue does.
  virtual std::unique_ptr<RuleLanguage> rules(const Catalogue& catalogue,
                                              const Isomorphisms* isomorphisms) const = 0;
  // Reads the sources of one language among the files of a project; the references outlive it.
  virtual std::unique_ptr<Frontend> frontend(Language language, const Input& input,
                                             const Catalogue& catalogue,
                                             const Isomorphisms& isomorphisms) const = 0;
};

}  // namespace refit
