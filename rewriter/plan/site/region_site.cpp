// Planning of a recognised computation: pattern, alternatives, what dies with it. Entry point:
// SitePlanner::region_site.
#include "rewriter/plan/site/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/layout.hpp"

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
    SetTexts set;
    for (const auto& [name, text] : pattern.source->set) set[name] = {text, {}};
    Change change;
    change.rule = rule.rule->id;
    change.function = function_;
    change.root = id;
    PlannedSite site = new_site(rule, id);
    site.interior = bindings.interior;
    name_results(rule, bindings, change);
    if (!choices(rule, bindings, set, change, site)) continue;
    if (!read_beyond(site, change)) continue;
    if (g_[id].inlined && std::ranges::none_of(site.interior, [&](ValueId v) {
          return !g_[v].inlined && g_[v].range.size() != 0;
        })) {
      continue;  // all of it stands in the helper, which is rewritten itself
    }
    if (!clauses_hold(pattern, bindings, id, false) || overridden(site)) continue;
    finish_region(rule, pattern, bindings, set, change, site);
    auto rank = [](const PlannedSite& s) { return std::pair(s.rewritten, s.interior.size()); };
    if (!best || rank(site) > rank(*best)) best = std::move(site);
  }
  return best;
}

bool SitePlanner::clauses_hold(const CompiledPattern& alternative, const Bindings& bindings,
                               ValueId root, bool with_code) const {
  const std::vector<Where>& where = alternative.source->where;
  if (where.empty()) return true;
  const SiteView view = region_view(root, bindings);
  return std::ranges::all_of(where, [&](const Where& clause) {
    return (!with_code && !clause.code.empty()) || holds(clause, view);
  });
}

namespace {

constexpr std::string_view kIsOperation = "operator.is_";

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

// The side of a choice that an alternative's text is about: where a value is tested, that where it
// is no None, else the one where the condition holds.
Branch branch_of(const CompiledPattern& alternative, const Graph& g, ValueId leaf) {
  const Value& choice = alternative.graph[alternative.root];
  if (choice.kind != Kind::phi || g[leaf].kind != Kind::phi) return {};
  const Value& asked = alternative.graph[choice.operands[0]];
  const bool tests = asked.kind == Kind::op && asked.op->id == kIsOperation;
  Branch out;
  out.condition = g[leaf].operands[0];
  out.side = tests ? 2 : 1;
  if (tests) out.tested = g[out.condition].operands[0];
  return out;
}

}  // namespace

bool SitePlanner::plausible(const CompiledRule& rule, const Bindings& before,
                            const Bindings& bindings) const {
  return std::ranges::all_of(rule.choices, [&](const auto& choice) {
    const auto& [hole, alternatives] = choice;
    const auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end() || before.holes.contains(hole)) return true;
    if (g_[bound->second].kind == Kind::phi) return true;
    return std::ranges::any_of(alternatives, [&](const CompiledPattern& a) {
      Bindings trial = bindings;
      return match_value(a.graph, a.root, g_, bound->second, trial);
    });
  });
}

bool SitePlanner::choices(const CompiledRule& rule, Bindings& bindings, SetTexts& set,
                          Change& change, PlannedSite& site) {
  for (const auto& [hole, alternatives] : rule.choices) {
    auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end()) continue;
    std::vector<ValueId> leaves, work{bound->second};
    auto whole = [&](ValueId at) {
      return std::ranges::any_of(alternatives, [&](const CompiledPattern& a) {
        Bindings trial = bindings;
        return a.graph[a.root].kind == Kind::phi && match_value(a.graph, a.root, g_, at, trial) &&
               plausible(rule, bindings, trial);
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
    if (!settle_leaves(rule, alternatives, leaves, bindings, set, change)) return false;
    site.interior.insert(bindings.interior.begin(), bindings.interior.end());
    // What carries a part that the new call takes over is written, and the part itself looked at.
    if (rule.rule->match.bypass.empty()) bindings.holes.erase(hole);
  }
  return true;
}

// What one branch gives to the call and another does not is not what the call is made of:
// `if hidden: s = s.masked_fill(m, -inf)` has a mask on one side alone, which an alternative for
// both must say.
bool SitePlanner::settle_leaves(const CompiledRule& rule,
                                const std::vector<CompiledPattern>& alternatives,
                                const std::vector<ValueId>& leaves, Bindings& bindings,
                                SetTexts& set, Change& change) {
  const bool several = leaves.size() > 1;
  const auto used = several ? holes_used(rule) : std::set<std::string>();
  std::optional<std::set<std::string>> given;
  SetTexts shared;  // texts with holes, which mean the same on every branch
  for (ValueId leaf : leaves) {
    const CompiledPattern* matched = nullptr;
    for (const CompiledPattern& alternative : alternatives) {
      Bindings trial = bindings;
      if (!match_value(alternative.graph, alternative.root, g_, leaf, trial)) continue;
      if (!plausible(rule, bindings, trial)) continue;
      if (!clauses_hold(alternative, trial, change.root, true)) continue;
      bindings = std::move(trial);
      matched = &alternative;
      break;
    }
    if (matched == nullptr) return false;
    if (several) {
      auto own = given_by(*matched, used);
      if (given && *given != own) return false;
      given = std::move(own);
    }
    for (const auto& [name, text] : matched->source->set) {
      if (!several) {
        set[name] = {text, branch_of(*matched, g_, leaf)};
      } else if (text.find('$') != std::string::npos) {
        const Branch branch = branch_of(*matched, g_, leaf);
        const auto [known, first] = shared.emplace(name, SetText{text, branch});
        if (branch.condition != kNone || (!first && known->second.text != text)) return false;
        set[name] = known->second;
      } else if (!restate(*matched, leaf, name, text, change)) {
        return false;
      } else {
        set[name] = {name, {}};
      }
    }
  }
  return true;
}

// Each branch says its own: the statement that computed the leaf now names the choice.
bool SitePlanner::restate(const CompiledPattern& alternative, ValueId leaf, const std::string& name,
                          const std::string& text, Change& change) const {
  const StatementId home = g_[leaf].statement;
  if (home == kNone || g_.statements[home].definitions.size() != 1 ||
      alternative.source->set.size() != 1) {
    return false;
  }
  auto restated = frontend_.assignment(name, text);
  if (!restated) return false;
  change.restated.emplace_back(home, std::move(*restated));
  return !g_.name_index(name);  // else the name is taken
}

// The steps: what the clauses say against it, the rewrite for the target, what the new call reads,
// effects and readers that stand in the way, statements that die with it, the call's arguments.
void SitePlanner::finish_region(const CompiledRule& rule, const CompiledPattern& pattern,
                                const Bindings& matched, const SetTexts& set, Change& change,
                                PlannedSite& site) {
  const Bindings bindings = without_carriers(rule, matched, site);
  const SiteView view = region_view(change.root, bindings);
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
  const CompiledRewrite* rewrite = choose(rule, view, site.finding.assumes, site);
  if (rewrite == nullptr) return;
  change.callee = rewrite->with.callee;
  change.behind = rewrite->with.behind;
  const std::vector<ValueId> kept = kept_by(*rewrite, bindings, set);
  if (loses_meaning(rule, bindings, change.root, kept, site)) return;
  std::set<StatementId> dead;
  if (!can_give_results(rule, kept, change, dead, site)) return;
  if (!take_over(rule, bindings, kept, change, site)) return;
  if (!remove_parts(rule, kept, change, dead, site)) return;
  if (!region_arguments(*rewrite, bindings, set, dead, change)) {
    refuse(site, "not-spellable",
           "a part of it has no name that the new call could use at its place; give it one");
    return;
  }
  if (!rule.rule->attention && !tell_strides(*rewrite, bindings, set, change, site)) return;
  if (rule.rule->attention || rule.rule->layout) {
    site.operands = {bindings.holes.begin(), bindings.holes.end()};
  }
  if (rule.rule->layout) {
    add_arguments(change, rule.rule->layout->otherwise);
  }
  if (!change.bypassed.empty() && !frontend_.editable(unit_, change)) {
    refuse(site, "not-editable",
           "a comment, or another argument, stands in the text of a part that the new call takes "
           "over; move it out");
    return;
  }
  if (!change.results.empty() && !frontend_.editable(unit_, change)) {
    refuse(site, "not-spellable",
           "the statement that it stands in has no room for one that gives its results before it; "
           "give its operand a name");
    return;
  }
  site.definition = is_result(g_, change.root);
  site.change = change;
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
}

std::vector<std::string> SitePlanner::parts_of(const std::string& hole, const SetTexts& set) {
  std::vector<std::string> out, work{hole};
  std::set<std::string> seen;
  while (!work.empty()) {
    const std::string name = std::move(work.back());
    work.pop_back();
    const auto given = set.find(name);
    if (given == set.end()) {
      out.push_back(name);
    } else if (seen.insert(name).second) {
      const auto inside = holes_in(given->second.text);
      work.insert(work.end(), inside.rbegin(), inside.rend());
    }
  }
  return out;
}

std::vector<ValueId> SitePlanner::kept_by(const CompiledRewrite& rewrite, const Bindings& bindings,
                                          const SetTexts& set) {
  std::vector<ValueId> kept;
  for (const auto& [keyword, text] : rewrite.with.arguments) {
    for (const std::string& hole : holes_in(text)) {
      for (const std::string& name : parts_of(hole, set)) {
        auto found = bindings.holes.find(name);
        if (found != bindings.holes.end()) kept.push_back(found->second);
      }
    }
  }
  return kept;
}

bool SitePlanner::loses_meaning(const CompiledRule& rule, const Bindings& bindings, ValueId root,
                                const std::vector<ValueId>& kept, PlannedSite& site) const {
  if (g_[root].inlined && loses_effects(root, site, kept)) {
    refuse(
        site, "argument-effect",
        "an argument of the helper has an effect that the new call would lose; compute it first");
    return true;
  }
  if (reorders_effects(root, kept)) {
    refuse(site, "argument-effect",
           "the new call would evaluate its operands in another order, and more than one of them "
           "does something; compute them first");
    return true;
  }
  if (disturbed(rule, site, kept)) return true;
  if (bindings.stored_between) {
    refuse(site, "effect-between", "a write between its parts changes what they read");
    return true;
  }
  if (written_between(root, site)) return true;
  if (cast_elsewhere(root, site)) {
    refuse(site, "autocast",
           "its parts stand in different regions of autocast, so what is cast there would not be "
           "cast here; write them in one");
    return true;
  }
  return false;
}

bool SitePlanner::remove_parts(const CompiledRule& rule, const std::vector<ValueId>& kept,
                               Change& change, std::set<StatementId>& dead, PlannedSite& site) {
  std::set<ValueId> gone;
  for (const auto& [statement, text] : change.restated) {
    for (DefinitionId d : g_.statements[statement].definitions) {
      gone.insert(g_.definitions[d].value);
    }
  }
  site.kept = kept;
  std::map<ValueId, std::vector<ValueId>> along = along_;
  for (const Change::Result& result : change.results) {
    if (result.value == change.root) continue;
    if (change.root == site.root) {
      along[result.value] = kept;
    } else {
      gone.insert(result.value);  // what was the root becomes a name
    }
  }
  for (const Change::Bypass& bypass : change.bypassed) {
    // Where the new call may not run the text stays, and reads what it reads today.
    along[bypass.value] =
        bypass.chooser.empty() ? std::vector<ValueId>{bypass.operand} : g_[bypass.value].operands;
  }
  const Supplanted replaced{change.root, kept, std::move(gone), accounted(rule, site), along};
  change.dead = reads().dead_statements(replaced);
  dead.insert(change.dead.begin(), change.dead.end());
  // A restated statement stays, and so does every `if` around it.
  for (const auto& [statement, text] : change.restated) {
    for (StatementId s = statement; s != kNone; s = g_.statements[s].parent) dead.erase(s);
  }
  change.dead.assign(dead.begin(), dead.end());
  if (still_read(site, replaced, change, dead)) {
    site.shares = true;
    refuse(site, rule.rule->shared,
           "a part of it is read elsewhere too, so it would be computed twice; let the other "
           "reader compute its own");
    return false;
  }
  const StatementId home = g_[change.root].statement;
  // A store into a tensor that nobody else sees is its last definition and nothing more.
  bool only_defines = g_[change.root].kind == Kind::update && g_.statements[home].pure;
  if (g_.made_by_statement(change.root) && !only_defines && !dead.contains(home)) {
    refuse(site, "shared-value",
           "a part of it is read elsewhere, so the statement that makes it cannot be replaced");
    return false;
  }
  return true;
}

bool SitePlanner::region_arguments(const CompiledRewrite& rewrite, const Bindings& bindings,
                                   const SetTexts& set, const std::set<StatementId>& dead,
                                   Change& change) const {
  const Operation* target = catalogue_.find(change.callee);
  bool skipped = false;  // an argument before this one
  for (size_t position = 0; position < rewrite.with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite.with.arguments[position];
    const auto holes = holes_in(text);
    NewArgument argument;
    argument.keyword = keyword;
    bool missing = false;
    std::optional<ByteRange> copied;
    auto filled = argument_text(text, bindings, set, change.root, dead, &missing, &copied);
    if (!filled && missing) {  // this alternative of the pattern has no such part
      skipped = true;
      continue;
    }
    if (!filled) return false;
    argument.text = *filled;
    if (copied && holes.size() == 1 && text == "$" + holes[0]) argument.copies = {{0, *copied}};
    if (skipped && argument.keyword.empty()) argument.keyword = target_name(target, position);
    // What the callee takes anyway need not be said.
    auto fallback = target_default(target, argument.keyword, position);
    if (fallback && holes.size() == 1 && set.contains(holes[0]) &&
        argument.text == frontend_.literal(*fallback)) {
      skipped = true;
      continue;
    }
    change.arguments.push_back(std::move(argument));
  }
  return true;
}

std::optional<std::string> SitePlanner::argument_text(
    const std::string& text, const Bindings& bindings, const SetTexts& set, ValueId root,
    const std::set<StatementId>& dead, bool* missing, std::optional<ByteRange>* copied,
    const Branch& branch) const {
  return frontend_.fill(text, [&](const std::string& hole, int*) -> std::optional<std::string> {
    auto given = set.find(hole);
    if (given != set.end()) {
      SetTexts others = set;
      others.erase(hole);
      return set_text(given->second, bindings, others, root, dead, missing, copied, branch);
    }
    auto found = bindings.holes.find(hole);
    if (found == bindings.holes.end()) {
      *missing = true;
      return std::nullopt;
    }
    *copied = frontend_.copied_from(unit_, function_, found->second, root);
    return frontend_.spell_under(unit_, function_, found->second, root, dead, branch);
  });
}

std::optional<std::string> SitePlanner::set_text(const SetText& given, const Bindings& bindings,
                                                 const SetTexts& set, ValueId root,
                                                 const std::set<StatementId>& dead, bool* missing,
                                                 std::optional<ByteRange>* copied,
                                                 const Branch& outer) const {
  if (given.text.find('$') == std::string::npos) return given.text;
  // Only a hole and nothing else is the source's own text.
  std::optional<ByteRange> inner;
  const bool plain = given.text.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", 1) ==
                     std::string::npos;
  if (given.branch.condition == kNone) {
    auto filled = argument_text(given.text, bindings, set, root, dead, missing, &inner, outer);
    *copied = plain ? inner : std::nullopt;
    return filled;
  }
  *copied = std::nullopt;
  // The condition is asked outside of the branch that the rest stands under.
  std::map<std::string, std::string> pieces;
  for (const std::string& hole : holes_in(given.text)) {
    Branch branch = given.branch;
    const auto bound = set.contains(hole) ? bindings.holes.end() : bindings.holes.find(hole);
    if (bound != bindings.holes.end()) {
      branch.asks = bound->second == branch.tested;
      if (bound->second == branch.condition) branch = outer;
    }
    auto piece = argument_text("$" + hole, bindings, set, root, dead, missing, &inner, branch);
    if (!piece) return std::nullopt;
    pieces.emplace(hole, std::move(*piece));
  }
  // What is None just where the branch does not run need not be chosen.
  if (given.branch.tested != kNone && pieces.size() == 2 &&
      pieces.begin()->second == pieces.rbegin()->second) {
    return pieces.begin()->second;
  }
  return frontend_.fill(given.text, [&](const std::string& hole, int*) {
    return std::optional<std::string>(pieces.at(hole));
  });
}

}  // namespace refit
