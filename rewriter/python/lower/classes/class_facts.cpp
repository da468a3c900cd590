// See class_facts.hpp. Classes are read when they are first asked about; every answer is kept.
#include "rewriter/python/lower/classes/class_facts.hpp"

#include <algorithm>
#include <iterator>

#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/byte_scan.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

namespace {

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
         (says("self") && (says("=") || says("self.add_module") || says("self.register_") ||
                           says(".update(") || says(".set_(")));
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
          note_other_store(c, target);
        }
      }
      continue;
    }
    if (type == "call") note_store_by_name(c, node);
    push_children(node, work);
  }
}

// Whether an expression is the dictionary in which `self` keeps attributes: `self._buffers`,
// `self.__dict__`, `vars(self)`.
static bool own_table(TSNode node, std::string_view source) {
  if (is(node, "call")) return text_of(source, node) == "vars(self)";
  if (!self_attribute(node, source)) return false;
  static constexpr std::string_view kTables[] = {"_buffers", "_parameters", "_modules", "__dict__"};
  return std::ranges::find(kTables, text_of(source, field(node, "attribute"))) != std::end(kTables);
}

// `self._buffers["scale"] = …`, and `self.scale.data = …`, which leaves the attribute but not its
// storage.
void ClassFacts::note_other_store(Class& c, TSNode target) {
  const TSNode object = is(target, "attribute") ? field(target, "object") : field(target, "value");
  if (is(target, "attribute") && text_at(field(target, "attribute")) == "data") {
    if (self_attribute(object, source_)) {
      c.sharing.emplace(text_at(field(object, "attribute")));
    } else if (!is(object, "identifier") && !is(object, "attribute")) {  // `(self.a, self.b)[0]`
      c.sharing.emplace();
    }
  } else if (is(target, "subscript") && own_table(object, source_)) {
    const TSNode name = field(target, "subscript");
    const bool whole = is(name, "string") && children_of(name).size() == 3;
    if (whole) c.stores[std::string(text_at(children_of(name)[1]))].push_back(TSNode{});
    if (!whole) c.sharing.emplace();
  }
}

// `setattr(self, "norm", …)`, `self.add_module("norm", …)`, `self.register_buffer("scale", …)`.
void ClassFacts::note_store_by_name(Class& c, TSNode call) {
  const TSNode callee = field(call, "function");
  if (is(callee, "attribute")) {
    const TSNode object = field(callee, "object");
    const std::string_view method = text_at(field(callee, "attribute"));
    if (method == "update" && own_table(object, source_)) c.sharing.emplace();
    if (method == "set_") {  // without a name it may be any attribute
      c.sharing.emplace(self_attribute(object, source_) ? text_at(field(object, "attribute")) : "");
    }
  }
  std::string_view function = text_at(callee);
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
    const bool tensor = function.starts_with("self.register_") && arguments.size() > 1 &&
                        !is(arguments[1], "keyword_argument") && !is(arguments[1], "comment");
    c.stores[known].push_back(tensor ? arguments[1] : TSNode{});
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
    bool computed = std::ranges::any_of(
        c.computed, [&](const std::string& s) { return attribute.starts_with(s); });
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
  return is_static(child) ? field(child, "definition") : TSNode{};
}

// Whether `@staticmethod` alone decorates it.
bool ClassFacts::is_static(TSNode decorated) const {
  return std::ranges::all_of(children_of(decorated), [&](TSNode part) {
    return !is(part, "decorator") || text_at(part) == "@staticmethod";
  });
}

NodeList ClassFacts::forwards(const std::string& class_name, std::string_view attribute) {
  NodeList out;
  for (TSNode value : answer(class_name, attribute).values) {
    if (!is(value, "call") || !is(field(value, "function"), "identifier")) continue;
    const auto made = meaning(value, text_at(field(value, "function")));
    const auto found = made ? classes_.find(*made) : classes_.end();
    if (found == classes_.end()) continue;
    for (const std::string_view run : {"forward", "__call__"}) {
      auto [first, last] = methods_of(found->second).equal_range(run);
      for (; first != last; ++first) {
        TSNode method = first->second;
        out.push_back(is(method, "decorated_definition") ? field(method, "definition") : method);
      }
    }
  }
  return out;
}

TSNode ClassFacts::only_method(const std::string& class_name, std::string_view name) {
  if (name.starts_with("__") || !classes_.contains(class_name)) return {};
  if (stores(class_name, name)) return {};
  TSNode found{};
  for (const std::string& kin : kin_of(class_name)) {
    auto [first, last] = methods_of(classes_.find(kin)->second).equal_range(name);
    for (; first != last; ++first) {
      TSNode child = first->second;
      const TSNode method = is(child, "decorated_definition") ? field(child, "definition") : child;
      const bool plain = method == child || is_static(child);
      if (kin != class_name || !plain || present(found)) return {};
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
