// Planning of one unit: every site of every rule, with the change that rewrites it or the reason
// why it stays.
#pragma once

#include <string>
#include <vector>

#include "rewriter/frontend/frontend.hpp"
#include "rewriter/plan/compiled.hpp"
#include "rewriter/plan/engine.hpp"
#include "rewriter/plan/finding.hpp"

namespace refit {

struct PlannedSite {
  Finding finding;
  ByteRange range;
  bool rewritten = false;
  Change change;                      // when rewritten
  std::set<graph::ValueId> interior;  // values that the site accounts for
  bool definition = false;            // the site is what its function computes
  std::string function;               // qualified name of that function
};

struct UnitPlan {
  std::vector<PlannedSite> sites;
};

class Planner {
 public:
  Planner(const CompiledRules& rules, const Catalogue& catalogue, const Frontend& frontend,
          const EngineOptions& options)
      : rules_(rules), catalogue_(&catalogue), frontend_(frontend), options_(options) {}

  // `enabled`: by rule, whether the prefilter lets it match in this file.
  UnitPlan plan(const Unit& unit, const std::vector<bool>& enabled) const;

 private:
  friend class SitePlanner;
  const CompiledRules& rules_;
  const Catalogue* catalogue_;
  const Frontend& frontend_;
  const EngineOptions& options_;
};

// The statements that only serve values which a change no longer needs.
// `root` is replaced and reads only `kept`; `gone` values are replaced by text and read nothing.
std::vector<graph::StatementId> dead_statements(const graph::Graph& graph, graph::ValueId root,
                                                const std::vector<graph::ValueId>& kept,
                                                const std::set<graph::ValueId>& gone);

}  // namespace refit
