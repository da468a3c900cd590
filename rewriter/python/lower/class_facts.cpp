// See class_facts.hpp. Classes are read when they are first asked about; every answer is kept.
#include "rewriter/python/lower/class_facts.hpp"

#include <algorithm>
#include <iterator>

#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/byte_scan.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

namespace {

constexpr int kDepthBound = 64;  // of an expression that is shown to be a number

bool too_deep(TSNode value, int depth) {
  if (depth <= kDepthBound && !stack_is_low()) return false;
  reached(Bound::attribute_text, ts_node_start_byte(value));
  return true;
}

std::string_view last_component(std::string_view name) {
  size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool self_attribute(TSNode node, std::string_view source) {
  return is(node, "attribute") && is(field(node, "object"), "identifier") &&
         text_of(source, field(node, "object")) == "self";
}

// Whether an expression statement or a `return` can bind an attribute of `self`: by an assignment,
// or by a call that stores one by its name.
bool may_store(std::string_view statement) {
  auto says = [&](std::string_view text) { return contains_text(statement, text); };
  return says("setattr") ||
         (says("self") && (says("=") || says("self.add_module") || says("self.register_")));
}

// An annotation of a number, or of a number that may be left out.
bool names_number(std::string_view annotation) {
  static constexpr std::string_view kNumbers[] = {
      "int",           "float",           "int | None",          "float | None",
      "Optional[int]", "Optional[float]", "typing.Optional[int]"};
  return std::find(std::begin(kNumbers), std::end(kNumbers), annotation) != std::end(kNumbers);
}

}  // namespace

void ClassFacts::add_class(const std::string& qualified, TSNode definition) {
  Class c;
  c.definition = definition;
  TSNode bases = field(definition, "superclasses");
  if (present(bases)) {
    for (TSNode base : children_of(bases)) {
      if (!is(base, "keyword_argument")) c.bases.emplace_back(last_component(text_at(base)));
    }
  }
  auto [at, fresh] = classes_.emplace(qualified, c);
  if (fresh) return;
  // Defined twice: either may be meant.
  read(at->second);
  read(c);
  for (auto& [name, values] : c.stores) {
    auto& list = at->second.stores[name];
    list.insert(list.end(), values.begin(), values.end());
  }
}

void ClassFacts::read(Class& c) {
  if (c.read) return;
  c.read = true;
  for (TSNode statement : statements_of(field(c.definition, "body"))) {
    if (!is(statement, "expression_statement")) continue;
    for (TSNode e : children_of(statement)) {
      if (!is(e, "assignment") || !is(field(e, "left"), "identifier")) continue;
      if (present(field(e, "right"))) {
        c.body[std::string(text_at(field(e, "left")))] = field(e, "right");
      }
    }
  }
  auto unknown = [&](TSNode target) {
    std::vector<TSNode> parts{target};
    while (!parts.empty()) {
      TSNode part = parts.back();
      parts.pop_back();
      if (self_attribute(part, source_)) {
        c.stores[std::string(text_at(field(part, "attribute")))].push_back(TSNode{});
      } else if (!is(part, "attribute") && !is(part, "subscript") && !is(part, "call")) {
        push_children(part, parts);
      }
    }
  };
  std::vector<TSNode> work{field(c.definition, "body")};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    const NodeKind type = type_of(node);
    if (type == "class_definition") continue;
    if ((type == "expression_statement" || type == "return_statement") &&
        !may_store(text_at(node))) {
      continue;
    }
    if (type == "augmented_assignment" || type == "for_statement" || type == "named_expression" ||
        type == "as_pattern_target" || type == "delete_statement") {
      unknown(type == "augmented_assignment" || type == "for_statement" ? field(node, "left")
                                                                        : node);
    }
    if (type == "assignment") {
      std::vector<TSNode> targets;
      TSNode right = node;
      while (is(right, "assignment")) {
        targets.push_back(field(right, "left"));
        right = field(right, "right");
        if (!present(right)) break;
      }
      for (TSNode target : targets) {
        if (present(right) && self_attribute(target, source_)) {
          c.stores[std::string(text_at(field(target, "attribute")))].push_back(right);
        } else if (present(right)) {
          unknown(target);
        }
      }
      continue;
    }
    if (type == "call") note_store_by_name(c, node);
    push_children(node, work);
  }
}

// `setattr(self, "norm", …)`, `self.add_module("norm", …)`, `self.register_buffer("scale", …)`.
void ClassFacts::note_store_by_name(Class& c, TSNode call) {
  std::string_view function = text_at(field(call, "function"));
  bool free = function == "setattr" || function.ends_with("__setattr__");
  static constexpr std::string_view kMethods[] = {
      "self.add_module", "self.register_module", "self.register_buffer", "self.register_parameter"};
  if (!free && std::ranges::find(kMethods, function) == std::end(kMethods)) return;
  auto arguments = children_of(field(call, "arguments"));
  size_t name = free ? 1 : 0;
  if (arguments.size() <= name || (free && text_at(arguments[0]) != "self")) return;
  TSNode given = arguments[name];
  if (is(given, "comment") || is(given, "dictionary_splat")) return;
  if (is(given, "keyword_argument")) given = field(given, "value");
  std::string known;  // what the name begins with, all of it unless something is put into it
  bool whole = is(given, "string");
  for (TSNode part : whole ? children_of(given) : NodeList{}) {
    if (is(part, "interpolation")) whole = false;
    if (whole && is(part, "string_content")) known += text_at(part);
  }
  if (whole) {
    c.stores[known].push_back(TSNode{});
  } else {
    c.computed.push_back(known);
  }
}

// `block.norm = …`: an object whose class is not shown gets an attribute of that name.
bool ClassFacts::stored_by_others(std::string_view attribute) {
  if (!others_) others_ = stores_of_others();
  return others_->contains(attribute);
}

std::unordered_set<std::string_view> ClassFacts::stores_of_others() const {
  std::unordered_set<std::string_view> out;
  for (size_t at = source_.find('='); at != std::string_view::npos;
       at = source_.find('=', at + 1)) {
    if (at + 1 < source_.size() && source_[at + 1] == '=') continue;
    size_t end = at;
    while (end > 0 && (source_[end - 1] == ' ' || source_[end - 1] == '\t')) --end;
    size_t begin = end;
    while (begin > 0 && name_char(source_[begin - 1])) --begin;
    if (begin == end || begin == 0 || source_[begin - 1] != '.') continue;
    const size_t dot = begin - 1;
    if (dot < 4 || source_.substr(dot - 4, 4) != "self" ||
        (dot > 4 && (isalnum(static_cast<unsigned char>(source_[dot - 5])) ||
                     source_[dot - 5] == '_' || source_[dot - 5] == '.'))) {
      out.insert(source_.substr(begin, end - begin));
    }
  }
  return out;
}

// The class and those of this file that it inherits from or that inherit from it, by name.
const std::vector<std::string>& ClassFacts::kin_of(const std::string& class_name) {
  Class& c = classes_.find(class_name)->second;
  if (c.kin == nullptr) {
    if (families_of_ != classes_.size()) find_families();
    c.kin = families_.at(class_name);
  }
  return *c.kin;
}

void ClassFacts::find_families() {
  families_of_ = classes_.size();
  families_.clear();
  std::multimap<std::string_view, std::string_view> related;
  std::map<std::string_view, std::string_view> by_last;
  for (const auto& [name, c] : classes_) by_last.emplace(last_component(name), name);
  for (const auto& [name, c] : classes_) {
    for (const std::string& base : c.bases) {
      auto known = by_last.find(base);
      if (known == by_last.end()) continue;
      related.emplace(name, known->second);
      related.emplace(known->second, name);
    }
  }
  for (const auto& [name, c] : classes_) {
    if (families_.contains(name)) continue;
    std::set<std::string_view> seen;
    std::vector<std::string_view> work{name};
    while (!work.empty()) {
      std::string_view at = work.back();
      work.pop_back();
      if (!seen.insert(at).second) continue;
      auto [begin, end] = related.equal_range(at);
      for (auto i = begin; i != end; ++i) work.push_back(i->second);
    }
    auto family = std::make_shared<const std::vector<std::string>>(seen.begin(), seen.end());
    for (std::string_view member : seen) families_.emplace(member, family);
  }
}

ClassFacts::Answer& ClassFacts::answer(const std::string& class_name, std::string_view attribute) {
  auto& answers = answers_[class_name];
  auto known = answers.find(attribute);
  if (known != answers.end()) return known->second;
  Answer& out = answers[std::string(attribute)];
  if (!classes_.contains(class_name)) return out;
  bool others = false;
  for (const std::string& name : kin_of(class_name)) {
    Class& c = classes_.find(name)->second;
    read(c);
    auto stored = c.stores.find(attribute);
    if (stored != c.stores.end()) {
      out.values.insert(out.values.end(), stored->second.begin(), stored->second.end());
    }
    bool computed = std::any_of(c.computed.begin(), c.computed.end(),
                                [&](const std::string& s) { return attribute.starts_with(s); });
    if (computed) out.values.push_back(TSNode{});
    auto body = c.body.find(attribute);
    if (body != c.body.end()) out.values.push_back(body->second);
  }
  out.known = !out.values.empty();
  if (out.known) others = stored_by_others(attribute);
  if (others) out.values.push_back(TSNode{});
  return out;
}

bool ClassFacts::stores(const std::string& class_name, std::string_view attribute) {
  return answer(class_name, attribute).known;
}

const std::vector<const Operation*>& ClassFacts::instances(const std::string& class_name,
                                                           std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (a.instances) return *a.instances;
  std::vector<const Operation*> found;
  bool all = a.known && std::all_of(a.values.begin(), a.values.end(),
                                    [&](TSNode value) { return class_of(value, found); });
  if (!all) found.clear();
  a.instances = std::move(found);
  return *a.instances;
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
    if (type == "attribute" || type == "subscript" || type == "class_definition") continue;
    for (TSNode child : children_of(node)) work.emplace_back(child, binds);
    if (type == "assignment") work.emplace_back(field(node, "left"), true);
    if (type == "for_statement") work.emplace_back(field(node, "left"), true);
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

// The catalogue's class that a call makes an object of.
const Operation* ClassFacts::layer(TSNode call) {
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
  if (std::find(out.begin(), out.end(), op) == out.end()) out.push_back(op);
  return true;
}

bool ClassFacts::over_last_axis(const std::string& class_name, std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (!a.over_last_axis) {
    a.over_last_axis = a.known && std::all_of(a.values.begin(), a.values.end(),
                                              [&](TSNode value) { return over_last_axis(value); });
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

bool ClassFacts::number(const std::string& class_name, std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (!a.number) {
    a.number = a.known && std::all_of(a.values.begin(), a.values.end(), [&](TSNode value) {
                 return !ts_node_is_null(value) && numeric(value, 0);
               });
  }
  return *a.number;
}

// What a size is written as: `head_dim`, `self.head_dim`, `(dim // num_heads)`.
bool ClassFacts::size(TSNode value, int depth) const {
  if (too_deep(value, depth)) return false;
  value = without_parentheses(value);
  if (is(value, "identifier") || is(value, "attribute")) return true;
  bool quotient = is(value, "binary_operator") && text_at(field(value, "operator")) == "//";
  return quotient ? size(field(value, "left"), depth + 1) && size(field(value, "right"), depth + 1)
                  : numeric(value, depth + 1);
}

// Arithmetic that gives a number: a root of a size (`head_dim ** -0.5`, `1 / math.sqrt(d)`), a
// literal, products of such. A name alone shows nothing, unless its parameter is a number.
bool ClassFacts::numeric(TSNode value, int depth) const {
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
    std::vector<TSNode> work{field(at, "body")};
    while (!work.empty()) {  // bound again, it may be anything
      TSNode node = work.back();
      work.pop_back();
      if (is(node, "assignment") && text_at(field(node, "left")) == name) return false;
      push_children(node, work);
    }
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

const ClassFacts::Methods& ClassFacts::methods_of(Class& c) const {
  if (!c.methods) {
    c.methods.emplace();
    for (TSNode child : statements_of(field(c.definition, "body"))) {
      TSNode method = is(child, "decorated_definition") ? field(child, "definition") : child;
      if (!is(method, "function_definition")) continue;
      c.methods->emplace(text_at(field(method, "name")), child);
    }
  }
  return *c.methods;
}

TSNode ClassFacts::own_method(const std::string& class_name, std::string_view name) {
  auto found = classes_.find(class_name);
  if (found == classes_.end() || stores(class_name, name)) return {};
  auto [first, last] = methods_of(found->second).equal_range(name);
  if (std::distance(first, last) != 1) return {};
  TSNode child = first->second;
  if (!is(child, "decorated_definition")) return child;
  auto parts = children_of(child);
  bool only_static = std::all_of(parts.begin(), parts.end(), [&](TSNode part) {
    return !is(part, "decorator") || text_at(part) == "@staticmethod";
  });
  return only_static ? field(child, "definition") : TSNode{};
}

TSNode ClassFacts::private_method(const std::string& class_name, std::string_view name) {
  if (!name.starts_with("_") || name.starts_with("__") || !classes_.contains(class_name)) return {};
  if (stores(class_name, name)) return {};
  TSNode found{};
  for (const std::string& kin : kin_of(class_name)) {
    auto [first, last] = methods_of(classes_.find(kin)->second).equal_range(name);
    for (; first != last; ++first) {
      TSNode child = first->second;
      TSNode method = is(child, "decorated_definition") ? field(child, "definition") : child;
      bool plain = kin == class_name && is(child, "function_definition");
      if (!plain || present(found)) return {};
      found = method;
    }
  }
  return found;
}

std::optional<std::string> ClassFacts::text(const std::string& class_name,
                                            std::string_view attribute) {
  Answer& a = answer(class_name, attribute);
  if (a.values.size() != 1 || ts_node_is_null(a.values[0]) || !is(a.values[0], "string")) {
    return std::nullopt;
  }
  std::string out;
  for (TSNode part : children_of(a.values[0])) {
    if (is(part, "interpolation")) return std::nullopt;
    if (is(part, "string_content")) out += text_at(part);
  }
  return out;
}

}  // namespace refit::python
