// Calls of short functions that only compute, as the values that they give. Entry point:
// FunctionLowering::see_through.
#include <algorithm>

#include "rewriter/python/lower/choose.hpp"
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr size_t kHelperCalls = 5;  // of helpers inside the one that is seen through
constexpr int kHelperNesting = 60;  // of the expression that the call stands in

// The `return` of an `if` that holds nothing else; null for other statements.
TSNode guarded_return(TSNode statement) {
  if (!is(statement, "if_statement") || present(field(statement, "alternative"))) return {};
  const NodeList inside = statements_of(field(statement, "consequence"));
  return inside.size() == 1 && is(inside[0], "return_statement") ? inside[0] : TSNode{};
}

// The two blocks of an `if` with an `else`; null nodes for other statements.
std::pair<TSNode, TSNode> two_blocks(TSNode statement) {
  const TSNode otherwise = field(statement, "alternative");
  if (!is(statement, "if_statement") || !present(otherwise) || !is(otherwise, "else_clause")) {
    return {};
  }
  return {field(statement, "consequence"), field(otherwise, "body")};
}

// Whether a block has the form that see_statements follows: few statements that are expressions or
// return under a condition, and a `return` at the end, or an `if` that a call's arguments may
// decide.
bool is_straight(TSNode body) {
  const NodeList statements = statements_of(body);
  if (statements.empty() || statements.size() > kSeenStatements) return false;
  const TSNode last = statements.back();
  return (is(last, "return_statement") || present(two_blocks(last).first)) &&
         std::all_of(statements.begin(), statements.end() - 1, [](TSNode s) {
           return is(s, "expression_statement") || present(guarded_return(s));
         });
}

bool is_guarded(TSNode body) {
  return std::ranges::any_of(statements_of(body),
                             [](TSNode s) { return present(guarded_return(s)); });
}

// What a parameter is where a call does not give it, if that is a literal; a null node otherwise.
TSNode literal_default(TSNode parameter) {
  const TSNode value = field(parameter, "value");
  if (!present(value)) return {};
  const bool negative = is(value, "unary_operator");
  const TSNode number = negative ? field(value, "argument") : value;
  const bool literal = is(number, "integer") || is(number, "float");
  const bool other = is(value, "true") || is(value, "false") || is(value, "none");
  return literal || other ? value : TSNode{};
}

}  // namespace

// The statements of a helper: names bound to pure values and what is returned under conditions,
// then `return`.
bool FunctionLowering::see_statements(TSNode body, ValueId* result) {
  auto statements = statements_of(body);
  std::vector<std::pair<ValueId, ValueId>> guards;  // a condition and what is returned under it
  for (size_t i = 0; i < statements.size(); ++i) {
    TSNode s = statements[i];
    if (const auto [then, otherwise] = two_blocks(s); present(then)) {
      const ValueId condition = expression(field(s, "condition"));
      const Literal& decided = g()[condition].literal;
      if (g()[condition].kind != Kind::literal || decided.kind != Literal::Kind::boolean) {
        return false;
      }
      const TSNode taken = decided.boolean ? then : otherwise;
      return guards.empty() && is_straight(taken) && !is_guarded(taken) &&
             see_statements(taken, result);
    }
    const TSNode guarded = guarded_return(s);
    if (is(s, "return_statement") || present(guarded)) {
      auto value = children_of(present(guarded) ? guarded : s);
      if (value.size() != 1 || is(value[0], "expression_list")) return false;
      if (present(guarded)) {
        const ValueId condition = expression(field(s, "condition"));
        guards.emplace_back(condition, expression(value[0]));
        continue;
      }
      *result = expression(value[0]);
      for (; !guards.empty(); guards.pop_back()) {
        *result = phi(guards.back().first, guards.back().second, *result, s);
      }
      return i + 1 == statements.size();
    }
    auto inside = children_of(s);
    if (!is(s, "expression_statement") || inside.size() != 1) return false;
    if (is(inside[0], "string") && i == 0) continue;
    TSNode left = field(inside[0], "left"), right = field(inside[0], "right");
    if (!is(inside[0], "assignment") || !present(right) || is(right, "assignment")) return false;
    ValueId value = is(right, "expression_list") ? sequence(right, Kind::tuple) : expression(right);
    NodeList targets;
    if (is(left, "pattern_list")) {
      targets = children_of(left);
    } else {
      targets.push_back(left);
    }
    for (size_t t = 0; t < targets.size(); ++t) {
      if (!is(targets[t], "identifier")) return false;
      ValueId bound = value;
      if (is(left, "pattern_list")) {
        const Value& whole = g()[value];
        if (whole.kind == Kind::tuple && whole.operands.size() == targets.size()) {
          bound = whole.operands[t];
        } else {
          Value part;
          part.kind = Kind::element;
          part.operands = {value};
          part.index = static_cast<int>(t);
          part.count = static_cast<int>(targets.size());
          part.statement = current_;
          bound = g().add(std::move(part));
        }
      }
      overlays_.back()[std::string(text(targets[t]))] = bound;
    }
  }
  return false;
}

// The arguments of a call, and the literals that parameters of its definition have by default.
std::vector<FunctionLowering::Argument> FunctionLowering::with_defaults(
    const std::vector<Argument>& arguments, TSNode definition) {
  std::vector<Argument> out = arguments;
  size_t position = 0;
  for (const TSNode parameter : children_of(field(definition, "parameters"))) {
    const size_t at = position++;
    const TSNode value = literal_default(parameter);
    if (!present(value)) continue;
    const std::string_view name = text(field(parameter, "name"));
    const bool given = std::ranges::any_of(arguments, [&](const Argument& a) {
      return a.keyword.empty() ? &a - arguments.data() == static_cast<ptrdiff_t>(at)
                               : a.keyword == name;
    });
    if (!given) out.push_back({std::string(name), expression(value), 0, value});
  }
  return out;
}

// Whether arguments may be evaluated in another order: no two do more than compute, and none binds
// a name.
bool FunctionLowering::in_any_order(const std::vector<Argument>& arguments) const {
  size_t effects = 0;
  for (const Argument& a : arguments) {
    if (contains_text(text(a.node), ":=")) return false;
    bool effect = false;
    std::vector<ValueId> work{a.value};
    while (!work.empty() && !effect) {
      const ValueId id = work.back();
      work.pop_back();
      if (id == kNone || g()[id].statement != current_) continue;
      const Value& v = g()[id];
      effect = (v.kind == Kind::call && !g().instances.contains(id)) ||
               (v.kind == Kind::op && !v.op->pure);
      work.insert(work.end(), v.operands.begin(), v.operands.end());
    }
    effects += effect ? 1 : 0;
  }
  return effects < 2;
}

// The function of this file that a call of `callee` runs, unless overridden_elsewhere; null where
// that is not shown. `object` is set to the object whose method it is.
TSNode FunctionLowering::definition_of(ValueId callee, ValueId* object) const {
  const Value& c = g()[callee];
  auto method = unit_.methods.find(index_);
  if (c.kind == Kind::attribute && method != unit_.methods.end() &&
      g()[c.operands[0]].kind == Kind::parameter && g()[c.operands[0]].text == "self") {
    TSNode definition = unit_.classes->only_method(method->second, c.text);
    *object = c.operands[0];
    return definition;
  }
  if (c.kind == Kind::function) {
    auto found = shared_.definitions.find(static_cast<uint32_t>(c.index));
    return found != shared_.definitions.end() ? found->second : TSNode{};
  }
  if (c.kind == Kind::symbol && c.text.starts_with(unit_.module + ".")) {
    auto found = shared_.top_level.find(c.text.substr(unit_.module.size() + 1));
    return found != shared_.top_level.end() ? found->second : TSNode{};
  }
  return {};
}

// Whether a class of another file may have its own of the method that a callee names. The answer
// may read many files, so that it is asked for last.
bool FunctionLowering::overridden_elsewhere(ValueId callee) const {
  const std::string& name = g()[callee].text;
  const std::string_view owner = last_name(unit_.methods.at(index_));
  Project& project = context_.project;
  return project.stored_outside(name) ||
         project.subclass_writes(unit_.module, std::string(owner), name);
}

std::optional<std::vector<std::string>> plain_parameters(TSNode definition, std::string_view text) {
  std::vector<std::string> out;
  for (TSNode name : children_of(field(definition, "parameters"))) {
    if (is(name, "default_parameter") || is(name, "typed_default_parameter")) {
      name = field(name, "name");
    }
    if (is(name, "typed_parameter") && !children_of(name).empty()) name = children_of(name).front();
    if (!is(name, "identifier")) return std::nullopt;
    out.emplace_back(text_of(text, name));
  }
  return out;
}

std::optional<std::map<std::string, ValueId, std::less<>>> FunctionLowering::bound_by_name(
    const std::vector<std::string>& parameters, const std::vector<Argument>& arguments) {
  std::map<std::string, ValueId, std::less<>> out;
  for (size_t i = 0; i < parameters.size(); ++i) {
    ValueId value = kNone;
    for (size_t a = 0; a < arguments.size(); ++a) {
      if (arguments[a].stars != 0) return std::nullopt;
      if (arguments[a].keyword.empty() ? a == i : arguments[a].keyword == parameters[i]) {
        value = arguments[a].value;
      }
    }
    if (value == kNone) return std::nullopt;
    out[parameters[i]] = value;
  }
  if (out.size() != arguments.size()) return std::nullopt;
  return out;
}

// `*pair` as the items that the annotation of `pair` says it has, `pair[0]` and `pair[1]`.
std::vector<FunctionLowering::Argument> FunctionLowering::without_stars(
    const std::vector<Argument>& arguments) {
  std::vector<Argument> out;
  for (const Argument& argument : arguments) {
    const bool starred = argument.stars == 1 && g()[argument.value].kind == Kind::starred;
    const ValueId pair = starred ? g()[argument.value].operands[0] : kNone;
    const int items = starred && g()[pair].kind == Kind::parameter ? g()[pair].count : 0;
    if (items == 0) {
      out.push_back(argument);
      continue;
    }
    for (int i = 0; i < items; ++i) {
      Value item;
      item.kind = Kind::index;
      item.operands = {pair, literal_value(Literal::whole(i), TSNode{})};
      out.push_back({"", add(std::move(item), TSNode{}), 0, argument.node});
    }
  }
  return out;
}

// Whether a result reads what each argument gives: the text of a call does, whatever its function
// makes of it.
bool FunctionLowering::reads_all(ValueId result, size_t first,
                                 const std::vector<Argument>& arguments) const {
  std::set<ValueId> read;
  std::vector<ValueId> work{result};
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || !read.insert(id).second || id < first) continue;
    work.insert(work.end(), g()[id].operands.begin(), g()[id].operands.end());
  }
  return std::ranges::all_of(arguments, [&](const Argument& a) {
    // A cast of a cast is one cast, which the argument is equal to.
    return read.contains(a.value) || g()[a.value].kind == Kind::literal ||
           std::ranges::any_of(read, [&](ValueId id) { return g().same(id, a.value); });
  });
}

std::optional<ValueId> FunctionLowering::see_through(ValueId callee,
                                                     const std::vector<Argument>& arguments,
                                                     TSNode node) {
  ValueId object = kNone;  // whose method it is
  auto method = unit_.methods.find(index_);
  TSNode definition = definition_of(callee, &object);
  if (!present(definition)) return see_through_other(callee, arguments, node);
  const TSNode body = field(definition, "body");
  if (!in_any_order(arguments) || !is_straight(body)) return std::nullopt;
  if (object == kNone && is_guarded(body)) return std::nullopt;
  if (object != kNone && overridden_elsewhere(callee)) return std::nullopt;
  if (overlays_.size() > kHelperCalls || depth_ > kHelperNesting) {
    reached(depth_ > kHelperNesting ? Bound::helper_nesting : Bound::helper_calls,
            ts_node_start_byte(node));
    return std::nullopt;
  }
  // One that calls itself would be looked into again and again.
  uint32_t place = ts_node_start_byte(definition);
  if (std::ranges::find(seeing_, place) != seeing_.end()) return std::nullopt;
  if (text_of(unit_.text(), definition).starts_with("async")) return std::nullopt;
  auto parameters = plain_parameters(definition, unit_.text());
  // A static method, the only one that is decorated here, is not handed its object.
  const bool handed = object != kNone && !is(ts_node_parent(definition), "decorated_definition");
  if (!parameters || (handed && parameters->empty())) return std::nullopt;
  const std::string own = handed ? parameters->front() : "";
  if (handed) parameters->erase(parameters->begin());

  // On trial: whatever turns out to have an effect is taken back.
  size_t values = g().values.size(), sinks = g().sinks.size(), marks = seen_log_.size();
  const std::vector<Argument> given = without_stars(arguments);
  const bool chooses = !handed && present(two_blocks(statements_of(body).back()).first);
  auto bound = bound_by_name(*parameters, chooses ? with_defaults(given, definition) : given);
  if (!bound) {
    take_back(values, marks);
    return std::nullopt;
  }
  if (handed) (*bound)[own] = object;
  size_t uses = current_ == kNone ? 0 : g().statements[current_].uses.size();
  const size_t calls = unit_.project_calls.size();
  bool outer_impure = impure_;
  impure_ = false;
  auto outer_scope = scope_;
  auto outer_overlays = std::move(overlays_);
  auto outer_names = std::move(outer_);
  scope_ = std::make_shared<Scope>();
  scope_->function = index_;
  overlays_.clear();
  overlays_.push_back(std::move(*bound));
  overlays_.emplace_back();
  outer_.clear();
  ValueId result = kNone;
  seeing_.push_back(place);
  ++trials_;
  bool ok = see_statements(body, &result) && !impure_;
  --trials_;
  seeing_.pop_back();
  scope_ = outer_scope;
  overlays_ = std::move(outer_overlays);
  outer_ = std::move(outer_names);
  impure_ = outer_impure;
  size_t uses_now = current_ == kNone ? 0 : g().statements[current_].uses.size();
  ok = ok && uses_now == uses && g().sinks.size() == sinks && result != kNone && result >= values &&
       (g()[result].kind == Kind::op || g()[result].kind == Kind::phi) &&
       reads_all(result, values, given);
  unit_.project_calls.resize(calls);
  unit_.arguments.erase(unit_.arguments.lower_bound({index_, static_cast<ValueId>(values)}),
                        unit_.arguments.lower_bound({index_ + 1, 0}));
  if (!ok) {
    take_back(values, marks);
    g().forget_layers(static_cast<ValueId>(values));
    g().sinks.resize(sinks);
    if (current_ != kNone) g().statements[current_].uses.resize(uses);
    return std::nullopt;
  }
  for (size_t id = values; id < g().values.size(); ++id) {
    Value& v = g().values[id];
    v.inlined = true;
    v.range = {};
    v.syntax = kNone;
    v.statement = current_;
  }
  g()[result].range = range_of(node);
  g()[result].syntax = static_cast<uint32_t>(unit_.nodes.size());
  unit_.nodes.push_back(node);
  if (object != kNone) g().methods_seen.emplace(result, method->second);
  note_project_call(result, callee);
  return result;
}

}  // namespace refit::python
