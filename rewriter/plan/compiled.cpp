// Compiling rules through the language that they are written in: see compiled.hpp. A hole that
// nothing binds is an error, in a rewrite as in a clause.
#include "rewriter/plan/compiled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "rewriter/plan/pattern_checks.hpp"
#include "rewriter/rule/yaml_file.hpp"

namespace refit {

namespace {

std::string place(const RuleLocation& at) {
  return fmt::format("{}:{}:{}", at.file, at.line, at.column);
}

Expected<CompiledPattern> compile_pattern(const Pattern& pattern, RuleLanguage& language) {
  auto g = language.pattern(pattern.code);
  if (!g) return failure(place(pattern.at) + ": " + g.error().message);
  CompiledPattern out;
  out.graph = std::move(*g);
  out.root = out.graph.results.front();
  out.source = &pattern;
  return out;
}

constexpr size_t kCrossed = 3;  // commutative operations of a pattern that are written both ways

// A match of holes that have choices is only settled once these are tried: `$x * $cos` takes the
// first operand that it meets. So that a commuted sum is met too, the pattern once more for each
// order of the operands.
std::vector<CompiledPattern> orders(const CompiledPattern& pattern, const Rule& rule) {
  std::vector<CompiledPattern> out;
  std::vector<ValueId> commutative;
  bool chosen = false;
  const Graph& g = pattern.graph;
  auto hole = [&](ValueId id) { return id != kNone && g[id].kind == Kind::hole; };
  for (ValueId id = 0; id < g.values.size(); ++id) {
    const Value& v = g[id];
    chosen = chosen || (v.kind == Kind::hole && rule.match.choices.contains(v.text));
    if (v.kind != Kind::op || !v.op->commutative || v.operands.size() != 2) continue;
    bool alike = hole(v.operands[0]) == hole(v.operands[1]);
    if (alike && v.operands[0] != v.operands[1]) commutative.push_back(id);
  }
  if (!chosen || commutative.size() > kCrossed) commutative.clear();
  for (size_t order = 0; order < size_t{1} << commutative.size(); ++order) {
    CompiledPattern next = pattern;
    for (size_t i = 0; i < commutative.size(); ++i) {
      auto& operands = next.graph[commutative[i]].operands;
      if ((order >> i) & 1) std::swap(operands[0], operands[1]);
    }
    out.push_back(std::move(next));
  }
  return out;
}

void bound_by(const CompiledPattern& p, std::set<std::string>& names) {
  for (const Value& v : p.graph.values) {
    if (v.kind == Kind::hole) names.insert(v.text);
  }
}

// A clause on a name that no pattern binds would hold at every site. The names of a call rule are
// checked against the callee's signature when its file is read.
void check_names(const Rule& rule, const std::set<std::string>& bound,
                 std::vector<std::string>& mistakes) {
  const std::vector<std::string> holes(bound.begin(), bound.end());
  auto check = [&](const std::string& name, const RuleLocation& at, std::string_view where) {
    if (bound.contains(name)) return;
    mistakes.push_back(
        fmt::format("{}: {} names `{}`, but no pattern of the rule `{}` has a hole "
                    "`${}`{}",
                    place(at), where, name, rule.id, name, did_you_mean(nearest(name, holes))));
  };
  auto check_clauses = [&](const std::vector<Where>& clauses) {
    for (const Where& clause : clauses) {
      for (const std::string& name : clause.of) {
        check(name, clause.at, fmt::format("the clause `{}`", clause.kind));
      }
    }
  };
  for (const auto& [hole, operand] : rule.match.bypass) check(operand, rule.at, "`bypass`");
  check_clauses(rule.where);
  for (const Pattern& pattern : rule.match.patterns) check_clauses(pattern.where);
  for (const auto& [hole, alternatives] : rule.match.choices) {
    for (const Pattern& pattern : alternatives) check_clauses(pattern.where);
  }
  for (const Rewrite& rewrite : rule.rewrites) check_clauses(rewrite.where);
  if (rule.layout) {
    for (const auto& [name, axes] : rule.layout->operands) check(name, rule.at, "`layout`");
  }
}

// The code that a hole stands for is lost where the rewrite leaves it out, which is right only
// where the rule says so. A hole with choices is written by the holes of its alternatives.
void check_drops(const CompiledRule& compiled, std::vector<std::string>& mistakes) {
  const Rule& rule = *compiled.rule;
  std::vector<const CompiledPattern*> patterns;
  std::map<std::string, std::set<std::string>> written_by;  // a name of `set` and its holes
  auto add = [&](const CompiledPattern& pattern) {
    patterns.push_back(&pattern);
    for (const auto& [name, text] : pattern.source->set) {
      for (std::string& hole : holes_in(text)) written_by[name].insert(std::move(hole));
    }
  };
  for (const CompiledPattern& pattern : compiled.patterns) add(pattern);
  for (const auto& [hole, alternatives] : compiled.choices) {
    for (const CompiledPattern& pattern : alternatives) add(pattern);
  }
  std::set<std::string> holes;
  for (const CompiledPattern* pattern : patterns) bound_by(*pattern, holes);
  for (const std::string& name : rule.drops) {
    if (holes.contains(name)) continue;
    mistakes.push_back(
        fmt::format("{}: `drops` names `{}`, but no pattern of the rule `{}` has a hole `${}`",
                    place(rule.at), name, rule.id, name));
  }
  std::set<std::string> kept(rule.drops.begin(), rule.drops.end());
  for (const auto& [hole, alternatives] : compiled.choices) kept.insert(hole);
  for (const auto& [hole, operand] : rule.match.bypass) kept.insert(operand);
  for (const CompiledRewrite& rewrite : compiled.rewrites) {
    std::set<std::string> written = kept;
    for (const std::string& hole : holes_in(rewrite.source->with)) {
      written.insert(hole);
      std::vector<std::string> given{hole};  // texts may have names that other alternatives give
      while (!given.empty()) {
        const auto found = written_by.find(given.back());
        given.pop_back();
        if (found == written_by.end()) continue;
        for (const std::string& part : found->second) {
          if (written.insert(part).second) given.push_back(part);
        }
      }
    }
    // What was not passed, or is a known literal, has no code to lose.
    for (const auto* clauses : {&rule.where, &rewrite.source->where}) {
      for (const Where& clause : *clauses) {
        if (clause.kind == "absent" || clause.kind == "is") {
          written.insert(clause.of.begin(), clause.of.end());
        }
      }
    }
    std::set<std::string> said;
    for (const CompiledPattern* pattern : patterns) {
      std::set<std::string> bound;
      bound_by(*pattern, bound);
      for (const std::string& hole : bound) {
        if (written.contains(hole) || !said.insert(hole).second) continue;
        mistakes.push_back(fmt::format(
            "{}: the rewrite leaves out the hole `${}` of the pattern at line {}, and its code "
            "would be "
            "lost; write `${}`, or list it under `drops` where the result cannot depend on it",
            place(rewrite.source->at), hole, pattern->source->at.line, hole));
      }
    }
  }
}

}  // namespace

std::vector<std::string> holes_in(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() &&
           (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) {
      ++end;
    }
    out.emplace_back(text.substr(at + 1, end - at - 1));
  }
  return out;
}

const std::vector<size_t>& CompiledRules::rooted_at(const Value& value) const {
  static const std::vector<size_t> kNoRules;
  if (value.op == nullptr) return by_root_kind.at(static_cast<size_t>(value.kind));
  auto found = by_root_operation.find(value.op);
  return found == by_root_operation.end() ? kNoRules : found->second;
}

Expected<CompiledRules> compile(const RuleSet& rules, RuleLanguage& language) {
  CompiledRules out;
  std::vector<std::string> mistakes;
  for (const Rule& rule : rules.rules()) {
    CompiledRule compiled;
    compiled.rule = &rule;
    std::set<std::string> bound;
    for (const auto* names : {&rule.match.call, &rule.match.construct}) {
      for (const std::string& name : *names) {
        const Operation* op = rules.catalogue().find(name);
        if (op == nullptr) {
          return failure(place(rule.at) + ": the catalogue has no operation `" + name + "`");
        }
        compiled.callees.push_back(op);
        for (const Parameter& p : op->parameters) bound.insert(p.name);
      }
    }
    for (const Pattern& pattern : rule.match.patterns) {
      auto p = compile_pattern(pattern, language);
      if (!p) return tl::unexpected(p.error());
      check_pattern(*p, false, rules.catalogue(), mistakes);
      bound_by(*p, bound);
      for (const auto& [name, text] : pattern.set) bound.insert(name);
      for (CompiledPattern& order : orders(*p, rule)) {
        compiled.patterns.push_back(std::move(order));
      }
    }
    for (const auto& [hole, alternatives] : rule.match.choices) {
      for (const Pattern& pattern : alternatives) {
        auto p = compile_pattern(pattern, language);
        if (!p) return tl::unexpected(p.error());
        check_pattern(*p, true, rules.catalogue(), mistakes);
        bound_by(*p, bound);
        for (const auto& [name, text] : pattern.set) bound.insert(name);
        for (CompiledPattern& order : orders(*p, rule)) {
          compiled.choices[hole].push_back(std::move(order));
        }
      }
    }
    for (const Anchor& anchor : rule.anchors) {
      CompiledAnchor made;
      made.source = &anchor;
      for (const Pattern& pattern : anchor.patterns) {
        auto p = compile_pattern(pattern, language);
        if (!p) return tl::unexpected(p.error());
        made.patterns.push_back(std::move(*p));
      }
      for (const std::string& name : anchor.operation) {
        made.operation.insert(rules.catalogue().find(name));
      }
      for (const std::string& name : anchor.fed_by) {
        made.fed_by.insert(rules.catalogue().find(name));
      }
      compiled.anchors.push_back(std::move(made));
    }
    for (const Rewrite& rewrite : rule.rewrites) {
      auto t = language.rewrite_template(rewrite.with);
      if (!t) return failure(place(rewrite.at) + ": " + t.error().message);
      if (!t->behind.empty() && !compiled.callees.empty()) {
        return failure(place(rewrite.at) +
                       ": methods behind the call are for rules with a pattern alone");
      }
      for (const auto& [keyword, text] : t->arguments) {
        for (const std::string& hole : holes_in(text)) {
          if (!bound.contains(hole)) {
            return failure(
                fmt::format("{}: `${}` in `{}` is bound by no pattern and is no "
                            "parameter of the callee",
                            place(rewrite.at), hole, rewrite.with));
          }
          if (compiled.choices.contains(hole) && rule.match.bypass.empty()) {
            mistakes.push_back(fmt::format(
                "{}: `${}` in `{}` has `choices`, of which one is taken in its place, so that the "
                "argument would be missing; have each of them `set` a name, and write that",
                place(rewrite.at), hole, rewrite.with));
          }
        }
      }
      compiled.rewrites.push_back({&rewrite, std::move(*t)});
    }
    if (compiled.callees.empty()) check_names(rule, bound, mistakes);
    if (compiled.callees.empty()) check_drops(compiled, mistakes);
    size_t index = out.rules.size();
    for (const Operation* op : compiled.callees) out.by_callee[op].push_back(index);
    if (!compiled.patterns.empty()) out.pattern_rules.push_back(index);
    for (const CompiledPattern& pattern : compiled.patterns) {
      const Value& root = pattern.graph[pattern.root];
      auto& rules_there = root.op != nullptr ? out.by_root_operation[root.op]
                                             : out.by_root_kind.at(static_cast<size_t>(root.kind));
      if (rules_there.empty() || rules_there.back() != index) rules_there.push_back(index);
    }
    out.rules.push_back(std::move(compiled));
  }
  if (!mistakes.empty()) return failure(fmt::format("{}", fmt::join(mistakes, "\n")));
  return out;
}

}  // namespace refit
