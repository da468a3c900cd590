// Evaluation of where-clauses on evidence: see constraint.hpp. One function a kind, in one table.
#include "rewriter/match/constraint.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "rewriter/match/facts.hpp"
#include "rewriter/match/rank_parts.hpp"

namespace refit {

namespace {

using Test = bool (*)(const Where&, const SiteView&, const Argument&);

bool among(const Literal& literal, const std::vector<Literal>& values) {
  return std::ranges::any_of(values, [&](const Literal& v) { return same_value(v, literal); });
}

// Every value that the argument may have is a literal among the clause's.
bool is(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return a.default_value && among(*a.default_value, clause.values);
  const Value& v = (*site.graph)[a.value];
  if (v.kind == Kind::phi) {
    Argument then_side = a, else_side = a;
    then_side.value = v.operands[1];
    else_side.value = v.operands[2];
    return is(clause, site, then_side) && is(clause, site, else_side);
  }
  auto literal = literal_of(*site.graph, a.value);
  return literal && among(*literal, clause.values);
}

bool is_not(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return !a.default_value || !among(*a.default_value, clause.values);
  auto literal = literal_of(*site.graph, a.value);
  if (!literal && (*site.graph)[a.value].kind == Kind::attribute) {
    if (auto text = site.attribute(a.value).text) {
      literal.emplace();
      literal->kind = Literal::Kind::string;
      literal->text = *text;
    }
  }
  return !literal || !among(*literal, clause.values);
}

bool rank(const Where& clause, const SiteView& site, const Argument& a) {
  auto r = rank_of(*site.graph, a.value);
  return r && *r == clause.number;
}

bool dtype(const Where& clause, const SiteView& site, const Argument& a) {
  if (clause.values.empty()) return false;
  const std::string& type = clause.values.front().text;
  if (type.ends_with("bool")) return is_boolean(*site.graph, a.value);
  return cast_type(*site.graph, a.value) == type;
}

bool inference_zero(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) {
    return a.default_value && same_value(*a.default_value, Literal::whole(0));
  }
  return zero_at_inference(*site.graph, a.value);
}

bool absent(const Where&, const SiteView&, const Argument& a) { return a.value == kNone; }
bool passed(const Where&, const SiteView&, const Argument& a) { return a.value != kNone; }

bool simple(const Where&, const SiteView& site, const Argument& a) {
  return a.value != kNone && site.simple(a.value);
}

bool literal(const Where&, const SiteView& site, const Argument& a) {
  return a.value == kNone || literal_of(*site.graph, a.value).has_value();
}

bool last_dim(const Where&, const SiteView& site, const Argument& a) {
  auto l = a.value == kNone ? a.default_value : literal_of(*site.graph, a.value);
  return l && l->kind == Literal::Kind::integer && l->integer == -1;
}

// A weight, or what is left of it once it is known not to be None.
bool attribute(const Where&, const SiteView& site, const Argument& a) {
  return a.value != kNone && (*site.graph)[a.value].kind == Kind::attribute;
}

bool numeric(const Literal& literal) {
  return literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real;
}

bool number(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return false;
  const Value& v = (*site.graph)[a.value];
  if (v.kind == Kind::literal || v.kind == Kind::parameter) return numeric(v.literal);
  return v.kind == Kind::attribute || v.kind == Kind::symbol;
}

// As `number`, but an attribute only where its class shows one.
bool scalar(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return a.default_value && numeric(*a.default_value);
  return is_scalar(*site.graph, a.value, [&](ValueId id) { return site.attribute(id).number; });
}

bool one_size(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return false;
  if (has_one_size(*site.graph, a.value)) return true;
  const Value& v = (*site.graph)[a.value];
  if (!is_shape(*site.graph, a.value)) return false;
  return rank_of(*site.graph, v.operands[0]) == 1;  // all the sizes of what has one axis
}

bool not_sequence(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return true;
  Kind kind = (*site.graph)[a.value].kind;
  return kind != Kind::tuple && kind != Kind::list;
}

bool tensor_or_none(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) {
    return a.default_value && a.default_value->kind == Literal::Kind::none;
  }
  return is_tensor_or_none(*site.graph, a.value);
}

// Nothing shows that it is an object which some class or its factory made, or a sum or product of
// one.
bool no_object(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return true;
  std::vector<ValueId> work{a.value};
  std::vector<ValueId> seen;
  while (!work.empty()) {
    ValueId id = work.back();
    work.pop_back();
    if (std::ranges::find(seen, id) != seen.end()) continue;
    seen.push_back(id);
    const Value& v = (*site.graph)[id];
    if (v.kind == Kind::phi) {
      work.push_back(v.operands[1]);
      work.push_back(v.operands[2]);
    }
    if (v.kind == Kind::op && v.op->is_class) return false;
    if (v.kind == Kind::op && v.op->axes == AxisKind::elementwise && !v.operands.empty()) {
      work.push_back(v.operands[0]);
    }
    if (v.kind == Kind::call && (*site.graph)[v.operands[0]].kind == Kind::symbol) {
      return false;
    }
    // Declared as an object of a class of its own, which may compute as it likes.
    if (v.kind == Kind::parameter && v.literal.kind == Literal::Kind::symbol &&
        !v.literal.text.starts_with("torch.")) {
      return false;
    }
  }
  return true;
}

// It is not made of another element type than the tensor it comes from.
bool not_cast(const Where&, const SiteView& site, const Argument& a) {
  return a.value == kNone || !is_cast(*site.graph, a.value);
}

bool computed_from(const Where& clause, const SiteView& site, const Argument& a) {
  return a.value != kNone && uses_operation(*site.graph, a.value, [&](const Operation& op) {
           return std::ranges::any_of(clause.values,
                                      [&](const Literal& name) { return name.text == op.id; });
         });
}

bool training_flag(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return false;
  const Value& v = (*site.graph)[a.value];
  if (v.kind == Kind::literal) {
    return v.literal.kind == Literal::Kind::boolean && !v.literal.boolean;
  }
  return v.kind == Kind::attribute && v.text == "training";
}

// A number is none: `if mask is None: mask = 0`.
bool may_be_floating(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone || is_boolean(*site.graph, a.value)) return false;
  std::vector<ValueId> work{a.value};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Value& v = (*site.graph)[id];
    if (site.graph->numbers.contains(id)) return false;
    if (v.kind == Kind::literal && v.literal.kind != Literal::Kind::none) return false;
    if (v.kind == Kind::phi) work.insert(work.end(), {v.operands[1], v.operands[2]});
  }
  return true;
}

// What a call of an attribute gives, through casts; with `parts` also a part or a view of that, or
// one side of a join.
bool comes_of_call(const SiteView& site, const Argument& a, bool parts) {
  std::vector<ValueId> work{a.value};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Value& v = (*site.graph)[id];
    if (v.kind == Kind::call && (*site.graph)[v.operands[0]].kind == Kind::attribute) return true;
    const bool part =
        v.kind == Kind::index || v.kind == Kind::element || (v.kind == Kind::op && v.op->view);
    const bool cast = v.kind == Kind::op && v.op->axes == AxisKind::cast;
    if (parts && v.kind == Kind::phi) {
      work.insert(work.end(), {v.operands[1], v.operands[2]});
    } else if ((cast || (parts && part)) && !v.operands.empty()) {
      work.push_back(v.operands[0]);
    }
  }
  return false;
}

bool called(const Where&, const SiteView& site, const Argument& a) {
  return comes_of_call(site, a, false);
}

bool part_of_call(const Where&, const SiteView& site, const Argument& a) {
  return comes_of_call(site, a, true);
}

// Some name means it.
bool named(const Where&, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return false;
  return (*site.graph)[a.value].kind == Kind::parameter ||
         !site.graph->definitions_of(a.value).empty();
}

// A name, an attribute, one of several results, or a view of such: nothing is computed for it.
bool plain(const Where&, const SiteView& site, const Argument& a) {
  std::vector<ValueId> work{a.value};
  std::set<ValueId> seen;
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !seen.insert(id).second) continue;
    const Value& v = (*site.graph)[id];
    if (v.kind == Kind::phi) work.insert(work.end(), {v.operands[1], v.operands[2]});
    if (v.kind == Kind::index) work.push_back(v.operands[0]);
    if (v.kind != Kind::op || v.op->axes == AxisKind::split) continue;
    if (!v.op->view && v.op->axes != AxisKind::cast) return false;
    work.push_back(v.operands[0]);
  }
  return a.value != kNone && (*site.graph)[a.value].kind != Kind::literal;
}

// A name or an attribute that fits one of the globs stands for it, or for what it is a part, a view
// or a cast of.
bool spelt(const Where& clause, const SiteView& site, const Argument& a) {
  const Graph& graph = *site.graph;
  const auto fits = [&](const std::string& name) {
    return std::ranges::any_of(clause.values, [&](const Literal& glob) {
      return fnmatch(glob.text.c_str(), name.c_str(), 0) == 0;
    });
  };
  for (ValueId id = a.value; id != kNone;) {
    const Value& v = graph[id];
    if ((v.kind == Kind::parameter || v.kind == Kind::attribute) && fits(v.text)) return true;
    for (const DefinitionId d : graph.definitions_of(id)) {
      if (fits(graph.names[graph.definitions[d].name])) return true;
    }
    const bool view = v.kind == Kind::op && (v.op->view || v.op->axes == AxisKind::cast);
    id = (v.kind == Kind::index || view) && !v.operands.empty() ? v.operands[0] : kNone;
  }
  return false;
}

// An attribute of a parameter whose annotation names a class of another file.
bool of_other_file(const SiteView& site, ValueId id) {
  const Value& v = (*site.graph)[id];
  if (v.kind != Kind::attribute || v.operands.empty()) return false;
  const Value& object = (*site.graph)[v.operands[0]];
  return object.kind == Kind::parameter && object.text != "self" &&
         object.literal.kind == Literal::Kind::symbol &&
         !object.literal.text.starts_with(site.module + ".");
}

bool instance_anywhere(const Where& clause, const SiteView& site, const Argument& a) {
  if (a.value == kNone) return false;
  for (const auto& [call, classes] : site.graph->instances) {
    // The attribute may have been read before the call, too: `if self.norm is not None`.
    if (!site.graph->same((*site.graph)[call].operands[0], a.value)) continue;
    if (site.attribute(a.value).elsewhere) return false;
    return std::ranges::all_of(classes, [&](const Operation* op) {
      return std::ranges::any_of(clause.values,
                                 [&](const Literal& name) { return name.text == op->id; });
    });
  }
  return false;
}

bool instance(const Where& clause, const SiteView& site, const Argument& a) {
  return a.value != kNone && !of_other_file(site, a.value) && instance_anywhere(clause, site, a);
}

bool over_last_axis(const Where&, const SiteView& site, const Argument& a) {
  return a.value != kNone && (*site.graph)[a.value].kind == Kind::attribute &&
         site.attribute(a.value).over_last_axis;
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
                                                          {"scalar", scalar},
                                                          {"one_size", one_size},
                                                          {"not_sequence", not_sequence},
                                                          {"tensor_or_none", tensor_or_none},
                                                          {"no_object", no_object},
                                                          {"not_cast", not_cast},
                                                          {"computed_from", computed_from},
                                                          {"training_flag", training_flag},
                                                          {"may_be_floating", may_be_floating},
                                                          {"called", called},
                                                          {"part_of_call", part_of_call},
                                                          {"named", named},
                                                          {"plain", plain},
                                                          {"spelt", spelt},
                                                          {"instance", instance},
                                                          {"instance_anywhere", instance_anywhere},
                                                          {"over_last_axis", over_last_axis}};
  return kTests;
}

}  // namespace

bool holds(const Where& clause, const SiteView& site) {
  if (clause.kind == "outside") {
    const std::string& package = clause.values.front().text;
    return site.module != package && !site.module.starts_with(package + ".");
  }
  if (clause.kind == "not_within") {
    return std::ranges::none_of(clause.values,
                                [&](const Literal& name) { return site.within(name.text); });
  }
  if (clause.kind == "not_passed_to") {
    return std::ranges::none_of(clause.values,
                                [&](const Literal& name) { return site.passed_to(name.text); });
  }
  if (clause.kind == "unread") return site.unread(clause.number);
  if (clause.kind == "unpacked") {
    return site.unpacked(clause.number, static_cast<int>(clause.values.front().integer));
  }
  if (clause.kind == "not_in_tree") {
    return std::ranges::none_of(clause.values,
                                [&](const Literal& text) { return site.in_tree(text.text); });
  }
  auto test = tests().find(clause.kind);
  if (test == tests().end()) return false;
  return std::ranges::all_of(clause.of, [&](const std::string& name) {
    Argument a = site.argument(name);
    // What this alternative of a pattern lacks cannot stand in the way.
    if (!a.known) return clause.kind != "present";
    return test->second(clause, site, a);
  });
}

bool contradicted(const Where& clause, const SiteView& site) {
  if (clause.kind != "rank" && clause.kind != "inference_zero") return false;
  return std::ranges::any_of(clause.of, [&](const std::string& name) {
    Argument a = site.argument(name);
    if (!a.known || a.value == kNone) return false;
    if (clause.kind == "inference_zero") return nonzero_at_inference(*site.graph, a.value);
    auto shown = rank_of(*site.graph, a.value);
    return shown && *shown != clause.number;
  });
}

}  // namespace refit
