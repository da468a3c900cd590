// Planning of a call by its callee: evidence, layout, arguments. Entry: SitePlanner::call_site.
#include "rewriter/plan/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout.hpp"

namespace refit {

void SitePlanner::other_rank(const Where& clause, const SiteView& view, std::string& code,
                             std::string& why) const {
  for (const std::string& name : clause.of) {
    auto r = rank_of(g_, view.argument(name).value);
    if (!r || *r == clause.number) continue;
    code = fmt::format("rank-not-{}", clause.number);
    why = fmt::format("`{}` has {} dimensions and the target takes {}", name, *r, clause.number);
  }
}

bool SitePlanner::simple_value(ValueId id) const {
  const Value& display = g_[id];
  if (display.kind == Kind::tuple && display.range.size() != 0) {
    return std::all_of(display.operands.begin(), display.operands.end(), [&](ValueId part) {
      return g_[part].kind != Kind::tuple && simple_value(part);
    });
  }
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

namespace {

// A conversion of a literal is that literal: `float(1)` is 1.0.
std::string folded(const std::string& text, const std::string& hole, std::string filled,
                   const std::optional<Literal>& value) {
  if (text != "float($" + hole + ")" || !value) return filled;
  if (value->kind == Literal::Kind::integer) return std::to_string(value->integer) + ".0";
  if (value->kind == Literal::Kind::real) return filled.substr(6, filled.size() - 7);
  return filled;
}

}  // namespace

PlannedSite SitePlanner::call_site(const CompiledRule& rule, ValueId id) {
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
      refuse(site, "signature-mismatch", "the arguments do not fit the known signature: " + v.text);
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
  view.text = [&](ValueId value) { return text_of_value(value); };
  view.in_tree = [&](const std::string& word) { return planner_.words_.contains(word); };
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
      refuse(site, clause, view);
      return site;
    }
  }
  const CompiledRewrite* rewrite = choose(rule, view, site.finding.assumes, site);
  if (rewrite == nullptr) return site;

  Change change;
  change.rule = rule.rule->id;
  change.function = function_;
  change.root = id;
  change.callee = rewrite->with.callee;
  change.edit_call = v.text != "unpacked";
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
      site.finding.layout_kept =
          known_rank ? absorption.why_not : "the operands' rank is not shown";
    }
  }
  std::set<std::string> used;
  for (const auto& [keyword, text] : rewrite->with.arguments) {
    for (const std::string& hole : holes_in(text)) used.insert(hole);
  }
  for (size_t i = 0; i < parameters.size() && i < v.operands.size(); ++i) {
    if (v.operands[i] == kNone || used.contains(parameters[i].name)) continue;
    if (without_effect(v.operands[i], id)) continue;
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
        argument.text = frontend_.literal(*given);
      } else {
        argument.kept = holes[0];
        argument.fallback = same;
      }
    } else {
      std::optional<ByteRange> copied;
      auto filled = frontend_.fill(
          text, [&](const std::string& hole, int* part) -> std::optional<std::string> {
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
            copied = frontend_.copied_from(unit_, function_, value, id);
            return frontend_.spell(unit_, function_, value, id, {});
          });
      if (!filled) {
        refuse(site, "not-spellable",
               "an argument has no name here that the new call could use; give it one");
        return site;
      }
      argument.text = *filled;
      if (holes.size() == 1) {
        argument.text = folded(text, holes[0], *filled, literal_of(g_, g_.argument(id, holes[0])));
      }
      if (copied && text == "$" + holes[0]) argument.copies = {{0, *copied}};
      if (!holes.empty()) change.edit_call = false;
    }
    change.arguments.push_back(std::move(argument));
  }
  for (const auto& [keyword, literal] : extra) {
    NewArgument argument;
    argument.keyword = keyword;
    argument.text = spell_scalar(literal);
    change.arguments.push_back(std::move(argument));
  }
  if (!change.edit_call) {
    std::erase_if(change.arguments, [](const NewArgument& a) { return a.fallback; });
    for (NewArgument& a : change.arguments) {
      if (a.kept.empty()) continue;
      ValueId value = g_.argument(id, a.kept);
      auto text = frontend_.spell(unit_, function_, value, id, {});
      if (!text) {
        refuse(site, "not-spellable",
               "an argument has no name here that the new call could use; give it one");
        return site;
      }
      a.text = *text;
      if (auto copied = frontend_.copied_from(unit_, function_, value, id)) {
        a.copies = {{0, *copied}};
      }
      a.kept.clear();
    }
  }
  site.change = std::move(change);
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
  return site;
}

bool SitePlanner::within(ValueId id, const std::string& name) const {
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

bool SitePlanner::textually_simple(ValueId root, ValueId value) const {
  auto text = frontend_.spell(unit_, function_, value, root, {});
  if (!text) return false;
  return text->find_first_of("(+-*/ \n") == std::string::npos || simple_value(value);
}

std::string SitePlanner::target_name(const std::string& callee, size_t position) const {
  const Operation* target = target_operation(callee);
  if (target == nullptr || position >= target->parameters.size()) return "";
  return target->parameters[position].name;
}

bool SitePlanner::without_effect(ValueId id, ValueId root) const {
  std::vector<ValueId> work{id};
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || !seen.insert(at).second) continue;
    const Value& v = g_[at];
    // What a name stands for was evaluated before.
    if (v.statement != g_[root].statement) continue;
    if (v.kind == Kind::call || (v.kind == Kind::op && !v.op->pure)) return false;
    if (v.kind == Kind::opaque && v.text != "string" && v.text != "dictionary" &&
        v.range.size() != 0) {
      return false;
    }
    work.insert(work.end(), v.operands.begin(), v.operands.end());
  }
  return true;
}

const Operation* SitePlanner::target_operation(const std::string& callee) const {
  return catalogue_ == nullptr ? nullptr : catalogue_->find(callee);
}

std::optional<Literal> SitePlanner::target_default(const Operation* target,
                                                   const std::string& keyword, size_t position) {
  if (target == nullptr) return std::nullopt;
  for (size_t i = 0; i < target->parameters.size(); ++i) {
    if (keyword.empty() ? i == position : target->parameters[i].name == keyword) {
      return target->parameters[i].default_value;
    }
  }
  return std::nullopt;
}

std::string SitePlanner::spell_scalar(const std::string& scalar) const {
  Literal literal;
  literal.kind = Literal::Kind::symbol;
  literal.text = scalar;
  if (scalar == "true" || scalar == "false") {
    literal.kind = Literal::Kind::boolean;
    literal.boolean = scalar == "true";
  } else if (scalar == "null") {
    literal.kind = Literal::Kind::none;
  } else if (auto parsed = parse_literal(scalar)) {
    literal = std::move(*parsed);
  }
  return frontend_.literal(literal);
}

}  // namespace refit
