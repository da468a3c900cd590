// See body_writes.hpp.
#include "rewriter/python/lower/body_writes.hpp"

#include <algorithm>
#include <array>

namespace refit::python {

namespace {

// Methods of lists and dictionaries that change them, and of a module that change its tensors.
constexpr std::array<std::string_view, 16> kChanging = {
    "append",  "appendleft", "clear",   "extend",         "insert", "pop",
    "popitem", "popleft",    "remove",  "reverse",        "rotate", "setdefault",
    "sort",    "update",     "setattr", "load_state_dict"};

// Functions and methods whose result is new storage.
constexpr std::array<std::string_view, 24> kMaking = {
    "arange",     "cat",      "clone",     "dict",     "empty",      "empty_like",
    "eye",        "full",     "full_like", "linspace", "list",       "new_empty",
    "new_full",   "new_ones", "new_zeros", "ones",     "ones_like",  "randn",
    "randn_like", "stack",    "tensor",    "zeros",    "zeros_like", "deepcopy"};

std::string_view last_name(TSNode callee, std::string_view source) {
  if (is(callee, "attribute")) return text_of(source, field(callee, "attribute"));
  return is(callee, "identifier") ? text_of(source, callee) : std::string_view{};
}

// What an assignment's target or a method's object is a part of: `x` of `x[0].data`.
TSNode root_of(TSNode place) {
  while (true) {
    if (is(place, "attribute")) {
      place = field(place, "object");
    } else if (is(place, "subscript")) {
      place = field(place, "value");
    } else if (is(place, "parenthesized_expression") && !children_of(place).empty()) {
      place = children_of(place).front();
    } else {
      return place;
    }
  }
}

bool makes_storage(TSNode value, std::string_view source) {
  if (is(value, "call")) {
    return std::ranges::find(kMaking, last_name(field(value, "function"), source)) != kMaking.end();
  }
  static constexpr std::array<NodeKind, 11> kNew = {"list",
                                                    "dictionary",
                                                    "list_comprehension",
                                                    "dictionary_comprehension",
                                                    "integer",
                                                    "float",
                                                    "string",
                                                    "tuple",
                                                    "binary_operator",
                                                    "unary_operator",
                                                    "comparison_operator"};
  return std::ranges::find(kNew, type_of(value)) != kNew.end();
}

}  // namespace

BodyWrites::BodyWrites(TSNode root, std::string_view source) : source_(source) {
  walk_tree(root, [&](TSNode node) {
    const NodeKind kind = type_of(node);
    if (kind == "function_definition") {
      functions_.emplace(text_of(source_, field(node, "name")), node);
    }
    return holds_statements(kind);
  });
}

bool BodyWrites::may_write(std::string_view name) {
  if (auto known = known_.find(name); known != known_.end()) return known->second;
  auto [first, last] = functions_.equal_range(name);
  if (first == last) return false;
  known_[name] = false;
  for (; first != last; ++first) {
    if (body_writes(first->second)) return known_[name] = true;
  }
  return false;
}

bool BodyWrites::body_writes(TSNode function) {
  bool writes = false;
  walk_tree(field(function, "body"), [&](TSNode node) {
    const NodeKind kind = type_of(node);
    if (kind == "assignment" || kind == "augmented_assignment") {
      walk_tree(field(node, "left"), [&](TSNode place) {
        const bool part = is(place, "attribute") || is(place, "subscript");
        // `x += 1` writes where a tensor lies.
        const bool whole = kind == "augmented_assignment" && is(place, "identifier");
        writes = writes || ((part || whole) && !made_here(root_of(place), function));
        return !part;
      });
    } else if (kind == "call") {
      writes = writes || call_writes(node, function);
    }
    return !writes;
  });
  return writes;
}

bool BodyWrites::call_writes(TSNode call, TSNode function) {
  const TSNode callee = field(call, "function");
  const std::string_view name = last_name(callee, source_);
  const bool changes = (name.ends_with('_') && !name.ends_with("__")) ||
                       std::ranges::find(kChanging, name) != kChanging.end();
  if (changes && (!is(callee, "attribute") || !made_here(root_of(callee), function))) return true;
  for (TSNode argument : children_of(field(call, "arguments"))) {
    if (!is(argument, "keyword_argument")) continue;
    const std::string_view given = text_of(source_, field(argument, "name"));
    if (given == "out" || given == "inplace") return true;
  }
  return may_write(name);
}

// Whether a name is a local one to which the function gives nothing but new storage.
bool BodyWrites::made_here(TSNode object, TSNode function) const {
  if (!is(object, "identifier")) return false;
  const std::string_view name = text_of(source_, object);
  bool made = false, other = false;
  walk_tree(field(function, "parameters"), [&](TSNode node) {
    other = other || (is(node, "identifier") && text_of(source_, node) == name);
    return !other;
  });
  walk_tree(field(function, "body"), [&](TSNode node) {
    TSNode left{};
    if (is(node, "assignment") || is(node, "for_statement") || is(node, "for_in_clause")) {
      left = field(node, "left");
    } else if (is(node, "as_pattern") || is(node, "named_expression") ||
               is(node, "global_statement") || is(node, "nonlocal_statement")) {
      left = node;
    }
    if (!present(left)) return !other;
    const bool whole = is(left, "identifier") && text_of(source_, left) == name;
    if (whole && is(node, "assignment") && makes_storage(field(node, "right"), source_)) {
      made = true;
      return true;
    }
    if (is(left, "attribute") || is(left, "subscript")) return true;
    walk_tree(left, [&](TSNode part) {
      other = other || (is(part, "identifier") && text_of(source_, part) == name);
      return !is(part, "attribute") && !is(part, "subscript");
    });
    return !other;
  });
  return made && !other;
}

}  // namespace refit::python
