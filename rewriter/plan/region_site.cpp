// Planning of a recognised computation: pattern, alternatives, what dies with it. Entry point:
// SitePlanner::region_site.
#include "rewriter/plan/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"

namespace refit {

SiteView SitePlanner::region_view(ValueId root, const Bindings& bindings) const {
  SiteView view;
  view.graph = &g_;
  view.module = unit_.module;
  view.simple = [this, root](ValueId value) { return textually_simple(root, value); };
  view.within = [this, root](const std::string& name) { return within(root, name); };
  view.text = [this](ValueId value) { return text_of_value(value); };
  view.in_tree = [this](const std::string& word) { return planner_.words_.contains(word); };
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
    finish_region(rule, pattern, bindings, set, change, site);
    auto rank = [](const PlannedSite& s) { return std::pair(s.rewritten, s.interior.size()); };
    if (!best || rank(site) > rank(*best)) best = std::move(site);
  }
  return best;
}

bool SitePlanner::choices(const CompiledRule& rule, Bindings& bindings,
                          std::map<std::string, std::string>& set, Change& change,
                          PlannedSite& site) {
  for (const auto& [hole, alternatives] : rule.choices) {
    auto bound = bindings.holes.find(hole);
    if (bound == bindings.holes.end()) continue;
    std::vector<ValueId> leaves, work{bound->second};
    while (!work.empty()) {
      ValueId at = work.back();
      work.pop_back();
      site.interior.insert(at);
      if (g_[at].kind == Kind::phi) {
        work.push_back(g_[at].operands[2]);
        work.push_back(g_[at].operands[1]);
      } else {
        leaves.push_back(at);
      }
    }
    for (ValueId leaf : leaves) {
      bool matched = false;
      for (const CompiledPattern& alternative : alternatives) {
        if (!match_value(alternative.graph, alternative.root, g_, leaf, bindings)) continue;
        matched = true;
        for (const auto& [name, text] : alternative.source->set) {
          if (leaves.size() == 1) {
            set[name] = text;
            continue;
          }
          // Each branch says its own: the statement that computed the leaf now names the choice.
          StatementId home = g_[leaf].statement;
          if (home == kNone || g_.statements[home].definitions.size() != 1 ||
              alternative.source->set.size() != 1) {
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
  const CompiledRewrite* rewrite = choose(rule, view, site.finding.assumes, site);
  if (rewrite == nullptr) return;
  change.callee = rewrite->with.callee;
  std::vector<ValueId> kept;
  for (const auto& [keyword, text] : rewrite->with.arguments) {
    for (const std::string& hole : holes_in(text)) {
      auto found = bindings.holes.find(hole);
      if (found != bindings.holes.end()) kept.push_back(found->second);
    }
  }
  std::string why = disturbed(site, kept);
  if (bindings.stored_between) why = "a write between its parts changes what they read";
  if (!why.empty()) {
    refuse(site, "effect-between", why);
    return;
  }
  std::set<ValueId> gone;
  for (const auto& [statement, text] : change.restated) {
    for (graph::DefinitionId d : g_.statements[statement].definitions) {
      gone.insert(g_.definitions[d].value);
    }
  }
  change.dead = dead_statements(g_, change.root, kept, gone);
  std::set<StatementId> dead(change.dead.begin(), change.dead.end());
  for (const auto& [statement, text] : change.restated) dead.erase(statement);
  drop_parents_of_restated(change, dead);
  change.dead.assign(dead.begin(), dead.end());
  if (still_read(site, change, kept, gone, dead)) {
    refuse(site, rule.rule->shared,
           "a part of it is read elsewhere too, so it would be computed twice; let the other "
           "reader compute its own");
    return;
  }
  if (g_[change.root].range.size() == 0 && !dead.contains(g_[change.root].statement)) {
    refuse(site, "shared-value", "a part of it is read elsewhere, so the `if` cannot be replaced");
    return;
  }
  bool skipped = false;
  for (size_t position = 0; position < rewrite->with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite->with.arguments[position];
    NewArgument argument;
    argument.keyword = keyword;
    bool missing = false;
    std::optional<ByteRange> copied;
    auto filled =
        frontend_.fill(text, [&](const std::string& hole, int*) -> std::optional<std::string> {
          auto given = set.find(hole);
          if (given != set.end()) return given->second;
          auto found = bindings.holes.find(hole);
          if (found == bindings.holes.end()) {
            missing = true;
            return std::nullopt;
          }
          copied = frontend_.copied_from(unit_, function_, found->second, change.root);
          return frontend_.spell(unit_, function_, found->second, change.root, dead);
        });
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
  site.definition = is_result(g_, change.root);
  site.change = change;
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
}

bool SitePlanner::still_read(const PlannedSite& site, const Change& change,
                             const std::vector<ValueId>& kept, const std::set<ValueId>& gone,
                             const std::set<StatementId>& dead) const {
  std::vector<bool> live = live_after(g_, change.root, kept, gone, dead);
  return std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId id) {
    if (id == change.root || !live[id] || g_[id].kind != Kind::op) return false;
    if (std::find(kept.begin(), kept.end(), id) != kept.end()) return false;
    AxisKind axes = g_[id].op->axes;
    return !g_[id].op->view && axes != AxisKind::cast && axes != AxisKind::query &&
           !only_kept(id, kept);
  });
}

bool SitePlanner::only_kept(ValueId id, const std::vector<ValueId>& kept) const {
  std::vector<ValueId> work = kept;
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || !seen.insert(at).second) continue;
    if (at == id) return true;
    work.insert(work.end(), g_[at].operands.begin(), g_[at].operands.end());
  }
  return false;
}

void SitePlanner::drop_parents_of_restated(const Change& change,
                                           std::set<StatementId>& dead) const {
  for (const auto& [statement, text] : change.restated) {
    for (StatementId p = g_.statements[statement].parent; p != kNone; p = g_.statements[p].parent) {
      dead.erase(p);
    }
  }
}

std::string SitePlanner::disturbed(const PlannedSite& site,
                                   const std::vector<ValueId>& kept) const {
  if (site.interior.empty()) return "";
  ValueId first = *site.interior.begin(), last = *site.interior.rbegin();
  for (ValueId id = first; id < last; ++id) {
    const Value& v = g_[id];
    if (site.interior.contains(id)) continue;
    bool writes = v.kind == Kind::update || (v.kind == Kind::op && v.op->in_place);
    bool calls = v.kind == Kind::call;
    if (!writes && !calls) continue;
    for (ValueId operand : v.operands) {
      if (std::find(kept.begin(), kept.end(), operand) != kept.end() ||
          site.interior.contains(operand)) {
        return "a call between its parts could change what they read";
      }
    }
    // A method of the object whose attributes are read.
    for (ValueId k : kept) {
      if (k == kNone || g_[k].kind != Kind::attribute) continue;
      if (g_.touches(id, g_.owner(k))) {
        return "a call between its parts could change an attribute that they read";
      }
    }
  }
  return "";
}

}  // namespace refit
