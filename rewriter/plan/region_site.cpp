// Planning of a recognised computation: pattern, alternatives, what dies with it. Entry point:
// SitePlanner::region_site.
#include "rewriter/plan/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"

namespace refit {

SiteView SitePlanner::region_view(ValueId root, const Bindings& bindings) const {
  SiteView view = view_of(root, nullptr);
  view.argument = [&bindings](const std::string& name) {
    Argument a;
    auto found = bindings.holes.find(name);
    if (found != bindings.holes.end()) {
      a.known = true;
      a.value = found->second;
    }
    return a;
  };
  return view;
}

std::optional<PlannedSite> SitePlanner::region_site(const CompiledRule& rule, ValueId id) {
  std::optional<PlannedSite> best;
  for (const CompiledPattern& pattern : rule.patterns) {
    const Value& want = pattern.graph[pattern.root];
    const Value& have = g_[id];
    if (want.kind != have.kind || want.op != have.op) continue;
    Bindings bindings;
    if (!match_value(pattern.graph, pattern.root, g_, id, bindings)) continue;
    std::map<std::string, std::string> set = pattern.source->set;
    Change change;
    change.rule = rule.rule->id;
    change.function = function_;
    change.root = id;
    PlannedSite site = new_site(rule, id);
    site.interior = bindings.interior;
    if (!choices(rule, bindings, set, change, site)) continue;
    if (g_[id].inlined && std::none_of(site.interior.begin(), site.interior.end(), [&](ValueId v) {
          return !g_[v].inlined && g_[v].range.size() != 0;
        })) {
      continue;  // all of it stands in the helper, which is rewritten itself
    }
    if (!applies(pattern, bindings, change) || overridden(site)) continue;
    finish_region(rule, pattern, bindings, set, change, site);
    auto rank = [](const PlannedSite& s) { return std::pair(s.rewritten, s.interior.size()); };
    if (!best || rank(site) > rank(*best)) best = std::move(site);
  }
  return best;
}

// A private method that is part of it may be another one in a class of another file.
bool SitePlanner::overridden(const PlannedSite& site) const {
  return std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId id) {
    auto seen = g_.methods_seen.find(id);
    return seen != g_.methods_seen.end() && frontend_.subclassed(unit_, seen->second);
  });
}

// Whether the clauses of an alternative hold for what it bound.
bool SitePlanner::chosen(const CompiledPattern& alternative, const Bindings& bindings,
                         const Change& change) const {
  return clauses_hold(alternative, bindings, change, false);
}

// A clause of a pattern without a code of its own says which sites are meant at all.
bool SitePlanner::applies(const CompiledPattern& pattern, const Bindings& bindings,
                          const Change& change) const {
  return clauses_hold(pattern, bindings, change, true);
}

bool SitePlanner::clauses_hold(const CompiledPattern& alternative, const Bindings& bindings,
                               const Change& change, bool without_code) const {
  if (alternative.source->where.empty()) return true;
  SiteView view = view_of(change.root, nullptr);
  view.argument = [&](const std::string& name) {
    Argument a;
    auto found = bindings.holes.find(name);
    if (found == bindings.holes.end()) return a;
    a.known = true;
    a.value = found->second;
    return a;
  };
  return std::all_of(alternative.source->where.begin(), alternative.source->where.end(),
                     [&](const Where& clause) {
                       return (without_code && !clause.code.empty()) || holds(clause, view);
                     });
}

namespace {

// The holes of a rule that its call is made of: those in the texts, and those with choices.
std::set<std::string> holes_used(const CompiledRule& rule) {
  std::set<std::string> out;
  auto take = [&](std::string_view text) {
    for (std::string& hole : holes_in(text)) out.insert(std::move(hole));
  };
  auto take_set = [&](const std::vector<CompiledPattern>& patterns) {
    for (const CompiledPattern& p : patterns) {
      for (const auto& [name, text] : p.source->set) take(text);
    }
  };
  for (const CompiledRewrite& rewrite : rule.rewrites) {
    for (const auto& [keyword, text] : rewrite.with.arguments) take(text);
  }
  take_set(rule.patterns);
  for (const auto& [hole, alternatives] : rule.choices) {
    out.insert(hole);
    take_set(alternatives);
  }
  return out;
}

// What an alternative gives to the call: its holes among those used, and what it sets.
std::set<std::string> given_by(const CompiledPattern& alternative,
                               const std::set<std::string>& used) {
  std::set<std::string> out;
  for (const Value& v : alternative.graph.values) {
    if (v.kind == Kind::hole && used.contains(v.text)) out.insert(v.text);
  }
  for (const auto& [name, text] : alternative.source->set) out.insert("set " + name);
  return out;
}

}  // namespace

bool SitePlanner::choices(const CompiledRule& rule, Bindings& bindings,
                          std::map<std::string, std::string>& set, Change& change,
                          PlannedSite& site) {
  for (const auto& [hole, alternatives] : rule.choices) {
    auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end()) continue;
    std::vector<ValueId> leaves, work{bound->second};
    auto whole = [&](ValueId at) {
      Bindings trial = bindings;
      return std::any_of(alternatives.begin(), alternatives.end(), [&](const CompiledPattern& a) {
        return a.graph[a.root].kind == Kind::phi && match_value(a.graph, a.root, g_, at, trial);
      });
    };
    while (!work.empty()) {
      ValueId at = work.back();
      work.pop_back();
      if (g_[at].kind == Kind::phi && !whole(at)) {
        site.interior.insert(at);
        work.push_back(g_[at].operands[2]);
        work.push_back(g_[at].operands[1]);
      } else {
        leaves.push_back(at);
      }
    }
    // What one branch gives to the call and another does not is not what the call is made of:
    // `if hidden: s = s.masked_fill(m, -inf)` has a mask on one side alone.
    const auto used = leaves.size() > 1 ? holes_used(rule) : std::set<std::string>();
    std::optional<std::set<std::string>> given;
    for (ValueId leaf : leaves) {
      bool matched = false;
      for (const CompiledPattern& alternative : alternatives) {
        Bindings trial = bindings;
        if (!match_value(alternative.graph, alternative.root, g_, leaf, trial)) continue;
        if (!chosen(alternative, trial, change)) continue;
        if (leaves.size() > 1) {
          auto own = given_by(alternative, used);
          if (given && *given != own) return false;
          given = std::move(own);
        }
        bindings = std::move(trial);
        matched = true;
        for (const auto& [name, text] : alternative.source->set) {
          if (leaves.size() == 1) {
            set[name] = text;
            continue;
          }
          // Each branch says its own: the statement that computed the leaf now names the choice.
          StatementId home = g_[leaf].statement;
          if (home == kNone || g_.statements[home].definitions.size() != 1 ||
              alternative.source->set.size() != 1 || text.find('$') != std::string::npos) {
            return false;
          }
          auto restated = frontend_.assignment(name, text);
          if (!restated) return false;
          change.restated.emplace_back(home, std::move(*restated));
          set[name] = name;
          if (g_.name_index(name)) return false;  // the name is taken
        }
        break;
      }
      if (!matched) return false;
    }
    site.interior.insert(bindings.interior.begin(), bindings.interior.end());
    bindings.holes.erase(hole);
  }
  return true;
}

void SitePlanner::finish_region(const CompiledRule& rule, const CompiledPattern& pattern,
                                const Bindings& bindings,
                                const std::map<std::string, std::string>& set, Change& change,
                                PlannedSite& site) {
  SiteView view = region_view(change.root, bindings);
  for (const auto* clauses : {&rule.rule->where, &pattern.source->where}) {
    for (const Where& clause : *clauses) {
      if (!allowed(clause, view, site.finding.assumes)) {
        refuse(site, clause, view);
        return;
      }
    }
  }
  if (g_.in_place.contains(change.root)) {
    refuse(
        site, "effect-between",
        "the result is written where an operand lies; write `x = x * y` for `x *= y` where nobody "
        "else reads that storage");
    return;
  }
  if (rule.rule->attention && read_dense(change.root)) {
    refuse(
        site, rule.rule->shared,
        "its result is read by `.view`, which needs it dense, and the runtime's has the strides of "
        "the query; use `.reshape`");
    return;
  }
  const CompiledRewrite* rewrite = choose(rule, view, site.finding.assumes, site);
  if (rewrite == nullptr) return;
  change.callee = rewrite->with.callee;
  std::vector<ValueId> kept;
  for (const auto& [keyword, text] : rewrite->with.arguments) {
    for (const std::string& hole : holes_in(text)) {
      auto given = set.find(hole);
      for (const std::string& name :
           given == set.end() ? std::vector<std::string>{hole} : holes_in(given->second)) {
        auto found = bindings.holes.find(name);
        if (found != bindings.holes.end()) kept.push_back(found->second);
      }
    }
  }
  if (!rule.rule->attention && !kept.empty() && may_be_made_dense(g_, change.root, kept.front()) &&
      !made_dense(g_, kept.front()) && read_dense(change.root)) {
    refuse(site, "result-strides",
           "its result is read by `.view`, which needs it dense, and the runtime's has the strides "
           "of its operand; use `.reshape`");
    return;
  }
  if (g_[change.root].inlined && loses_effects(change.root, site, kept)) {
    refuse(
        site, "argument-effect",
        "an argument of the helper has an effect that the new call would lose; compute it first");
    return;
  }
  if (reorders_effects(change.root, kept)) {
    refuse(site, "argument-effect",
           "the new call would evaluate its operands in another order, and more than one of them "
           "does something; compute them first");
    return;
  }
  if (disturbed(rule, site, kept)) return;
  if (bindings.stored_between) {
    refuse(site, "effect-between", "a write between its parts changes what they read");
    return;
  }
  if (cast_elsewhere(change.root, site)) {
    refuse(site, "autocast",
           "its parts stand in different regions of autocast, so what is cast there would not be "
           "cast here; write them in one");
    return;
  }
  std::set<ValueId> gone;
  for (const auto& [statement, text] : change.restated) {
    for (graph::DefinitionId d : g_.statements[statement].definitions) {
      gone.insert(g_.definitions[d].value);
    }
  }
  site.kept = kept;
  const Replaced replaced{change.root, kept, std::move(gone), accounted(site), along_};
  change.dead = reads().dead_statements(replaced);
  std::set<StatementId> dead(change.dead.begin(), change.dead.end());
  for (const auto& [statement, text] : change.restated) dead.erase(statement);
  drop_parents_of_restated(change, dead);
  change.dead.assign(dead.begin(), dead.end());
  if (still_read(site, replaced, dead)) {
    site.shares = true;
    refuse(site, rule.rule->shared,
           "a part of it is read elsewhere too, so it would be computed twice; let the other "
           "reader compute its own");
    return;
  }
  StatementId home = g_[change.root].statement;
  // A store into a tensor that nobody else sees is its last definition and nothing more.
  bool only_defines = g_[change.root].kind == Kind::update && g_.statements[home].pure;
  if (g_.made_by_statement(change.root) && !only_defines && !dead.contains(home)) {
    refuse(site, "shared-value",
           "a part of it is read elsewhere, so the statement that makes it cannot be replaced");
    return;
  }
  bool skipped = false;
  for (size_t position = 0; position < rewrite->with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite->with.arguments[position];
    NewArgument argument;
    argument.keyword = keyword;
    bool missing = false;
    std::optional<ByteRange> copied;
    auto filled = argument_text(text, bindings, set, change.root, dead, &missing, &copied);
    if (!filled && missing) {  // this alternative of the pattern has no such part
      skipped = true;
      continue;
    }
    if (!filled) {
      refuse(site, "not-spellable",
             "a part of it has no name that the new call could use at its place; give it one");
      return;
    }
    argument.text = *filled;
    if (copied && holes_in(text).size() == 1 && text == "$" + holes_in(text)[0]) {
      argument.copies = {{0, *copied}};
    }
    if (skipped && argument.keyword.empty())
      argument.keyword = target_name(change.callee, position);
    // What the callee takes anyway need not be said.
    auto fallback = target_default(target_operation(change.callee), argument.keyword, position);
    if (fallback && holes_in(text).size() == 1 && set.contains(holes_in(text)[0]) &&
        argument.text == frontend_.literal(*fallback)) {
      skipped = true;
      continue;
    }
    change.arguments.push_back(std::move(argument));
  }
  if (rule.rule->layout) {
    site.operands = {bindings.holes.begin(), bindings.holes.end()};
    for (const auto& [keyword, literal] : rule.rule->layout->otherwise) {
      NewArgument argument;
      argument.keyword = keyword;
      argument.text = spell_scalar(literal);
      change.arguments.push_back(std::move(argument));
    }
  }
  site.definition = is_result(g_, change.root);
  site.change = change;
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
}

std::optional<std::string> SitePlanner::argument_text(
    const std::string& text, const Bindings& bindings,
    const std::map<std::string, std::string>& set, ValueId root, const std::set<StatementId>& dead,
    bool* missing, std::optional<ByteRange>* copied) const {
  return frontend_.fill(text, [&](const std::string& hole, int*) -> std::optional<std::string> {
    auto given = set.find(hole);
    if (given != set.end() && given->second.find('$') == std::string::npos) return given->second;
    if (given != set.end()) {
      // Only a hole and nothing else is the source's own text.
      std::optional<ByteRange> inner;
      bool plain = given->second.find_first_not_of(
                       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", 1) ==
                   std::string::npos;
      auto filled = argument_text(given->second, bindings, {}, root, dead, missing, &inner);
      *copied = plain ? inner : std::nullopt;
      return filled;
    }
    auto found = bindings.holes.find(hole);
    if (found == bindings.holes.end()) {
      *missing = true;
      return std::nullopt;
    }
    *copied = frontend_.copied_from(unit_, function_, found->second, root);
    return frontend_.spell(unit_, function_, found->second, root, dead);
  });
}

std::set<ValueId> SitePlanner::accounted(const PlannedSite& site) const {
  std::set<ValueId> out;
  for (ValueId id : site.interior) {
    if (id != kNone && has_effect(g_, id)) out.insert(id);
  }
  return out;
}

bool SitePlanner::read_dense(ValueId value) const {
  return needs_dense(g_, value) ||
         (is_result(g_, value) && frontend_.result_viewed(unit_, unit_.functions[function_]));
}

bool SitePlanner::loses_effects(ValueId root, const PlannedSite& site,
                                const std::vector<ValueId>& kept) const {
  for (ValueId id = 0; id < g_.values.size(); ++id) {
    if (id == root || !has_effect(g_, id) || !g_[root].range.contains(g_[id].range) ||
        g_[id].range.size() == 0 || site.interior.contains(id)) {
      continue;
    }
    bool written = std::any_of(kept.begin(), kept.end(), [&](ValueId k) {
      return k != kNone && g_[k].range.contains(g_[id].range);
    });
    if (!written) return true;
  }
  return false;
}

bool SitePlanner::reorders_effects(ValueId root, const std::vector<ValueId>& kept) const {
  const ByteRange& whole = g_[root].range;
  const StatementId home = g_[root].statement;
  if (home == kNone || whole.size() == 0) return false;
  // A name that is bound inside the expression may be read by what is evaluated before it then.
  const auto& bound = g_.statements[home].definitions;
  if (std::any_of(bound.begin(), bound.end(), [&](graph::DefinitionId d) {
        const ByteRange& range = g_[g_.definitions[d].value].range;
        return !(range == whole) && range.size() != 0 && whole.contains(range);
      })) {
    return true;
  }
  size_t last = 0;  // place in `kept` of the last effect
  for (const auto& [statement, id] : reads().effects_of(home)) {
    const ByteRange& range = g_[id].range;
    if (range.size() == 0 || !whole.contains(range)) continue;
    auto written = std::find_if(kept.begin(), kept.end(), [&](ValueId k) {
      return k != kNone && k != root && g_[k].statement == home && g_[k].range.contains(range);
    });
    if (written == kept.end()) continue;
    const auto place = static_cast<size_t>(written - kept.begin());
    if (place < last) return true;
    last = place;
  }
  return false;
}

const Reads& SitePlanner::reads() const {
  if (!reads_) reads_ = std::make_unique<Reads>(g_);
  return *reads_;
}

bool SitePlanner::still_read(const PlannedSite& site, const Replaced& replaced,
                             const std::set<StatementId>& dead) const {
  const Reads::Rest rest = reads().without(replaced, dead);
  const std::vector<ValueId>& kept = replaced.kept;
  return std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId id) {
    if (id == replaced.root || !rest.needs(id)) return false;
    if (g_[id].kind == Kind::call) return true;
    if (g_[id].kind != Kind::op) return false;
    if (std::find(kept.begin(), kept.end(), id) != kept.end()) return false;
    AxisKind axes = g_[id].op->axes;
    return !g_[id].op->view && axes != AxisKind::cast && axes != AxisKind::query &&
           !reads().reach(kept, id);  // else it is part of the text of a kept value
  });
}

void SitePlanner::drop_parents_of_restated(const Change& change,
                                           std::set<StatementId>& dead) const {
  for (const auto& [statement, text] : change.restated) {
    for (StatementId p = g_.statements[statement].parent; p != kNone; p = g_.statements[p].parent) {
      dead.erase(p);
    }
  }
}

bool SitePlanner::cast_elsewhere(ValueId root, const PlannedSite& site) const {
  // The innermost statement around a value that sets how operations in it are cast.
  auto region = [&](ValueId id) {
    for (StatementId s = g_[id].statement; s != kNone; s = g_.statements[s].parent) {
      const graph::Statement& statement = g_.statements[s];
      if (statement.kind != graph::StatementKind::other) continue;
      bool sets = std::any_of(statement.uses.begin(), statement.uses.end(), [&](ValueId use) {
        return use != kNone && g_[use].kind == Kind::op && g_[use].op->autocast == Autocast::sets;
      });
      if (sets) return s;
    }
    return kNone;
  };
  return std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId id) {
    if (id == kNone || id == root) return false;
    const Value& v = g_[id];
    bool follows =
        v.kind == Kind::call || (v.kind == Kind::op && v.op->autocast == Autocast::follows);
    return follows && region(id) != region(root);
  });
}

// What stands between the parts of the computation may change what they read. A call that is handed
// one of them reads it for itself, too.
bool SitePlanner::disturbed(const CompiledRule& rule, PlannedSite& site,
                            const std::vector<ValueId>& kept) const {
  if (site.interior.empty()) return false;
  auto among_kept = [&](ValueId id) {
    return std::find(kept.begin(), kept.end(), id) != kept.end();
  };
  ValueId first = *site.interior.begin(), last = *site.interior.rbegin();
  for (ValueId id = first; id < last; ++id) {
    const Value& v = g_[id];
    if (site.interior.contains(id)) continue;
    bool writes = v.kind == Kind::update || (v.kind == Kind::op && v.op->in_place);
    bool calls = v.kind == Kind::call && !g_.instances.contains(id) && !g_.readers.contains(id);
    if (!writes && !calls) continue;
    std::string what = writes ? "a write" : "a call";
    if (std::string text = text_of_value(id); !text.empty()) what += ", " + text + ",";
    for (ValueId operand : v.operands) {
      if (operand == kNone) continue;
      bool part = site.interior.contains(operand);
      if (!part && !among_kept(operand)) continue;
      bool own = part && !among_kept(operand) && g_[operand].kind == Kind::op &&
                 !g_[operand].op->view && g_[operand].op->axes != AxisKind::cast;
      if (calls && own) {
        refuse(site, rule.rule->shared, what + " reads a part of it; let it compute its own");
      } else {
        refuse(site, "effect-between", what + " between its parts could change what they read");
      }
      return true;
    }
    // A method of the object whose attributes are read.
    for (ValueId k : kept) {
      if (k == kNone || g_[k].kind != Kind::attribute) continue;
      if (g_.touches(id, g_.owner(k))) {
        refuse(site, "effect-between",
               what + " between its parts could change an attribute that they read");
        return true;
      }
    }
  }
  return false;
}

// Sites of one rule that are refused because each reads a part of another: made together, none
// computes that part any more.
void SitePlanner::join_sharing(std::vector<PlannedSite>& regions) {
  if (!frontend_.keeps_together()) return;
  // By rule and value: the sites of which the value is a part.
  std::map<std::pair<std::string_view, ValueId>, std::vector<PlannedSite*>> parts;
  std::vector<PlannedSite*> waiting;
  for (PlannedSite& site : regions) {
    if (!site.shares || !rule_named(site.finding.rule).rule->joint) continue;
    waiting.push_back(&site);
    for (ValueId id : site.interior) parts[{site.finding.rule, id}].push_back(&site);
  }
  std::set<const PlannedSite*> seen;
  for (PlannedSite* first : waiting) {
    if (!seen.insert(first).second) continue;
    std::vector<PlannedSite*> group{first};
    for (size_t i = 0; i < group.size(); ++i) {
      for (ValueId id : group[i]->interior) {
        auto found = parts.find({group[i]->finding.rule, id});
        if (found == parts.end()) continue;
        for (PlannedSite* other : found->second) {
          if (seen.insert(other).second) group.push_back(other);
        }
        parts.erase(found);
      }
    }
    if (group.size() > 1) join(group);
  }
}

void SitePlanner::join(const std::vector<PlannedSite*>& group) {
  std::map<ValueId, std::vector<ValueId>> all;
  for (const PlannedSite* site : group) all[site->root] = site->kept;
  std::vector<PlannedSite> made;
  for (const PlannedSite* site : group) {
    along_ = all;
    auto again = region_site(rule_named(site->finding.rule), site->root);
    along_.clear();
    if (!again || !again->rewritten || again->interior != site->interior ||
        again->kept != site->kept) {
      return;
    }
    for (const auto& [root, kept] : all) again->change.together.push_back(root);
    made.push_back(std::move(*again));
  }
  for (size_t i = 0; i < group.size(); ++i) *group[i] = std::move(made[i]);
}

const CompiledRule& SitePlanner::rule_named(const std::string& id) const {
  const auto& rules = planner_.rules_.rules;
  return *std::find_if(rules.begin(), rules.end(),
                       [&](const CompiledRule& r) { return r.rule->id == id; });
}

}  // namespace refit
