// Calls that a new call takes over where they stand: `q = norm(q)` goes, `q = cat([a, b], 1)`
// becomes `q = [a, b]`, and either becomes a choice where the new call does not always run. Entry
// point: Realiser::bypass_all.
#include <algorithm>

#include "rewriter/python/edit/realiser.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

// A choice between two values needs brackets where its text stands beside other text.
bool stands_alone(TSNode node) {
  const TSNode parent = ts_node_parent(node);
  return is(parent, "argument_list") || is(parent, "keyword_argument") ||
         (is(parent, "assignment") && ts_node_eq(field(parent, "right"), node));
}

// What can stand where a call stood, whatever is beside it.
bool is_primary(TSNode node) {
  return is(node, "identifier") || is(node, "call") || is(node, "attribute") ||
         is(node, "subscript") || is(node, "parenthesized_expression");
}

// What stands between the operand and the call where the new call does not always run.
std::string choice_of(const Change::Bypass& bypass) {
  return " if " + bypass.chooser + (bypass.call_if_none ? " is None" : " is not None") + " else ";
}

// A name, or a call of a method of one with names alone, `query.float()`: a short text that
// computes nothing but what it says.
bool is_short(TSNode node) {
  if (is(node, "identifier")) return true;
  const TSNode function = is(node, "call") ? field(node, "function") : TSNode{};
  return !ts_node_is_null(function) && is(function, "attribute") &&
         is(field(function, "object"), "identifier") &&
         std::ranges::all_of(children_of(field(node, "arguments")), [](TSNode argument) {
           return is(argument, "identifier") || is(argument, "attribute");
         });
}

// A name, or a list of names: what can be written twice.
bool is_names(TSNode node) {
  if (is(node, "identifier")) return true;
  return (is(node, "list") || is(node, "tuple")) &&
         std::ranges::all_of(children_of(node), [](TSNode item) { return is(item, "identifier"); });
}

}  // namespace

Expected<void> Realiser::bypass_list(const Change::Bypass& bypass) {
  const TSNode node = unit_.nodes[g_[bypass.value].syntax];
  const auto arguments = is(node, "call") ? children_of(field(node, "arguments")) : NodeList{};
  if (arguments.empty()) return failure("what would go is no call");
  const TSNode list = arguments[0], statement = ts_node_parent(node);
  if (is(list, "identifier") || !is_names(list) || !is(statement, "assignment") ||
      !is(field(statement, "left"), "identifier") || !ts_node_is_null(field(statement, "type")) ||
      !ts_node_eq(field(statement, "right"), node) ||
      !comments_in(unit_.tree, unit_.text(), range_of(node)).empty()) {
    return failure(
        "what is concatenated is not written as names in a list, in a statement of its own");
  }
  const ByteRange whole = range_of(node);
  const std::string items(text_of(text_, list));
  if (bypass.chooser.empty()) return out_.edits.add({whole, items});
  return out_.edits.add({{whole.begin, whole.begin}, items + choice_of(bypass)});
}

Expected<void> Realiser::bypass_all() {
  for (const Change::Bypass& taken : change_.bypassed) {
    auto done = bypass(taken);
    if (!done) return done;
  }
  return {};
}

Expected<void> Realiser::bypass(const Change::Bypass& bypass) {
  if (g_[bypass.value].kind == Kind::op) return bypass_list(bypass);
  const TSNode node = unit_.nodes[g_[bypass.value].syntax];
  const auto list = is(node, "call") ? children_of(field(node, "arguments")) : NodeList{};
  if (list.size() != 1 || is(list[0], "keyword_argument") || is(list[0], "list_splat") ||
      is(list[0], "dictionary_splat") || is(list[0], "generator_expression") ||
      is(list[0], "named_expression")) {
    return failure("the call that would go has not one argument");
  }
  const TSNode kept = list[0];
  const ByteRange whole = range_of(node), inner = range_of(kept);
  if (!comments_in(unit_.tree, unit_.text(), whole).empty()) {
    return failure("a comment stands inside the call that would go; move it out");
  }
  if (!bypass.chooser.empty()) {
    const Value& operand = g_[bypass.operand];
    const bool cast = operand.kind == Kind::op && operand.op->axes == AxisKind::cast;
    if (!is(kept, "identifier") && !(cast && is_short(kept))) {
      return failure("what the call that would go is called with has no name; give it one");
    }
    const std::string name(text_of(text_, kept));
    const bool alone = stands_alone(node);
    auto done =
        out_.edits.add({{whole.begin, whole.begin}, (alone ? "" : "(") + name + choice_of(bypass)});
    if (!done || alone) return done;
    return out_.edits.add({{whole.end, whole.end}, ")"});
  }
  const StatementId home = g_[bypass.value].statement;
  if (home != kNone) {
    switch (names_itself(unit_, node, kept, &unpacked_[home])) {
      case NamesItself::no:
        break;
      case NamesItself::whole:
        out_.dead.insert(home);
        return {};
      case NamesItself::turns:
        return failure("the call that would go stands in a text that makes several values");
    }
  }
  const bool brackets = !is_primary(kept) && !stands_alone(node);
  auto done = out_.edits.add({{whole.begin, inner.begin}, brackets ? "(" : ""});
  if (!done) return done;
  return out_.edits.add({{inner.end, whole.end}, brackets ? ")" : ""});
}

}  // namespace refit::python
