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
    take_alone(id, change);
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

void SitePlanner::take_alone(ValueId id, Change& change) const {
  const Value& v = g_[id];
  if (v.kind != Kind::element || v.count == 0 || !change.results.empty()) return;
  const ValueId whole = v.operands[0];
  if (g_[whole].kind != Kind::call || g_[whole].inlined) return;
  const bool alone = std::ranges::all_of(g_.users(whole), [&](ValueId user) {
    return user == id || (g_[user].kind == Kind::element && g_[user].count > 0 &&
                          !g_.live()[user] && !unbound(user));
  });
  if (!alone) return;
  change.root = whole;
  change.parts = {id};
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
  if (!change.parts.empty() && !frontend_.editable(unit_, change)) {
    refuse(site, "not-editable",
           "the result is taken apart where the text of it cannot be edited; take it apart in the "
           "statement of the call, without comments inside");
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
  for (const Change::Bypass& bypass : change.bypassed) {
    if (!dead.contains(g_[bypass.value].statement)) continue;
    refuse(site, rule.rule->shared,
           text_of_value(bypass.value) +
               " stands inside a statement that the new call makes needless, which leaves its "
               "operand without a text; give what it computes a name");
    return false;
  }
  if (still_read(site, replaced, change, dead)) {
    site.shares = true;
    refuse(
        site, rule.rule->shared,
        carried(site, dead)
            .value_or(
                "a part of it is read elsewhere too, so it would be computed twice; let the other "
                "reader compute its own"));
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
