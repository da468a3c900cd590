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
    refuse(site, "unresolved-callee",
           fmt::format("{} replaces `.{}`, so what the name means is decided at run time",
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
  SiteView view = view_of(id, v.op->is_class ? v.op : nullptr);
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
  for (const Where& clause : rule.rule->where) {
    if (clause.kind == "unread") only_part(id, clause.number, &change.parts);
  }
  std::map<std::string, std::string> extra;
  if (rule.rule->layout) set_layout(site, change, *rule.rule->layout, keep_layout, extra);
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
  bool left_out = false;  // a positional argument before this one
  for (size_t position = 0; position < rewrite->with.arguments.size(); ++position) {
    const auto& [keyword, text] = rewrite->with.arguments[position];
    NewArgument argument;
    argument.keyword = keyword.empty() && left_out ? target_name(change.callee, position) : keyword;
    auto holes = holes_in(text);
    if (holes.size() == 1 && text == "$" + holes[0]) {
      size_t i = places(holes[0]);
      ValueId value = i < v.operands.size() ? v.operands[i] : kNone;
      std::optional<Literal> wanted = target_default(target, keyword, position);
      std::optional<Literal> given =
          value == kNone ? parameters[i].default_value : literal_of(g_, value);
      bool same = wanted && given && same_value(*wanted, *given) &&
                  (given->kind == Literal::Kind::none) == (wanted->kind == Literal::Kind::none);
      if ((value == kNone && (same || !given)) ||
          (value != kNone && same && parameters[i].name != argument.keyword)) {
        left_out = left_out || keyword.empty();
        continue;
      }
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
  if ((!change.forwarded.empty() || !change.swapped.empty()) &&
      !frontend_.editable(unit_, change)) {
    return call_site(rule, id, "a comment or other text inside a transpose stands in the way");
  }
  site.change = std::move(change);
  site.rewritten = true;
  site.finding.outcome = Outcome::rewritten;
  return site;
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
        if (a.kind == Kind::symbol && catalogue_->find(a.text) == type) return true;
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
  return asked(type->id) || std::any_of(type->names.begin(), type->names.end(), asked);
}

bool SitePlanner::only_part(ValueId id, int except, std::vector<ValueId>* parts) const {
  int rank = g_[id].op == nullptr ? 0 : g_[id].op->result_rank.value_or(0);
  // Code that asks whether it got a tuple is written for either.
  bool asks = std::any_of(g_.users(id).begin(), g_.users(id).end(), [&](ValueId user) {
    return g_[user].kind == Kind::call && g_[g_[user].operands[0]].text == "isinstance";
  });
  bool tensor = false;
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
        } else if (g_.live()[user] || u.count == 0 || at != id) {
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
      } else if (u.kind == Kind::opaque && u.text == "unpacked") {
        return false;
      }
    }
  }
  if (asks) {
    parts->clear();
    return true;
  }
  return tensor != !parts->empty();
}

std::string SitePlanner::place_of(ValueId id) const {
  ByteRange range = g_[id].range;
  if (range.size() == 0 && g_[id].statement != kNone) range = g_.statements[g_[id].statement].range;
  return fmt::format("line {}", unit_.source().position(range.begin).line);
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
