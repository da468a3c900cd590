// Planning of one unit: every site of every rule, with the change that rewrites it or the reason
// why it stays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "rewriter/language/frontend.hpp"
#include "rewriter/plan/compiled.hpp"
#include "rewriter/plan/engine.hpp"
#include "rewriter/plan/finding.hpp"

namespace refit {

struct PlannedSite {
  Finding finding;
  ByteRange range;
  bool rewritten = false;
  Change change;                            // when rewritten
  std::set<ValueId> interior;               // values that the site accounts for
  std::map<std::string, ValueId> operands;  // of a computation: what its pattern's holes are
  bool definition = false;                  // the site is what its function computes
  ValueId root = kNone;
  bool shares = false;         // refused because a part of it is read elsewhere
  bool takes = false;          // that part is one that the new call would take over
  std::vector<ValueId> kept;   // of a recognised computation: what the new text reads
  std::string function;        // qualified name of that function
  uint32_t site_function = 0;  // its number in the unit
};

struct UnitPlan {
  std::vector<PlannedSite> sites;
  std::vector<uint32_t> idle;  // lines of `refit: ignore` that keep no site
};

class Planner {
 public:
  Planner(const CompiledRules& rules, const Catalogue& catalogue, const EngineOptions& options)
      : rules_(rules), catalogue_(&catalogue), options_(options) {}

  // Names that some file of the run assigns to as an attribute (`F.sdpa = mine`), and where.
  void set_patched(std::map<std::string, std::string, std::less<>> patched) {
    patched_ = std::move(patched);
  }
  // The texts that `not_in_tree` clauses ask for and that some file contains.
  void set_words(std::set<std::string, std::less<>> words) { words_ = std::move(words); }
  // `frontend`: that of the unit's language. `enabled`: by rule, whether the prefilter lets it
  // match in this file.
  UnitPlan plan(const Unit& unit, const Frontend& frontend, const std::vector<bool>& enabled,
                const FileSettings& settings) const;
  // The patterns that something on a line comes nearest to, nearest first.
  std::vector<NearMiss> near_misses(const Unit& unit, const Frontend& frontend,
                                    uint32_t line) const;

 private:
  friend class SitePlanner;
  // Refuses what was not chosen, and what comments of the unit keep.
  void keep_back(const Unit& unit, const Frontend& frontend, UnitPlan& plan) const;
  const CompiledRules& rules_;
  std::map<std::string, std::string, std::less<>> patched_;
  std::set<std::string, std::less<>> words_;
  const Catalogue* catalogue_;
  const EngineOptions& options_;
};

// Whether evaluating the value itself does more than give it.
bool has_effect(const Graph& graph, ValueId id);

// Whether the function gives this value, possibly through joins, casts and concatenations.
bool is_result(const Graph& graph, ValueId id);

}  // namespace refit
