// Evaluation of where-clauses on evidence: see constraint.hpp. One function a kind, in one table.
#include "rewriter/match/constraint.hpp"

#include <algorithm>
#include <map>

#include "rewriter/match/facts.hpp"

namespace refit {

namespace {

using Test = bool (*)(const Where&, const SiteView&, const Argument&);

bool among(const Literal& literal, const std::vector<Literal>& values) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Literal& v) { return same_value(v, literal); });
}

// Every value that the argument may have is a literal among the clause's.
bool is(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == graph::kNone) return a.default_value && among(*a.default_value, clause.values);
  const graph::Value& v = (*site.graph)[a.value];
  if (v.kind == graph::Kind::phi) {
    Argument then_side = a, else_side = a;
    then_side.value = v.operands[1];
    else_side.value = v.operands[2];
    return is(clause, site, then_side) && is(clause, site, else_side);
  }
  auto literal = literal_of(*site.graph, a.value);
  return literal && among(*literal, clause.values);
}

bool is_not(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == graph::kNone) return !a.default_value || !among(*a.default_value, clause.values);
  auto literal = literal_of(*site.graph, a.value);
  return !literal || !among(*literal, clause.values);
}

bool rank(const Where& clause, const SiteView& site, const Argument& a) {
  auto r = rank_of(*site.graph, a.value);
  return r && *r == clause.number;
}

bool dtype(const Where& clause, const SiteView& site, const Argument& a) {
  if (clause.values.empty()) return false;
  const std::string& type = clause.values.front().text;
  return type.ends_with("bool") && is_boolean(*site.graph, a.value);
}

bool inference_zero(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == graph::kNone) {
    Literal zero;
    zero.kind = Literal::Kind::integer;
    return a.default_value && same_value(*a.default_value, zero);
  }
  return zero_at_inference(*site.graph, a.value);
}

bool absent(const Where&, const SiteView&, const Argument& a) { return a.value == graph::kNone; }
bool passed(const Where&, const SiteView&, const Argument& a) { return a.value != graph::kNone; }

bool simple(const Where&, const SiteView& site, const Argument& a) {
  return a.value != graph::kNone && site.simple(a.value);
}

bool literal(const Where&, const SiteView& site, const Argument& a) {
  return a.value == graph::kNone || literal_of(*site.graph, a.value).has_value();
}

bool last_dim(const Where&, const SiteView& site, const Argument& a) {
  auto l = a.value == graph::kNone ? a.default_value : literal_of(*site.graph, a.value);
  return l && l->kind == Literal::Kind::integer && l->integer == -1;
}

// A weight, or what is left of it once it is known not to be None.
bool attribute(const Where&, const SiteView& site, const Argument& a) {
  return a.value != graph::kNone && (*site.graph)[a.value].kind == graph::Kind::attribute;
}

bool numeric(const Literal& literal) {
  return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real;
}

bool number(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == graph::kNone) return false;
  const graph::Value& v = (*site.graph)[a.value];
  if (v.kind == graph::Kind::literal || v.kind == graph::Kind::parameter) return numeric(v.literal);
  return v.kind == graph::Kind::attribute || v.kind == graph::Kind::symbol;
}

bool not_sequence(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == graph::kNone) return true;
  graph::Kind kind = (*site.graph)[a.value].kind;
  return kind != graph::Kind::tuple && kind != graph::Kind::list;
}

const std::map<std::string_view, Test>& tests() {
  static const std::map<std::string_view, Test> kTests = {{"is", is},
                                                          {"is_not", is_not},
                                                          {"rank", rank},
                                                          {"dtype", dtype},
                                                          {"absent", absent},
                                                          {"present", passed},
                                                          {"simple", simple},
                                                          {"literal", literal},
                                                          {"last_dim", last_dim},
                                                          {"inference_zero", inference_zero},
                                                          {"attribute", attribute},
                                                          {"number", number},
                                                          {"not_sequence", not_sequence}};
  return kTests;
}

}  // namespace

bool holds(const Where& clause, const SiteView& site) {
  if (clause.kind == "outside") {
    const std::string& package = clause.values.front().text;
    return site.module != package && !site.module.starts_with(package + ".");
  }
  if (clause.kind == "not_within") {
    return std::none_of(clause.values.begin(), clause.values.end(),
                        [&](const Literal& name) { return site.within(name.text); });
  }
  if (clause.kind == "not_in_tree") {
    return std::none_of(clause.values.begin(), clause.values.end(),
                        [&](const Literal& text) { return site.in_tree(text.text); });
  }
  auto test = tests().find(clause.kind);
  if (test == tests().end()) return false;
  return std::all_of(clause.of.begin(), clause.of.end(), [&](const std::string& name) {
    Argument a = site.argument(name);
    return a.known && test->second(clause, site, a);
  });
}

}  // namespace refit
