// What the values are that a class stores in its attributes: layers of which kind, numbers,
// tensors of their own. Entry points: ClassFacts::instances, over_last_axis, number, own_storage.
#include <algorithm>
#include <iterator>

#include "rewriter/python/lower/classes/class_facts.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

namespace {

constexpr int kDepthBound = 64;  // of an expression that is shown to be a number

bool too_deep(TSNode value, int depth) {
  if (depth <= kDepthBound && !stack_is_low()) return false;
  reached(Bound::attribute_text, ts_node_start_byte(value));
  return true;
}

// An annotation of a number, or of a number that may be left out.
bool names_number(std::string_view annotation) {
  static constexpr std::string_view kNumbers[] = {
      "int",           "float",           "int | None",          "float | None",
      "Optional[int]", "Optional[float]", "typing.Optional[int]"};
  return std::ranges::find(kNumbers, annotation) != std::end(kNumbers);
}

}  // namespace

const std::vector<const Operation*>& ClassFacts::instances(const std::string& class_name,
                                                           std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (a.instances) return *a.instances;
  std::vector<const Operation*> found;
  bool all = a.known &&
             std::ranges::all_of(a.values, [&](TSNode value) { return class_of(value, found); });
  if (!all) found.clear();
  a.instances = std::move(found);
  return *a.instances;
}

bool ClassFacts::class_of(TSNode value, std::vector<const Operation*>& out) {
  if (ts_node_is_null(value) || too_deep(value, 0)) return false;
  value = without_parentheses(value);
  if (is(value, "none")) return true;  // calling it would fail
  if (is(value, "conditional_expression")) {
    auto parts = children_of(value);
    return parts.size() == 3 && class_of(parts[0], out) && class_of(parts[2], out);
  }
  const Operation* op = layer(value);
  if (op == nullptr) return false;
  if (std::ranges::find(out, op) == out.end()) out.push_back(op);
  return true;
}

bool ClassFacts::over_last_axis(const std::string& class_name, std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (!a.over_last_axis) {
    a.over_last_axis = a.known && std::ranges::all_of(a.values, [&](TSNode value) {
                         return over_last_axis(value);
                       });
  }
  return *a.over_last_axis;
}

bool ClassFacts::over_last_axis(TSNode value) {
  if (ts_node_is_null(value) || too_deep(value, 0)) return false;
  value = without_parentheses(value);
  if (is(value, "none")) return true;
  if (is(value, "conditional_expression")) {
    auto parts = children_of(value);
    return parts.size() == 3 && over_last_axis(parts[0]) && over_last_axis(parts[2]);
  }
  value = construction(value);
  const Operation* op = layer(value);
  if (op == nullptr || !op->pure) return false;
  if (op->axes == AxisKind::elementwise) return true;
  if (op->axes != AxisKind::last_dim && op->axes != AxisKind::along) return false;
  // What it is told of the axes: `dim`, `normalized_shape`, or the name of its axis.
  for (size_t i = 0; i < op->parameters.size(); ++i) {
    const Parameter& p = op->parameters[i];
    bool axis = op->axes == AxisKind::along && p.name == op->axis;
    if (!axis && p.name != "dim" && p.name != "normalized_shape") continue;
    TSNode given{};
    size_t position = 0;
    for (TSNode argument : children_of(field(value, "arguments"))) {
      if (is(argument, "comment")) continue;
      if (is(argument, "list_splat") || is(argument, "dictionary_splat")) return false;
      if (is(argument, "keyword_argument")) {
        if (text_at(field(argument, "name")) == p.name) given = field(argument, "value");
      } else if (position++ == i) {
        given = argument;
      }
    }
    if (!axis) {
      if (ts_node_is_null(given) || !numeric(given, 0)) return false;
    } else if (!ts_node_is_null(given)) {
      if (text_at(given) != "-1") return false;
    } else if (!p.default_value || p.default_value->kind != Literal::Kind::integer ||
               p.default_value->integer != -1) {
      return false;
    }
  }
  return true;
}

bool ClassFacts::own_storage(const std::string& class_name, std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (!a.own_storage) {
    const bool apart = a.known && std::ranges::none_of(kin_of(class_name), [&](const auto& kin) {
                         Class& c = classes_.find(kin)->second;
                         return c.sharing.contains(attribute) || c.sharing.contains("") ||
                                methods_of(c).contains(attribute);  // a property
                       });
    a.own_storage = apart && std::ranges::all_of(a.values, [&](TSNode value) {
                      if (ts_node_is_null(value)) return false;
                      // Of `self.a = self.b = torch.zeros(n)` both hold it.
                      const TSNode statement = ts_node_parent(value);
                      return !is(ts_node_parent(statement), "assignment") && makes_tensor(value, 0);
                    });
  }
  return *a.own_storage;
}

// `torch.zeros(n)`, `nn.Parameter(torch.ones(n))`, a number or None.
bool ClassFacts::makes_tensor(TSNode value, int depth) {
  if (ts_node_is_null(value) || too_deep(value, depth)) return false;
  value = without_parentheses(value);
  if (is(value, "none") || numeric(value, depth + 1)) return true;
  if (!is(value, "call")) return false;
  TSNode function = field(value, "function");
  if (!is(function, "identifier") && !is(function, "attribute")) return false;
  auto qualified = meaning(function, text_at(function));
  const Operation* op = qualified ? catalogue_.find(*qualified) : nullptr;
  if (op == nullptr) return false;
  const NodeList arguments = children_of(field(value, "arguments"));
  if (op->is_class) return op->view && !arguments.empty() && makes_tensor(arguments[0], depth + 1);
  const bool elsewhere = std::ranges::any_of(arguments, [&](TSNode argument) {
    return is(argument, "keyword_argument") && text_at(field(argument, "name")) == "out";
  });
  return op->pure && !op->view && !op->in_place && !elsewhere;
}

bool ClassFacts::number(const std::string& class_name, std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (!a.number) {
    a.number = a.known && std::ranges::all_of(a.values, [&](TSNode value) {
                 return !ts_node_is_null(value) && numeric(value, 0);
               });
  }
  return *a.number;
}

// What a size is written as: `head_dim`, `self.head_dim`, `(dim // num_heads)`.
bool ClassFacts::size(TSNode value, int depth) {
  if (too_deep(value, depth)) return false;
  value = without_parentheses(value);
  if (is(value, "identifier") || is(value, "attribute")) return true;
  bool quotient = is(value, "binary_operator") && text_at(field(value, "operator")) == "//";
  return quotient ? size(field(value, "left"), depth + 1) && size(field(value, "right"), depth + 1)
                  : numeric(value, depth + 1);
}

// Arithmetic that gives a number: a root of a size (`head_dim ** -0.5`, `1 / math.sqrt(d)`), a
// literal, products of such. A name alone shows nothing, unless its parameter is a number.
bool ClassFacts::numeric(TSNode value, int depth) {
  if (too_deep(value, depth)) return false;
  value = without_parentheses(value);
  const NodeKind type = type_of(value);
  if (type == "integer" || type == "float") return true;
  if (type == "unary_operator") return numeric(field(value, "argument"), depth + 1);
  if (type == "conditional_expression") {
    auto parts = children_of(value);
    return parts.size() == 3 && numeric(parts[0], depth + 1) && numeric(parts[2], depth + 1);
  }
  if (type == "boolean_operator") {  // `qk_scale or head_dim ** -0.5`
    TSNode left = field(value, "left");
    return (is(left, "identifier") || numeric(left, depth + 1)) &&
           numeric(field(value, "right"), depth + 1);
  }
  if (type == "binary_operator") {
    std::string_view sign = text_at(field(value, "operator"));
    TSNode left = field(value, "left"), right = field(value, "right");
    if (sign == "**") {  // a size to a power that is a number
      return numeric(right, depth + 1) && size(left, depth + 1);
    }
    if (sign == "//") return size(value, depth + 1);  // of sizes alone
    return numeric(left, depth + 1) && numeric(right, depth + 1);
  }
  if (type == "call") {
    TSNode function = field(value, "function");
    if (!is(function, "identifier") && !is(function, "attribute")) return false;
    auto qualified = resolve_(text_at(function));
    return text_at(function) == "float" || text_at(function) == "int" ||
           (qualified && (qualified->starts_with("math.") || qualified->starts_with("numpy.sqrt")));
  }
  if (type == "identifier") {  // a parameter of the method that stores it
    std::string_view name = text_at(value);
    TSNode at = value;
    while (present(at) && !is(at, "function_definition")) at = ts_node_parent(at);
    if (!present(at)) return false;
    if (locals_of(at).assigned.contains(name)) return false;  // it may be anything
    for (TSNode parameter : children_of(field(at, "parameters"))) {
      TSNode own = field(parameter, "name");
      if (!present(own) && is(parameter, "typed_parameter") && !children_of(parameter).empty()) {
        own = children_of(parameter).front();
      }
      if (!present(own) || text_at(own) != name) continue;
      TSNode fallback = field(parameter, "value"), annotation = field(parameter, "type");
      return (present(fallback) && (is(fallback, "float") || is(fallback, "integer"))) ||
             (present(annotation) && names_number(text_at(annotation)));
    }
  }
  return false;
}

TSNode ClassFacts::construction(TSNode call) {
  const TSNode name = is(call, "call") ? field(call, "function") : TSNode{};
  // A name of two meanings has none, so that the definition of a name is the only one.
  if (!present(name) || !is(name, "identifier") || !meaning(name, text_at(name))) return call;
  TSNode module = call;
  while (present(ts_node_parent(module))) module = ts_node_parent(module);
  for (TSNode definition : children_of(module)) {
    if (!is(definition, "function_definition") || text_at(definition).starts_with("async") ||
        text_at(field(definition, "name")) != text_at(name)) {
      continue;
    }
    NodeList body = statements_of(field(definition, "body"));
    const bool documented = body.size() == 2 && is(body[0], "expression_statement") &&
                            is(children_of(body[0])[0], "string");
    if (documented) body.erase(body.begin());
    if (body.size() != 1 || !is(body[0], "return_statement")) return call;
    const NodeList given = children_of(body[0]);
    const TSNode made = given.size() == 1 && is(given[0], "call") ? given[0] : TSNode{};
    const TSNode maker = present(made) ? field(made, "function") : TSNode{};
    if (!present(maker) || (!is(maker, "identifier") && !is(maker, "attribute"))) return call;
    const auto qualified = meaning(maker, text_at(maker));
    const Operation* op = qualified ? catalogue_.find(*qualified) : nullptr;
    return op != nullptr && op->is_class ? made : call;
  }
  return call;
}

// The catalogue's class that a call makes an object of.
const Operation* ClassFacts::layer(TSNode call) {
  call = construction(call);
  if (!is(call, "call")) return nullptr;
  TSNode function = field(call, "function");
  if (!is(function, "identifier") && !is(function, "attribute")) return nullptr;
  auto qualified = meaning(function, text_at(function));
  const Operation* op = qualified ? catalogue_.find(*qualified) : nullptr;
  if (op == nullptr || !op->is_class) return nullptr;
  // A layer that writes what it is given does more than compute; one that drops with a probability
  // `p` does nothing at inference.
  auto takes = [&](std::string_view name) {
    return std::ranges::any_of(op->parameters, [&](const Parameter& p) { return p.name == name; });
  };
  bool may_write = takes("inplace") && !takes("p");
  std::string_view given = text_at(field(call, "arguments"));
  return may_write && given != "()" && given.find("inplace=False") == std::string_view::npos &&
                 (given.find("True") != std::string_view::npos ||
                  given.find("inplace") != std::string_view::npos)
             ? nullptr
             : op;
}

const ClassFacts::Locals& ClassFacts::locals_of(TSNode function) {
  auto [known, fresh] = locals_.try_emplace(ts_node_start_byte(function));
  if (!fresh) return known->second;
  std::vector<std::pair<TSNode, bool>> work{{field(function, "parameters"), true},
                                            {field(function, "body"), false}};
  while (!work.empty()) {
    auto [node, binds] = work.back();
    work.pop_back();
    const NodeKind type = type_of(node);
    if (type == "import_statement" || type == "import_from_statement") {
      known->second.imports.push_back(node);
      continue;
    }
    if (type == "identifier" && binds) known->second.names.insert(text_at(node));
    if (type == "function_definition" || type == "class_definition") {
      known->second.names.insert(text_at(field(node, "name")));
    }
    if (type == "attribute" || type == "subscript" || type == "class_definition") continue;
    const bool bound = binds || type == "as_pattern_target";
    for (TSNode child : children_of(node)) work.emplace_back(child, bound);
    if (type == "assignment") {
      const TSNode left = field(node, "left");
      known->second.assigned.insert(text_at(left));
      work.emplace_back(left, true);
    }
    if (type == "for_statement") work.emplace_back(field(node, "left"), true);
    if (type == "named_expression") work.emplace_back(field(node, "name"), true);
  }
  return known->second;
}

// The qualified name that a dotted name stands for where it is written; nullopt where a function
// around it binds its first part by anything but one import.
std::optional<std::string> ClassFacts::meaning(TSNode at, std::string_view dotted) {
  std::string_view first = dotted.substr(0, dotted.find('.'));
  for (; present(at); at = ts_node_parent(at)) {
    if (!is(at, "function_definition")) continue;
    const Locals& locals = locals_of(at);
    if (locals.names.contains(first)) return std::nullopt;
    std::optional<std::string> imported;
    for (TSNode statement : locals.imports) {
      auto qualified = resolve_import_(statement, first);
      if (!qualified) continue;
      if (imported && *imported != *qualified) return std::nullopt;
      imported = std::move(qualified);
    }
    if (imported) return *imported + std::string(dotted.substr(first.size()));
  }
  return resolve_(dotted);
}

}  // namespace refit::python
