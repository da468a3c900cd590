// Assignments of Python: unpacking, augmented assignment, stores into slices and attributes, and
// where a store makes other names uncertain (alias.cpp).
#include <algorithm>
#include <tuple>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

void FunctionLowering::assignment(TSNode node) {
  auto id = open(node, StatementKind::assign);
  std::vector<TSNode> targets;
  TSNode at = children_of(node).front();
  TSNode right = at;
  while (is(right, "assignment")) {
    targets.push_back(field(right, "left"));
    right = field(right, "right");
    if (!present(right)) break;
  }
  if (!present(right)) {  // `x: Tensor`
    close(id);
    return;
  }
  std::optional<ValueId> parts;
  if (targets.size() == 1) parts = unrolled(targets.front(), right);
  ValueId value = parts                          ? *parts
                  : is(right, "expression_list") ? sequence(right, Kind::tuple)
                                                 : expression(right);
  bool impure = impure_;
  bool names_only = true;
  for (TSNode target : targets) {
    std::vector<TSNode> work{target};
    while (!work.empty()) {
      TSNode t = work.back();
      work.pop_back();
      const NodeKind type = type_of(t);
      if (type == "attribute" || type == "subscript") names_only = false;
      if (type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" ||
          type == "list_splat_pattern") {
        for (TSNode inner : children_of(t)) work.push_back(inner);
      }
    }
    assign(target, value);
  }
  Statement& s = g().statements[id];
  s.names_only = names_only;
  s.pure = !impure && names_only;
  if (!names_only && !impure && targets.size() == 1 && is(targets[0], "subscript")) {
    // A store into a slice of a tensor made here and seen by nobody else only defines it anew.
    TSNode base = field(targets[0], "value");
    if (is(base, "identifier") && !s.definitions.empty() && s.uses.empty()) s.pure = true;
  }
  close(id);
}

void FunctionLowering::assign(TSNode target, ValueId value) {
  const NodeKind type = type_of(target);
  if (stack_is_low()) {
    unit_.too_deep.push_back(range_of(target));
    std::set<std::string, std::less<>> names;
    std::vector<TSNode> work{target};
    while (!work.empty()) {
      TSNode at = work.back();
      work.pop_back();
      if (is(at, "identifier")) names.emplace(text(at));
      for (TSNode inner : children_of(at)) work.push_back(inner);
    }
    opaque_names(names, "nested too deeply", {value});
    return;
  }
  if (type == "identifier") {
    bind(text(target), value);
    return;
  }
  if (type == "parenthesized_expression") {
    for (TSNode inner : children_of(target)) assign(inner, value);
    return;
  }
  if (type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" ||
      type == "tuple" || type == "list") {
    auto parts = children_of(target);
    const auto star =
        std::ranges::find_if(parts, [](TSNode p) { return is(p, "list_splat_pattern"); });
    const bool starred = star != parts.end();
    const Value& v = g()[value];
    bool direct = !starred && keeps_items(value) && v.operands.size() == parts.size();
    std::vector<ValueId> items = direct ? v.operands : std::vector<ValueId>{};
    for (ValueId item : items) direct = direct && g()[item].kind != Kind::starred;
    if (direct) g()[value].range = {};  // taken apart at once: nobody reads the tuple itself
    for (size_t i = 0; i < parts.size(); ++i) {
      if (direct) {
        assign(parts[i], items[i]);
        continue;
      }
      Value part;
      part.kind = starred ? Kind::opaque : Kind::element;
      part.text = starred ? "unpacked" : "";
      part.operands = {value};
      part.index = i < static_cast<size_t>(star - parts.begin()) ? static_cast<int>(i) : -1;
      part.count = starred ? 0 : static_cast<int>(parts.size());
      TSNode name = is(parts[i], "list_splat_pattern") && !children_of(parts[i]).empty()
                        ? children_of(parts[i]).front()
                        : parts[i];
      part.statement = current_;
      assign(name, g().add(std::move(part)));
    }
    return;
  }
  if (type == "attribute") {
    ValueId base = expression(field(target, "object"));
    use(base);
    use(value);
    store_attribute(base, std::string(text(field(target, "attribute"))), value, target);
    return;
  }
  if (type == "subscript") {
    auto [base, index] = object_and_index(target);
    const Value place = g()[entry_of(base, index, target)];  // in its normal form
    if (place.kind == Kind::index)
      std::tie(base, index) = std::tie(place.operands[0], place.operands[1]);
    TSNode base_node = without_parentheses(field(target, "value"));
    Value stored;
    stored.kind = Kind::update;
    stored.operands = {base, index, value};
    bool local = is(base_node, "identifier") && scope_->locals.contains(text(base_node));
    bool own = local && fresh(base) && !escaped(base);
    ValueId after = add(std::move(stored), target);
    forget_aliases(base, local ? text(base_node) : std::string_view{});
    if (local) bind(text(base_node), after);
    const bool runs = entry_writes(base, index, "__setitem__");
    if (runs) g().writers.emplace(after, kNone);
    if (!own || runs) use(after);
    store_in_table(base, index, value, target);
    return;
  }
  for (TSNode inner : children_of(target)) assign(inner, value);
}

void FunctionLowering::augmented(TSNode node) {
  auto id = open(node, StatementKind::assign);
  TSNode left = field(node, "left");
  std::string token(text(field(node, "operator")));
  if (!token.empty() && token.back() == '=') token.pop_back();
  ValueId old_value = expression(left);
  ValueId right = expression(field(node, "right"));
  note_number(right);
  static const std::map<std::string_view, std::string_view> kOperations = {
      {"+", "operator.add"},
      {"-", "operator.sub"},
      {"*", "operator.mul"},
      {"/", "operator.truediv"},
      {"**", "operator.pow"}};
  auto known = kOperations.find(token);
  ValueId result = known == kOperations.end()
                       ? opaque("augmented assignment", {old_value, right}, node)
                       : operation(known->second, {old_value, right}, node);
  g().in_place.insert(result);
  // A tensor is changed where it lies: whoever else sees its storage sees the change.
  bool own = is(left, "identifier") && fresh(old_value);
  if (is(left, "identifier")) {
    forget_aliases(old_value, text(left));
    bind(text(left), result);
    if (!own) use(result);
  } else {
    use(result);
    if (is(left, "attribute") && g()[old_value].operands.size() == 1) {
      const ValueId read =
          g()[old_value].kind == Kind::call ? g()[old_value].operands[0] : old_value;
      store_attribute(g()[read].operands[0], std::string(text(field(left, "attribute"))), result,
                      left);
    }
    if (g()[old_value].kind == Kind::call && is(left, "subscript")) {
      g().writers.emplace(result, kNone);  // it has methods of its own
    }
    forget_aliases(old_value, "");
  }
  // Its result may be read through another name, so the statement always stays.
  g().statements[id].pure = false;
  g().statements[id].names_only = is(left, "identifier");
  use(result);
  close(id);
}

}  // namespace refit::python
