// See body_writes.hpp.
#include "rewriter/python/lower/body_writes.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace refit::python {

namespace {

// Methods of lists and dictionaries that change them, and of a module that change its tensors.
constexpr std::array<std::string_view, 23> kChanging = {"append",
                                                        "appendleft",
                                                        "clear",
                                                        "extend",
                                                        "insert",
                                                        "pop",
                                                        "popitem",
                                                        "popleft",
                                                        "remove",
                                                        "reverse",
                                                        "rotate",
                                                        "setdefault",
                                                        "sort",
                                                        "update",
                                                        "setattr",
                                                        "load_state_dict",
                                                        "reset_parameters",
                                                        "add_module",
                                                        "register_module",
                                                        "register_buffer",
                                                        "delattr",
                                                        "register_parameter",
                                                        "__setitem__"};

// Functions and methods whose result is new storage.
constexpr std::array<std::string_view, 22> kMaking = {
    "arange",   "cat",       "clone",     "deepcopy",  "empty",     "empty_like",
    "eye",      "full",      "full_like", "linspace",  "new_empty", "new_full",
    "new_ones", "new_zeros", "ones",      "ones_like", "randn",     "randn_like",
    "stack",    "tensor",    "zeros",     "zeros_like"};

// What calling an object of a class runs.
constexpr std::array<std::string_view, 2> kRunByCalling = {"__call__", "forward"};

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

// What an expression makes: nothing of its own, an object of its own that may hold what others
// hold as well, or storage of its own.
enum class Made : uint8_t { nothing, holder, storage };

Made made_by(TSNode value, std::string_view source) {
  if (is(value, "call")) {
    const std::string_view name = last_name(field(value, "function"), source);
    if (name == "dict" || name == "list") return Made::holder;
    return std::ranges::find(kMaking, name) != kMaking.end() ? Made::storage : Made::nothing;
  }
  static constexpr std::array<NodeKind, 6> kHolders = {
      "list",           "dictionary", "tuple", "list_comprehension", "dictionary_comprehension",
      "binary_operator"};  // the sum of two lists
  static constexpr std::array<NodeKind, 5> kNumbers = {"integer", "float", "string",
                                                       "unary_operator", "comparison_operator"};
  if (std::ranges::find(kNumbers, type_of(value)) != kNumbers.end()) return Made::storage;
  const bool holder = std::ranges::find(kHolders, type_of(value)) != kHolders.end();
  return holder ? Made::holder : Made::nothing;
}

}  // namespace

BodyWrites::BodyWrites(TSNode root, std::string_view source) : source_(source) {
  NodeList assigned;
  walk_tree(root, [&](TSNode node) {
    const NodeKind kind = type_of(node);
    if (kind == "function_definition") {
      functions_.emplace(text_of(source_, field(node, "name")), node);
      note_property(node);
    } else if (kind == "class_definition") {
      classes_.insert(text_of(source_, field(node, "name")));
    } else if (kind == "expression_statement" && is(ts_node_child(node, 0), "assignment")) {
      assigned.push_back(ts_node_child(node, 0));
    }
    return holds_statements(kind);
  });
  for (TSNode assignment : assigned) note_property_call(assignment);
}

// `@property`, `@cached_property`, `@name.setter`.
void BodyWrites::note_property(TSNode function) {
  const TSNode around = ts_node_parent(function);
  if (!is(around, "decorated_definition")) return;
  const std::string_view name = text_of(source_, field(function, "name"));
  for (TSNode decorator : children_of(around)) {
    if (!is(decorator, "decorator")) continue;
    const std::string_view text = text_of(source_, decorator);
    if (text.ends_with(".setter") || text.ends_with(".deleter")) {
      setters_.emplace(name, function);
    } else if (text.ends_with("property") || text.ends_with(".getter")) {
      getters_.emplace(name, function);
    }
  }
}

// `name = property(read, store)`, of functions or lambdas.
void BodyWrites::note_property_call(TSNode assignment) {
  const TSNode left = field(assignment, "left"), right = field(assignment, "right");
  if (!is(left, "identifier") || !is(right, "call")) return;
  if (last_name(field(right, "function"), source_) != "property") return;
  const std::string_view name = text_of(source_, left);
  size_t position = 0;
  for (TSNode given : children_of(field(right, "arguments"))) {
    bool reads = position++ == 0;
    if (is(given, "keyword_argument")) {
      reads = text_of(source_, field(given, "name")) == "fget";
      given = field(given, "value");
    }
    Functions& kind = reads ? getters_ : setters_;
    if (is(given, "lambda")) kind.emplace(name, given);
    auto [first, last] = functions_.equal_range(text_of(source_, given));
    for (; first != last; ++first) kind.emplace(name, first->second);
  }
}

bool BodyWrites::may_write(std::string_view name) {
  auto known = known_.find(name);
  if (known == known_.end()) {
    known = known_.emplace(std::string(name), any_writes(functions_, name)).first;
  }
  return known->second;
}

bool BodyWrites::store_writes(std::string_view attribute) {
  if (may_write("__setattr__")) return true;
  if (!attribute.empty()) return any_writes(setters_, attribute);
  return std::ranges::any_of(setters_, [&](const auto& s) { return body_writes(s.second); });
}

bool BodyWrites::any_writes(const Functions& functions, std::string_view name) {
  NodeList found;
  auto [first, last] = functions.equal_range(name);
  for (; first != last; ++first) found.push_back(first->second);
  return any_writes(found);
}

// Whether one of some functions writes, or one of those that they run. What a walk finds out of the
// functions on its way is kept, so that a chain of calls is followed once.
bool BodyWrites::any_writes(const NodeList& functions) {
  struct Step {
    TSNode function;
    size_t from;  // the step that led here; kNoStep: none
  };
  constexpr size_t kNoStep = SIZE_MAX;
  std::vector<Step> steps;
  std::vector<size_t> work;
  std::set<uint32_t> seen;
  const auto add = [&](TSNode function, size_t from) {
    if (!seen.insert(ts_node_start_byte(function)).second) return;
    work.push_back(steps.size());
    steps.push_back({function, from});
  };
  const auto add_named = [&](const Functions& named, std::string_view name, size_t from) {
    auto [first, last] = named.equal_range(name);
    for (; first != last; ++first) add(first->second, from);
  };
  for (TSNode function : functions) add(function, kNoStep);
  while (!work.empty()) {
    const size_t at = work.back();
    work.pop_back();
    const auto known = reaches_write_.find(ts_node_start_byte(steps[at].function));
    if (known != reaches_write_.end() && !known->second) continue;
    const Body& body = body_of(steps[at].function);
    if (body.writes || known != reaches_write_.end()) {
      for (size_t step = at; step != kNoStep; step = steps[step].from) {
        reaches_write_[ts_node_start_byte(steps[step].function)] = true;
      }
      return true;
    }
    // What a body names it may run, itself or through what it hands it to.
    for (std::string_view name : body.named) {
      add_named(functions_, name, at);
      if (!classes_.contains(name)) continue;
      for (std::string_view run : kRunByCalling) add_named(functions_, run, at);
    }
    for (std::string_view name : body.reads) add_named(getters_, name, at);
  }
  for (const Step& step : steps) reaches_write_[ts_node_start_byte(step.function)] = false;
  return false;
}

const BodyWrites::Body& BodyWrites::body_of(TSNode function) {
  auto [at, fresh] = bodies_.try_emplace(ts_node_start_byte(function));
  Body& out = at->second;
  if (!fresh) return out;
  walk_tree(field(function, "body"), [&](TSNode node) {
    const NodeKind kind = type_of(node);
    if (kind == "assignment" || kind == "augmented_assignment" || kind == "delete_statement") {
      walk_tree(kind == "delete_statement" ? node : field(node, "left"), [&](TSNode place) {
        const bool part = is(place, "attribute") || is(place, "subscript");
        // `x += 1` writes where a tensor lies.
        const bool whole = kind == "augmented_assignment" && is(place, "identifier");
        out.writes = out.writes || ((part || whole) && !made_here(place, function));
        return !part;
      });
    } else if (kind == "global_statement" || kind == "nonlocal_statement" ||
               kind == "type_alias_statement") {  // the last is how `type(x).k = y` is read
      out.writes = true;
    } else if (kind == "call") {
      out.writes = out.writes || call_writes(node, function);
    } else if (kind == "attribute") {
      out.reads.push_back(text_of(source_, field(node, "attribute")));
      out.named.push_back(out.reads.back());
    } else if (kind == "identifier") {
      out.named.push_back(text_of(source_, node));
    }
    return !out.writes;
  });
  return out;
}

// Whether a call writes by what it names itself, whatever function that is.
bool BodyWrites::call_writes(TSNode call, TSNode function) const {
  const TSNode callee = field(call, "function");
  const std::string_view name = last_name(callee, source_);
  const bool changes = (name.ends_with('_') && !name.ends_with("__")) ||
                       std::ranges::find(kChanging, name) != kChanging.end();
  if (changes && (!is(callee, "attribute") || !made_here(callee, function))) return true;
  const NodeList arguments = children_of(field(call, "arguments"));
  return std::ranges::any_of(arguments, [&](TSNode argument) {
    if (!is(argument, "keyword_argument")) return false;
    const std::string_view given = text_of(source_, field(argument, "name"));
    return given == "out" || given == "inplace";
  });
}

// Whether a place, `x`, `x[0]` or `x.append`, is in a local name to which the function gives
// nothing but what it makes: storage, or, for `x[0]` but not for `x[0].mul_`, an object that holds
// others.
bool BodyWrites::made_here(TSNode place, TSNode function) const {
  const TSNode object = root_of(place);
  if (!is(object, "identifier")) return false;
  const TSNode behind = is(place, "attribute")   ? field(place, "object")
                        : is(place, "subscript") ? field(place, "value")
                                                 : place;
  const Made least = is(behind, "identifier") ? Made::holder : Made::storage;
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
    if (whole && is(node, "assignment") && made_by(field(node, "right"), source_) >= least) {
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
