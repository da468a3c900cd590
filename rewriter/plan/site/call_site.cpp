// Planning of a call by its callee: evidence, layout, arguments. Entry: SitePlanner::call_site.
#include "rewriter/language/replaced_name.hpp"
#include "rewriter/plan/site/site_planner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/match/facts.hpp"
#include "rewriter/plan/layout/layout.hpp"

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
    return std::ranges::all_of(display.operands, [&](ValueId part) {
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

constexpr const char* kNotSpellable =
    "an argument has no name here that the new call could use; give it one";

}  // namespace

// The steps: what the callee and the clauses say against it, the rewrite for the target, the
// layout, arguments that would get lost, the arguments of the new call.
PlannedSite SitePlanner::call_site(const CompiledRule& rule, ValueId id,
                                   const std::string& keep_layout) {
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
    const std::string& place = patched->second;  // FILE:LINE
    refuse(site, "replaced-name",
           fmt::format("{} replaces `.{}`, so what the name means is decided at run time; "
                       "--exclude {}{}",
                       place, patched->first, place.substr(0, place.rfind(':')), kReplacedEnd));
    return site;
  }
  const SiteView view = call_view(id);
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
  for (const auto* clauses : {&rule.rule->where, &rewrite->source->where}) {
    for (const Where& clause : *clauses) {
      if (clause.kind == "unread") only_part(id, clause.number, &change.parts);
    }
  }
  std::map<std::string, std::string> extra;
  if (rule.rule->layout) set_layout(site, change, *rule.rule->layout, keep_layout, extra);
  if (const Parameter* lost = effect_lost(*rewrite, id)) {
    refuse(site, "argument-effect",
           fmt::format("the argument `{}` has no counterpart, and evaluating it may have an "
                       "effect; compute it before the call",
                       lost->name));
    return site;
  }
  if (!call_arguments(*rewrite, id, change)) {
    refuse(site, "not-spellable", kNotSpellable);
    return site;
  }
  add_arguments(change, extra);
  if (!change.edit_call && !write_kept(id, change)) {
    refuse(site, "not-spellable", kNotSpellable);
    return site;
  }
  if ((!change.forwarded.empty() || !change.swapped.empty()) &&
      !frontend_.editable(unit_, change)) {
    return call_site(rule, id, "a comment or other text inside a transpose stands in the way");
  }
  site.change = std::move(change);
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
  return site;
}

SiteView SitePlanner::call_view(ValueId id) const {
  const Value& v = g_[id];
  SiteView view = view_of(id, v.op->is_class ? v.op : nullptr);
  view.argument = [this, id](const std::string& name) {
    Argument a;
    const auto& parameters = parameters_of(g_[id]);
    const size_t i = parameter_place(id, name);
    if (i == SIZE_MAX) return a;
    a.known = true;
    a.value = passed_at(id, i);
    a.default_value = parameters[i].default_value;
    return a;
  };
  return view;
}

size_t SitePlanner::parameter_place(ValueId id, const std::string& name) const {
  const auto& parameters = parameters_of(g_[id]);
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return i;
  }
  return SIZE_MAX;
}

ValueId SitePlanner::passed_at(ValueId id, size_t place) const {
  return place < g_[id].operands.size() ? g_[id].operands[place] : kNone;
}

const Parameter* SitePlanner::effect_lost(const CompiledRewrite& rewrite, ValueId id) const {
  std::set<std::string> used;
  for (const auto& [keyword, text] : rewrite.with.arguments) {
    for (const std::string& hole : holes_in(text)) used.insert(hole);
  }
  const auto& parameters = parameters_of(g_[id]);
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ValueId operand = passed_at(id, i);
    if (operand == kNone || used.contains(parameters[i].name)) continue;
    if (!without_effect(operand, id)) return &parameters[i];
  }
  return nullptr;
}

bool SitePlanner::call_arguments(const CompiledRewrite& rewrite, ValueId id, Change& change) const {
  size_t last_place = 0;
  for (const auto& [keyword, text] : rewrite.with.arguments) {
    // Arguments that change places are written anew, not edited where they stand.
    auto moved = holes_in(text);
    if (keyword.empty() && moved.size() == 1) {
      const size_t place = parameter_place(id, moved[0]);
      if (place < last_place) change.edit_call = false;
      last_place = place;
    }
  }
  const Operation* target = catalogue_.find(change.callee);
  bool left_out = false;  // a positional argument before this one
  for (size_t position = 0; position < rewrite.with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite.with.arguments[position];
    NewArgument argument;
    argument.keyword = keyword.empty() && left_out ? target_name(target, position) : keyword;
    auto holes = holes_in(text);
    if (holes.size() == 1 && text == "$" + holes[0]) {
      if (!passed_on(id, holes[0], target_default(target, keyword, position), argument)) {
        left_out = left_out || keyword.empty();
        continue;
      }
    } else {
      if (!computed(id, text, argument)) return false;
      if (!holes.empty()) change.edit_call = false;
    }
    change.arguments.push_back(std::move(argument));
  }
  return true;
}

bool SitePlanner::passed_on(ValueId id, const std::string& parameter,
                            const std::optional<Literal>& wanted, NewArgument& argument) const {
  const size_t i = parameter_place(id, parameter);
  const ValueId value = passed_at(id, i);
  const Parameter& old = parameters_of(g_[id])[i];
  std::optional<Literal> given = value == kNone ? old.default_value : literal_of(g_, value);
  bool same = wanted && given && same_value(*wanted, *given) &&
              (given->kind == Literal::Kind::none) == (wanted->kind == Literal::Kind::none);
  if ((value == kNone && (same || !given)) ||
      (value != kNone && same && old.name != argument.keyword)) {
    return false;
  }
  if (value == kNone) {
    argument.text = frontend_.literal(*given);
  } else {
    argument.kept = parameter;
    argument.fallback = same;
  }
  return true;
}

bool SitePlanner::computed(ValueId id, const std::string& text, NewArgument& argument) const {
  std::optional<ByteRange> copied;
  auto filled =
      frontend_.fill(text, [&](const std::string& hole, int* part) -> std::optional<std::string> {
        ValueId value = passed_at(id, parameter_place(id, hole));
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
  if (!filled) return false;
  argument.text = *filled;
  const auto holes = holes_in(text);
  if (holes.size() == 1) {
    argument.text = folded(text, holes[0], *filled, literal_of(g_, g_.argument(id, holes[0])));
  }
  if (copied && text == "$" + holes[0]) argument.copies = {{0, *copied}};
  return true;
}

bool SitePlanner::write_kept(ValueId id, Change& change) const {
  std::erase_if(change.arguments, [](const NewArgument& a) { return a.fallback; });
  for (NewArgument& a : change.arguments) {
    if (a.kept.empty()) continue;
    const ValueId value = g_.argument(id, a.kept);
    auto text = frontend_.spell(unit_, function_, value, id, {});
    if (!text) return false;
    a.text = *text;
    if (auto copied = frontend_.copied_from(unit_, function_, value, id)) {
      a.copies = {{0, *copied}};
    }
    a.kept.clear();
  }
  return true;
}

void SitePlanner::add_arguments(Change& change,
                                const std::map<std::string, std::string>& literals) const {
  for (const auto& [keyword, literal] : literals) {
    NewArgument argument;
    argument.keyword = keyword;
    argument.text = spell_scalar(literal);
    change.arguments.push_back(std::move(argument));
  }
}

SiteView SitePlanner::view_of(ValueId root, const Operation* constructed) const {
  SiteView view;
  view.graph = &g_;
  view.module = unit_.module;
  view.simple = [this, root](ValueId value) { return textually_simple(root, value); };
  view.within = [this, root](const std::string& name) { return within(root, name); };
  view.passed_to = [this, constructed](const std::string& name) {
    return constructed != nullptr && passed_to(constructed, name);
  };
  view.attribute = [this](ValueId id) { return frontend_.attribute(unit_, function_, id); };
  view.text = [this](ValueId value) { return text_of_value(value); };
  view.in_tree = [this](const std::string& word) { return planner_.words_.contains(word); };
  view.unread = [this, root](int except) {
    std::vector<ValueId> parts;
    return only_part(root, except, &parts);
  };
  view.unpacked = [this, root](int into, int first) {
    const auto& users = g_.users(root);
    if (first < into && g_.used_by_statement(root)) return false;
    return !users.empty() && std::ranges::all_of(users, [&](ValueId user) {
      const Value& u = g_[user];
      if (u.kind != Kind::element || u.count != into) return false;
      return u.index < first || (!g_.live()[user] && !unbound(user));
    });
  };
  return view;
}

bool SitePlanner::passed_to(const Operation* type, const std::string& function) const {
  for (const Function& f : unit_.functions) {
    for (const Value& v : f.graph.values) {
      if (v.kind != Kind::call || f.graph[v.operands[0]].text != function) continue;
      std::vector<ValueId> work(v.operands.begin() + 1, v.operands.end());
      while (!work.empty()) {
        const Value& a = f.graph[work.back()];
        work.pop_back();
        if (a.kind == Kind::symbol && catalogue_.find(a.text) == type) return true;
        if (a.kind == Kind::tuple || a.kind == Kind::list) {
          work.insert(work.end(), a.operands.begin(), a.operands.end());
        }
      }
    }
  }
  if (function != "isinstance" && function != "issubclass") return false;
  // Of the names of the operation this file's is meant.
  auto asked = [&](const std::string& name) {
    std::string last = name.substr(name.rfind('.') + 1);
    return unit_.source().text().find(last) != std::string_view::npos &&
           frontend_.compared(unit_, last);
  };
  return asked(type->id) || std::ranges::any_of(type->names, asked);
}

bool SitePlanner::unbound(ValueId id) const {
  std::set<uint32_t> names;
  for (const Definition& d : g_.definitions) {
    if (d.value == id) names.insert(d.name);
  }
  return std::ranges::any_of(g_.definitions, [&](const Definition& d) {
    return names.contains(d.name) && d.value != kNone && g_[d.value].kind == Kind::unknown &&
           g_[d.value].text.starts_with("deleted ");
  });
}

bool SitePlanner::only_part(ValueId id, int except, std::vector<ValueId>* parts) const {
  int rank = g_[id].op == nullptr ? 0 : g_[id].op->result_rank.value_or(0);
  // Code that asks whether it got a tuple is written for either.
  bool asks = std::any_of(g_.users(id).begin(), g_.users(id).end(), [&](ValueId user) {
    return g_[user].kind == Kind::call && g_[g_[user].operands[0]].text == "isinstance";
  });
  bool tensor = false;
  bool whole = g_.used_by_statement(id);  // somebody gets it as it is
  std::vector<ValueId> work{id};
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (!seen.insert(at).second) continue;
    for (ValueId user : g_.users(at)) {
      const Value& u = g_[user];
      if (u.kind == Kind::element) {
        if (u.index == except && u.count > 0 && at == id) {
          parts->push_back(user);
        } else if (g_.live()[user] || unbound(user) || u.count == 0 || at != id) {
          return false;
        }
      } else if (u.kind == Kind::index && u.operands[0] == at &&
                 g_[u.operands[1]].kind == Kind::literal) {
        auto number = literal_of(g_, u.operands[1]);
        if (at != id || number->kind != Literal::Kind::integer || number->integer != except ||
            (!asks && !read_as_rank(g_, user, rank))) {
          return false;
        }
        parts->push_back(user);
      } else if (u.kind == Kind::index || u.kind == Kind::attribute) {
        tensor = true;
      } else if (u.kind == Kind::op) {
        tensor = tensor || !u.op->is_class;
      } else if (u.kind == Kind::phi) {
        work.push_back(user);
      } else if (u.kind == Kind::opaque && u.text == "unpacked") {  // beside a starred name
        if (at == id && u.index == except) {
          parts->push_back(user);
        } else if (g_.live()[user] || unbound(user) || at != id) {
          return false;
        }
      } else if (at == id) {
        whole = true;
      }
    }
  }
  if (asks) {
    parts->clear();
    return true;
  }
  return tensor != !parts->empty() && (parts->empty() || !whole);
}

std::string SitePlanner::place_of(ValueId id) const {
  ByteRange range = g_[id].range;
  if (range.size() == 0 && g_[id].statement != kNone) range = g_.statements[g_[id].statement].range;
  return fmt::format("line {}", unit_.source().position(range.begin).line);
}

bool SitePlanner::within(ValueId id, const std::string& name) const {
  for (uint32_t f = function_; f != kNone; f = unit_.functions[f].parent) {
    const auto& decorators = unit_.functions[f].decorators;
    if (std::ranges::find(decorators, name) != decorators.end()) return true;
  }
  for (StatementId s = g_[id].statement; s != kNone; s = g_.statements[s].parent) {
    if (g_.statements[s].kind != StatementKind::other) continue;
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

std::string SitePlanner::target_name(const Operation* target, size_t position) {
  if (target == nullptr || position >= target->parameters.size()) return "";
  return target->parameters[position].name;
}

bool SitePlanner::without_effect(ValueId id, ValueId root) const {
  // There `x.item()` decides what runs, where it raises.
  const StatementId home = g_[root].statement;
  const bool caught = home != kNone && g_.statements[home].caught;
  std::vector<ValueId> work{id};
  std::set<ValueId> seen;
  while (!work.empty()) {
    ValueId at = work.back();
    work.pop_back();
    if (at == kNone || !seen.insert(at).second) continue;
    const Value& v = g_[at];
    // What a name stands for was evaluated before.
    if (v.statement != home) continue;
    const bool calls = v.kind == Kind::call && (caught || !g_.readers.contains(at));
    if (calls || (v.kind == Kind::op && !v.op->pure)) return false;
    if (v.kind == Kind::opaque && v.text != "string" && v.text != "dictionary" &&
        v.range.size() != 0) {
      return false;
    }
    work.insert(work.end(), v.operands.begin(), v.operands.end());
  }
  return true;
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
  if (scalar == "true" || scalar == "false") {
    return frontend_.literal(Literal::truth(scalar == "true"));
  }
  if (scalar == "null") return frontend_.literal(Literal{});
  return frontend_.literal(parse_literal(scalar).value_or(Literal::symbol(scalar)));
}

}  // namespace refit
