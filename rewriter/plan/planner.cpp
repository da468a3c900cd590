// Sites of one unit: calls by their callee, computations by their pattern. See planner.hpp.
#include "rewriter/plan/planner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rewriter/graph/unify.hpp"
#include "rewriter/match/constraint.hpp"
#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"

namespace refit {

using graph::Graph;
using graph::Kind;
using graph::kNone;
using graph::StatementId;
using graph::Value;
using graph::ValueId;

class SitePlanner {
 public:
  SitePlanner(const Planner& planner, const Unit& unit, uint32_t function)
      : planner_(planner), unit_(unit), function_(function), g_(unit.functions[function].graph) {}

  void run(const std::vector<bool>& enabled, std::vector<PlannedSite>& out) {
    const auto& live = g_.live();
    std::vector<PlannedSite> regions;
    for (ValueId id = 0; id < g_.values.size(); ++id) {
      const Value& v = g_[id];
      if (v.kind == Kind::op || v.kind == Kind::call) {
        auto found = v.op == nullptr ? planner_.rules_.by_callee.end()
                                     : planner_.rules_.by_callee.find(v.op);
        if (found != planner_.rules_.by_callee.end() && v.syntax != kNone && v.range.size() != 0) {
          for (size_t rule : found->second) {
            if (!enabled[rule] || defined_here(planner_.rules_.rules[rule])) continue;
            out.push_back(call_site(planner_.rules_.rules[rule], id));
          }
        }
      }
      if (v.kind == Kind::call && v.op == nullptr) unresolved(id, enabled, out);
      if (!live[id]) continue;
      for (size_t rule : planner_.rules_.pattern_rules) {
        if (!enabled[rule]) continue;
        auto site = region_site(planner_.rules_.rules[rule], id);
        if (site) regions.push_back(std::move(*site));
      }
    }
    // The largest explanation of a value wins.
    std::stable_sort(regions.begin(), regions.end(), [](const auto& a, const auto& b) {
      if (a.rewritten != b.rewritten) return a.rewritten;
      return a.interior.size() > b.interior.size();
    });
    std::set<ValueId> taken;
    for (PlannedSite& site : regions) {
      bool free = std::none_of(site.interior.begin(), site.interior.end(),
                               [&](ValueId v) { return taken.contains(v); });
      if (!free) continue;
      taken.insert(site.interior.begin(), site.interior.end());
      out.push_back(std::move(site));
    }
    anchors(enabled, taken, out);
  }

 private:
  PlannedSite new_site(const CompiledRule& rule, ValueId id) {
    PlannedSite site;
    const Value& v = g_[id];
    site.range = v.range;
    if (site.range.size() == 0 && v.statement != kNone) {
      site.range = g_.statements[v.statement].range;
    }
    Finding& f = site.finding;
    auto begin = unit_.source().position(site.range.begin);
    f.line = begin.line;
    f.column = begin.column;
    f.end_line = unit_.source().position(site.range.end).line;
    f.rule = rule.rule->id;
    f.before = unit_.source().slice(site.range);
    f.callee = unit_.functions[function_].qualified;
    if (f.callee.empty()) f.callee = unit_.module;
    site.function = unit_.functions[function_].qualified;
    return site;
  }

  // A call by a rule's name whose callee the code does not show.
  void unresolved(ValueId id, const std::vector<bool>& enabled, std::vector<PlannedSite>& out) {
    const Value& callee = g_[g_[id].operands[0]];
    std::string why;
    if (callee.kind == Kind::attribute) {
      Kind base = g_[callee.operands[0]].kind;
      if (base == Kind::parameter || base == Kind::op || base == Kind::call) return;
      why = "what stands before the dot is not shown to be a module";
    } else if (callee.kind == Kind::unknown && !callee.literal.text.empty()) {
      why = callee.literal.text;
    } else {
      return;
    }
    for (const auto& [op, rules] : planner_.rules_.by_callee) {
      if (op->id.substr(op->id.rfind('.') + 1) != callee.text || op->is_class) continue;
      for (size_t rule : rules) {
        if (!enabled[rule] || g_[id].range.size() == 0) continue;
        PlannedSite site = new_site(planner_.rules_.rules[rule], id);
        site.finding.callee = callee.text;
        site.interior = {id};
        refuse(site, "unresolved-callee",
               "the name is that of a known function, but which one it is is not shown: " + why);
        out.push_back(std::move(site));
        return;
      }
    }
  }

  static void refuse(PlannedSite& site, std::string code, std::string why) {
    site.rewritten = false;
    site.finding.outcome = Outcome::refused;
    site.finding.code = std::move(code);
    site.finding.message = std::move(why);
    site.finding.assumes.clear();
  }

  // Whether a clause lets the site through, by evidence or by a stated assumption.
  bool allowed(const Where& clause, const SiteView& view, std::vector<std::string>& assumes) const {
    if (holds(clause, view)) return true;
    if (!clause.or_assume) return false;
    if (planner_.options_.strict && !planner_.options_.assume.contains(*clause.or_assume)) {
      return false;
    }
    assumes.push_back(*clause.or_assume);
    return true;
  }

  // The first rewrite for the target whose clauses all hold; says why when there is none.
  const CompiledRewrite* choose(const CompiledRule& rule, const SiteView& view,
                                std::vector<std::string>& assumes, PlannedSite& site) const {
    std::string code = "no-counterpart";
    std::string why = "the target has nothing that computes this";
    for (const CompiledRewrite& rewrite : rule.rewrites) {
      const auto& targets = rewrite.source->targets;
      if (!targets.empty() &&
          std::find(targets.begin(), targets.end(), planner_.options_.target) == targets.end()) {
        continue;
      }
      std::vector<std::string> stated = assumes;
      bool all = true;
      for (const Where& clause : rewrite.source->where) {
        if (allowed(clause, view, stated)) continue;
        all = false;
        if (!clause.code.empty()) {
          code = clause.code;
          why = clause.says;
          if (clause.kind == "rank") other_rank(clause, view, code, why);
        }
        break;
      }
      if (!all) continue;
      for (const std::string& a : rewrite.source->assumes) {
        if (planner_.options_.strict && !planner_.options_.assume.contains(a)) {
          all = false;
          code = "assumption";
          why = "it needs the assumption `" + a + "`, which --strict does not make";
          break;
        }
        stated.push_back(a);
      }
      if (!all) continue;
      assumes = std::move(stated);
      return &rewrite;
    }
    refuse(site, code, why);
    return nullptr;
  }

  // A rule for callers outside a library does not look at the library itself: there the calls go
  // through the definition.
  bool defined_here(const CompiledRule& rule) const {
    return std::any_of(rule.rule->where.begin(), rule.rule->where.end(), [&](const Where& clause) {
      if (clause.kind != "outside") return false;
      const std::string& package = clause.values.front().text;
      return unit_.module == package || unit_.module.starts_with(package + ".");
    });
  }

  // A rank that is shown, and is another one, is a reason of its own.
  void other_rank(const Where& clause, const SiteView& view, std::string& code,
                  std::string& why) const {
    for (const std::string& name : clause.of) {
      auto r = rank_of(g_, view.argument(name).value);
      if (!r || *r == clause.number) continue;
      code = fmt::format("rank-not-{}", clause.number);
      why = fmt::format("`{}` has {} dimensions and the target takes {}", name, *r, clause.number);
    }
  }

  bool simple_value(ValueId id) const {
    for (int depth = 0; depth < 8; ++depth) {
      const Value& v = g_[id];
      if (v.kind == Kind::parameter || v.kind == Kind::literal || v.kind == Kind::symbol ||
          v.kind == Kind::unknown) {
        return true;
      }
      if (v.kind == Kind::attribute) {
        id = v.operands[0];
        continue;
      }
      if (v.kind == Kind::index && g_[v.operands[1]].kind == Kind::literal) {
        id = v.operands[0];
        continue;
      }
      return g_.values[id].range.size() == 0;  // it has a name, not an expression
    }
    return false;
  }

  PlannedSite call_site(const CompiledRule& rule, ValueId id) {
    PlannedSite site = new_site(rule, id);
    const Value& v = g_[id];
    site.finding.callee = v.op->id;
    if (rule.rule->attention && rule.rule->layout) site.finding.absorbed = false;
    site.interior = {id};
    if (v.kind == Kind::call) {
      if (v.text == "splatted") {
        refuse(site, "splatted-arguments",
               "the arguments are splatted, so which one is which is not shown; write them out");
      } else {
        refuse(site, "signature-mismatch",
               "the arguments do not fit the known signature: " + v.text);
      }
      return site;
    }
    auto patched = planner_.patched_.find(v.op->id.substr(v.op->id.rfind('.') + 1));
    if (patched != planner_.patched_.end()) {
      refuse(site, "unresolved-callee",
             fmt::format("{} assigns to `.{}`, so what the name means is decided at run time",
                         patched->second, patched->first));
      return site;
    }
    const auto& parameters = graph::parameters_of(v);
    auto places = [&](const std::string& name) -> size_t {
      for (size_t i = 0; i < parameters.size(); ++i) {
        if (parameters[i].name == name) return i;
      }
      return SIZE_MAX;
    };
    SiteView view;
    view.graph = &g_;
    view.module = unit_.module;
    view.simple = [&](ValueId value) { return textually_simple(id, value); };
    view.within = [&](const std::string& name) { return within(id, name); };
    view.argument = [&](const std::string& name) {
      Argument a;
      size_t i = places(name);
      if (i == SIZE_MAX) return a;
      a.known = true;
      a.value = i < v.operands.size() ? v.operands[i] : kNone;
      a.default_value = parameters[i].default_value;
      return a;
    };
    for (const Where& clause : rule.rule->where) {
      if (!allowed(clause, view, site.finding.assumes)) {
        refuse(site, clause.code, clause.says);
        return site;
      }
    }
    const CompiledRewrite* rewrite = choose(rule, view, site.finding.assumes, site);
    if (rewrite == nullptr) return site;

    Change change;
    change.function = function_;
    change.root = id;
    change.callee = rewrite->with.callee;
    change.edit_call = true;
    std::map<std::string, std::string> extra;
    if (rule.rule->layout) {
      const Layout& layout = *rule.rule->layout;
      bool known_rank = true;
      for (const auto& [name, letters] : layout.operands) {
        auto r = rank_of(g_, g_.argument(id, name));
        known_rank = known_rank && r && *r == static_cast<int>(letters.size());
      }
      Absorption absorption;
      if (known_rank) absorption = absorb(g_, id, layout);
      if (absorption.absorbed) {
        change.forwarded = absorption.forwarded;
        site.finding.absorbed = true;
        site.finding.transposes_absorbed = absorption.transposes;
      } else {
        extra = layout.otherwise;
        site.finding.message =
            "layout kept: " + (known_rank ? absorption.why_not : "the operands' rank is not shown");
      }
    }
    std::set<std::string> used;
    for (const auto& [keyword, text] : rewrite->with.arguments) {
      for (const std::string& hole : holes_in(text)) used.insert(hole);
    }
    for (size_t i = 0; i < parameters.size() && i < v.operands.size(); ++i) {
      if (v.operands[i] == kNone || used.contains(parameters[i].name)) continue;
      if (without_effect(v.operands[i])) continue;
      refuse(site, "argument-effect",
             fmt::format("the argument `{}` has no counterpart, and evaluating it may have an "
                         "effect; compute it before the call",
                         parameters[i].name));
      return site;
    }
    const Operation* target = target_operation(change.callee);
    size_t last_place = 0;
    for (const auto& [keyword, text] : rewrite->with.arguments) {
      // Arguments that change places are written anew, not edited where they stand.
      auto moved = holes_in(text);
      if (keyword.empty() && moved.size() == 1) {
        size_t place = places(moved[0]);
        if (place < last_place) change.edit_call = false;
        last_place = place;
      }
    }
    for (const auto& [keyword, text] : rewrite->with.arguments) {
      NewArgument argument;
      argument.keyword = keyword;
      auto holes = holes_in(text);
      if (holes.size() == 1 && text == "$" + holes[0]) {
        size_t i = places(holes[0]);
        ValueId value = i < v.operands.size() ? v.operands[i] : kNone;
        std::optional<Literal> wanted = target_default(target, keyword, change.arguments.size());
        std::optional<Literal> given =
            value == kNone ? parameters[i].default_value : literal_of(g_, value);
        bool same = wanted && given && same_value(*wanted, *given) &&
                    (given->kind == Literal::Kind::none) == (wanted->kind == Literal::Kind::none);
        if (value == kNone && (same || !given)) continue;
        if (value != kNone && same && parameters[i].name != keyword) continue;
        if (value == kNone) {
          argument.text = spell_literal(*given);
        } else {
          argument.kept = holes[0];
        }
      } else {
        auto filled =
            fill(text, [&](const std::string& hole, int* part) -> std::optional<std::string> {
              size_t i = places(hole);
              ValueId value = i < v.operands.size() ? v.operands[i] : kNone;
              if (value == kNone) return std::nullopt;
              // A part of a tuple that is written out is that part.
              const Value& whole = g_[value];
              if (*part >= 0 && (whole.kind == Kind::tuple || whole.kind == Kind::list) &&
                  *part < static_cast<int>(whole.operands.size())) {
                value = whole.operands[static_cast<size_t>(*part)];
                *part = -2;
              }
              return planner_.frontend_.spell(unit_, function_, value, id, {});
            });
        if (!filled) {
          refuse(site, "not-spellable",
                 "an argument has no name here that the new call could use; give it one");
          return site;
        }
        argument.text = *filled;
        if (!holes.empty()) change.edit_call = false;
      }
      change.arguments.push_back(std::move(argument));
    }
    for (const auto& [keyword, literal] : extra) {
      NewArgument argument;
      argument.keyword = keyword;
      argument.text = python_case(literal);
      change.arguments.push_back(std::move(argument));
    }
    if (!change.edit_call) {
      for (NewArgument& a : change.arguments) {
        if (a.kept.empty()) continue;
        auto text = planner_.frontend_.spell(unit_, function_, g_.argument(id, a.kept), id, {});
        if (!text) {
          refuse(site, "not-spellable",
                 "an argument has no name here that the new call could use; give it one");
          return site;
        }
        a.text = *text;
        a.kept.clear();
      }
    }
    site.change = std::move(change);
    site.rewritten = true;
    site.finding.outcome = Outcome::rewritten;
    return site;
  }

  // Whether the site stands inside `with NAME(…):` or a function that NAME decorates.
  bool within(ValueId id, const std::string& name) const {
    for (uint32_t f = function_; f != kNone; f = unit_.functions[f].parent) {
      const auto& decorators = unit_.functions[f].decorators;
      if (std::find(decorators.begin(), decorators.end(), name) != decorators.end()) return true;
    }
    for (StatementId s = g_[id].statement; s != kNone; s = g_.statements[s].parent) {
      if (g_.statements[s].kind != graph::StatementKind::other) continue;
      for (ValueId used : g_.statements[s].uses) {
        if (used == kNone) continue;
        const Value& v = g_[used];
        if (v.kind == Kind::op && v.op->id == name) return true;
        if (v.kind == Kind::call && g_[v.operands[0]].kind == Kind::symbol &&
            g_[v.operands[0]].text == name) {
          return true;
        }
      }
    }
    return false;
  }

  bool textually_simple(ValueId root, ValueId value) const {
    auto text = planner_.frontend_.spell(unit_, function_, value, root, {});
    if (!text) return false;
    return text->find_first_of("(+-*/ \n") == std::string::npos || simple_value(value);
  }

  // The name of the new callee's parameter at a position.
  std::string target_name(const std::string& callee, size_t position) const {
    const Operation* target = target_operation(callee);
    if (target == nullptr || position >= target->parameters.size()) return "";
    return target->parameters[position].name;
  }

  // Whether evaluating it does nothing but give a value.
  bool without_effect(ValueId id) const {
    std::vector<ValueId> work{id};
    std::set<ValueId> seen;
    while (!work.empty()) {
      ValueId at = work.back();
      work.pop_back();
      if (at == kNone || !seen.insert(at).second) continue;
      const Value& v = g_[at];
      // What a name stands for was evaluated before.
      if (at != id && v.statement != g_[id].statement) continue;
      if (v.kind == Kind::call || (v.kind == Kind::op && !v.op->pure)) return false;
      if (v.kind == Kind::opaque && v.text != "string" && v.text != "dictionary" &&
          v.range.size() != 0) {
        return false;
      }
      work.insert(work.end(), v.operands.begin(), v.operands.end());
    }
    return true;
  }

  const Operation* target_operation(const std::string& callee) const {
    return catalogue_ == nullptr ? nullptr : catalogue_->find(callee);
  }

  static std::optional<Literal> target_default(const Operation* target, const std::string& keyword,
                                               size_t position) {
    if (target == nullptr) return std::nullopt;
    for (size_t i = 0; i < target->parameters.size(); ++i) {
      if (keyword.empty() ? i == position : target->parameters[i].name == keyword) {
        return target->parameters[i].default_value;
      }
    }
    return std::nullopt;
  }

  static std::string python_case(const std::string& literal) {
    if (literal == "true") return "True";
    if (literal == "false") return "False";
    if (literal == "null") return "None";
    return literal;
  }

  static std::string spell_literal(const Literal& literal) {
    if (literal.kind == Literal::Kind::none) return "None";
    if (literal.kind == Literal::Kind::boolean) return literal.boolean ? "True" : "False";
    return to_string(literal);
  }

  template <typename Spell>
  static std::optional<std::string> fill(const std::string& text, Spell spell) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '$') {
        out += text[at++];
        continue;
      }
      size_t end = at + 1;
      while (end < text.size() &&
             (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
        ++end;
      }
      int part = -1;
      size_t close = end;
      if (end + 2 < text.size() && text[end] == '[' &&
          isdigit(static_cast<unsigned char>(text[end + 1])) && text[end + 2] == ']') {
        part = text[end + 1] - '0';
        close = end + 3;
      }
      auto piece = spell(text.substr(at + 1, end - at - 1), &part);
      if (!piece) return std::nullopt;
      if (part == -2) end = close;
      bool whole = at == 0 && end == text.size();
      bool atom = piece->find_first_of("+-*/%<>=&|^~ ,\n") == std::string::npos;
      out += whole || atom ? *piece : "(" + *piece + ")";
      at = end;
    }
    return out;
  }

  // The alternative of a rule that explains most; one that can be rewritten before one that cannot.
  std::optional<PlannedSite> region_site(const CompiledRule& rule, ValueId id) {
    std::optional<PlannedSite> best;
    for (const CompiledPattern& pattern : rule.patterns) {
      const Value& want = pattern.graph[pattern.root];
      const Value& have = g_[id];
      if (want.kind != have.kind || want.op != have.op) continue;
      Bindings bindings;
      if (!match_value(pattern.graph, pattern.root, g_, id, bindings)) continue;
      std::map<std::string, std::string> set = pattern.source->set;
      Change change;
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

  // Holes whose value is one of several alternatives, by branch perhaps.
  bool choices(const CompiledRule& rule, Bindings& bindings,
               std::map<std::string, std::string>& set, Change& change, PlannedSite& site) {
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
            change.restated.emplace_back(home, name + " = " + text);
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

  void finish_region(const CompiledRule& rule, const CompiledPattern& pattern,
                     const Bindings& bindings, const std::map<std::string, std::string>& set,
                     Change& change, PlannedSite& site) {
    SiteView view;
    view.graph = &g_;
    view.module = unit_.module;
    view.simple = [&](ValueId value) { return textually_simple(change.root, value); };
    view.within = [&](const std::string& name) { return within(change.root, name); };
    view.argument = [&](const std::string& name) {
      Argument a;
      auto found = bindings.holes.find(name);
      if (found != bindings.holes.end()) {
        a.known = true;
        a.value = found->second;
      }
      return a;
    };
    for (const auto* clauses : {&rule.rule->where, &pattern.source->where}) {
      for (const Where& clause : *clauses) {
        if (!allowed(clause, view, site.finding.assumes)) {
          refuse(site, clause.code.empty() ? "where" : clause.code, clause.says);
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
    if (std::string why = disturbed(site, kept); !why.empty()) {
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
      refuse(site, "shared-value",
             "a part of it is read elsewhere too, so it would be computed twice; let the other "
             "reader compute its own");
      return;
    }
    if (g_[change.root].range.size() == 0 && !dead.contains(g_[change.root].statement)) {
      refuse(site, "shared-value",
             "a part of it is read elsewhere, so the `if` cannot be replaced");
      return;
    }
    bool skipped = false;
    for (size_t position = 0; position < rewrite->with.arguments.size(); ++position) {
      const auto& [keyword, text] = rewrite->with.arguments[position];
      NewArgument argument;
      argument.keyword = keyword;
      bool missing = false;
      auto filled = fill(text, [&](const std::string& hole, int*) -> std::optional<std::string> {
        auto given = set.find(hole);
        if (given != set.end()) return given->second;
        auto found = bindings.holes.find(hole);
        if (found == bindings.holes.end()) {
          missing = true;
          return std::nullopt;
        }
        return planner_.frontend_.spell(unit_, function_, found->second, change.root, dead);
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
      if (skipped && argument.keyword.empty())
        argument.keyword = target_name(change.callee, position);
      change.arguments.push_back(std::move(argument));
    }
    site.definition = is_result(change.root);
    site.change = change;
    site.rewritten = true;
    site.finding.outcome = Outcome::rewritten;
  }

  // Whether a part that costs something is needed beside the rewritten value.
  bool still_read(const PlannedSite& site, const Change& change, const std::vector<ValueId>& kept,
                  const std::set<ValueId>& gone, const std::set<StatementId>& dead) const {
    std::vector<bool> live = live_after(g_, change.root, kept, gone, dead);
    return std::any_of(site.interior.begin(), site.interior.end(), [&](ValueId id) {
      if (id == change.root || !live[id] || g_[id].kind != Kind::op) return false;
      if (std::find(kept.begin(), kept.end(), id) != kept.end()) return false;
      AxisKind axes = g_[id].op->axes;
      return !g_[id].op->view && axes != AxisKind::cast && axes != AxisKind::query &&
             !only_kept(id, kept);
    });
  }

  // Part of the text of a kept value.
  bool only_kept(ValueId id, const std::vector<ValueId>& kept) const {
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

  // An `if` stays when a statement inside it was restated.
  void drop_parents_of_restated(const Change& change, std::set<StatementId>& dead) const {
    for (const auto& [statement, text] : change.restated) {
      for (StatementId p = g_.statements[statement].parent; p != kNone;
           p = g_.statements[p].parent) {
        dead.erase(p);
      }
    }
  }

  // Something between the parts of the computation that may change what they read.
  std::string disturbed(const PlannedSite& site, const std::vector<ValueId>& kept) const {
    if (site.interior.empty()) return "";
    ValueId first = *site.interior.begin(), last = *site.interior.rbegin();
    for (ValueId id = first; id < last; ++id) {
      const Value& v = g_[id];
      if (site.interior.contains(id)) continue;
      bool writes = v.kind == Kind::update || (v.kind == Kind::op && v.op->in_place);
      bool calls = v.kind == Kind::call;
      if (!writes && !calls) continue;
      for (ValueId operand : v.operands) {
        if (std::find(kept.begin(), kept.end(), operand) != kept.end()) {
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

  // Whether the function gives this value, possibly through joins and casts.
  bool is_result(ValueId id) const {
    std::vector<ValueId> work = g_.results;
    std::set<ValueId> seen;
    while (!work.empty()) {
      ValueId at = work.back();
      work.pop_back();
      if (at == kNone || !seen.insert(at).second) continue;
      if (at == id) return true;
      const Value& v = g_[at];
      if (v.kind == Kind::phi || v.kind == Kind::tuple) {
        work.insert(work.end(), v.operands.begin(), v.operands.end());
      } else if (v.kind == Kind::op &&
                 (v.op->axes == AxisKind::cast || v.op->view || v.op->axes == AxisKind::concat)) {
        work.push_back(v.operands[0]);
      } else if (v.kind == Kind::list) {
        work.insert(work.end(), v.operands.begin(), v.operands.end());
      }
    }
    return false;
  }

  void anchors(const std::vector<bool>& enabled, const std::set<ValueId>& taken,
               std::vector<PlannedSite>& out) {
    const auto& live = g_.live();
    for (size_t index : planner_.rules_.pattern_rules) {
      const CompiledRule& rule = planner_.rules_.rules[index];
      if (!enabled[index] || !rule.rule->anchor) continue;
      for (ValueId id = 0; id < g_.values.size(); ++id) {
        if (!live[id] || taken.contains(id)) continue;
        for (const CompiledPattern& anchor : rule.anchors) {
          const Value& want = anchor.graph[anchor.root];
          if (want.kind != g_[id].kind || want.op != g_[id].op) continue;
          Bindings bindings;
          if (!match_value(anchor.graph, anchor.root, g_, id, bindings)) continue;
          PlannedSite site = new_site(rule, id);
          site.interior = {id};
          if (site.range.size() == 0) break;
          refuse(site, rule.rule->anchor->code, rule.rule->anchor->says);
          bool known = std::any_of(out.begin(), out.end(), [&](const PlannedSite& other) {
            return !other.rewritten && other.range == site.range &&
                   other.finding.code == site.finding.code;
          });
          if (!known) out.push_back(std::move(site));
          break;
        }
      }
    }
  }

 public:
  const Catalogue* catalogue_ = nullptr;

 private:
  const Planner& planner_;
  const Unit& unit_;
  uint32_t function_;
  const Graph& g_;
};

UnitPlan Planner::plan(const Unit& unit, const std::vector<bool>& enabled) const {
  UnitPlan out;
  for (uint32_t f = 0; f < unit.functions.size(); ++f) {
    SitePlanner planner(*this, unit, f);
    planner.catalogue_ = catalogue_;
    planner.run(enabled, out.sites);
  }
  std::stable_sort(out.sites.begin(), out.sites.end(),
                   [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  return out;
}

}  // namespace refit
