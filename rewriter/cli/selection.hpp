// Which of the sites that rules find a run is to rewrite and to show. Entry point: Selection.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriter/cli/options.hpp"
#include "rewriter/plan/finding.hpp"
#include "rewriter/project/input.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

// Sites as the text of a file that --choose and --baseline read: JSON, by place.
std::string sites_text(const std::vector<Finding>& findings);

// What --site, --choose, --baseline and --since say. Fingerprints name the sites. Which may be
// rewritten is known once all have been found, in a run of its own.
class Selection {
 public:
  // Fails where a file cannot be read or is not what sites_text writes.
  static Expected<Selection> read(const MigrateOptions& options);

  bool all() const { return !named_ && !baseline_ && !since_; }
  // Of all sites those that may be rewritten and shown. A named call whose definition is rewritten
  // stands for the definition, too. Fails where a named site is not there, and where git cannot say
  // what changed.
  Expected<std::set<std::string>> among(const std::vector<Finding>& findings,
                                        const Input& input) const;

  // Leaves of the result what was chosen, and says in a note how much was not.
  static void leave(RunResult& result, const std::set<std::string>& shown);

 private:
  std::optional<std::string> missing(const std::vector<Finding>& findings) const;

  std::optional<std::set<std::string>> named_, baseline_;
  std::optional<std::string> since_;
};

}  // namespace refit
