// Calls of Python to the value graph: who is called, and which argument is which by the catalogue's
// signatures. Entry point: FunctionLowering::call.
#include <algorithm>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/graph/storage.hpp"
#include "rewriter/python/lower/classes/other_classes.hpp"
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/lower/only_reads.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

std::optional<std::vector<ValueId>> FunctionLowering::bind_arguments(
    const std::vector<Parameter>& parameters, ValueId receiver, std::vector<Argument>& arguments,
    std::string* why) {
  std::vector<ValueId> out(parameters.size(), kNone);
  std::vector<size_t> positional;
  size_t variadic = SIZE_MAX, variadic_keyword = SIZE_MAX;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (p.variadic) {
      variadic = i;
    } else if (p.variadic_keyword) {
      variadic_keyword = i;
    } else if (!p.keyword_only) {
      positional.push_back(i);
    }
  }
  size_t next = 0;
  if (receiver != kNone) {
    if (positional.empty()) return std::nullopt;
    out[positional[next++]] = receiver;
  }
  std::vector<ValueId> rest;
  for (Argument& a : arguments) {
    a.parameter = SIZE_MAX;
    if (a.stars == 2 || (a.stars == 1 && (variadic == SIZE_MAX || next < positional.size()))) {
      *why = "splatted";
      return std::nullopt;
    }
    if (!a.keyword.empty()) {
      size_t found = SIZE_MAX;
      for (size_t i = 0; i < parameters.size(); ++i) {
        const Parameter& p = parameters[i];
        bool named = p.name == a.keyword || std::ranges::find(p.also, a.keyword) != p.also.end();
        if (named && !p.positional_only && !p.variadic && !p.variadic_keyword) {
          found = i;
        }
      }
      if (found == SIZE_MAX && variadic_keyword != SIZE_MAX) continue;
      if (found == SIZE_MAX || out[found] != kNone) {
        *why = "its signature has no free parameter `" + a.keyword + "`";
        return std::nullopt;
      }
      out[found] = a.value;
      a.parameter = found;
    } else if (next < positional.size()) {
      a.parameter = positional[next];
      out[positional[next++]] = a.value;
    } else if (variadic != SIZE_MAX) {
      a.parameter = variadic;
      rest.push_back(a.value);
    } else {
      *why = "it takes fewer positional arguments";
      return std::nullopt;
    }
  }
  if (variadic != SIZE_MAX && !rest.empty()) {
    const Value& first = g()[rest.front()];
    if (rest.size() == 1 && (first.kind == Kind::tuple || first.kind == Kind::list)) {
      Value v = first;  // reshape((a, b)) is reshape(a, b)
      v.kind = Kind::tuple;
      v.syntax = kNone;
      out[variadic] = g().add(std::move(v));
    } else {
      Value v;
      v.kind = Kind::tuple;
      v.operands = std::move(rest);
      v.statement = current_;
      out[variadic] = g().add(std::move(v));
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (out[i] == kNone && !p.default_value && !p.variadic && !p.variadic_keyword) {
      *why = "its parameter `" + p.name + "` got no argument";
      return std::nullopt;
    }
  }
  return out;
}

const std::string* FunctionLowering::own_attribute(ValueId id) const {
  const Value& v = g()[id];
  if (v.kind != Kind::attribute) return nullptr;
  const Value& object = g()[v.operands[0]];
  bool outer = object.kind == Kind::unknown && object.text == "self";  // of the method around
  if (object.kind != Kind::parameter && !outer) return nullptr;
  PythonUnit::Methods::const_iterator method = unit_.methods.find(index_);
  if (outer) method = unit_.method_around(index_);
  auto annotated = unit_.annotated.find({index_, v.operands[0]});
  const std::string* owner = nullptr;
  if (object.text == "self" && method != unit_.methods.end()) {
    owner = &method->second;
  } else if (annotated != unit_.annotated.end()) {
    owner = &annotated->second;
  }
  return owner != nullptr && unit_.classes->stores(*owner, v.text) ? owner : nullptr;
}

// What `attn.to_q` is made of where another file defines the class that annotates `attn`.
std::vector<const Operation*> FunctionLowering::declared_layers(ValueId callee, size_t operands) {
  const Value& v = g()[callee];
  if (context_.others == nullptr || operands != 2 || v.kind != Kind::attribute) return {};
  const Value& object = g()[v.operands[0]];
  bool declared = object.kind == Kind::parameter && object.text != "self" &&
                  object.literal.kind == Literal::Kind::symbol &&
                  !object.literal.text.starts_with(unit_.module + ".");
  return declared ? context_.others->layers(object.literal.text, v.text)
                  : std::vector<const Operation*>{};
}

bool FunctionLowering::moves_axes() {
  if (!moves_axes_) {
    moves_axes_ = context_.others != nullptr &&
                  context_.others->moves_axes(unit_.source().slice(unit_.functions[index_].range));
  }
  return *moves_axes_;
}

void FunctionLowering::note_number(ValueId id) {
  if (g()[id].kind != Kind::attribute || !moves_axes()) return;
  if (own_attribute_is(id, &ClassFacts::number)) g().numbers.insert(id);
}

bool FunctionLowering::own_attribute_is(ValueId id, bool (ClassFacts::*fact)(const std::string&,
                                                                             std::string_view)) {
  const std::string* owner = own_attribute(id);
  if (owner == nullptr) return false;
  const std::string& name = g()[id].text;
  Project& project = context_.project;
  return (*unit_.classes.*fact)(*owner, name) && !project.stored_outside(name) &&
         !project.subclass_writes(unit_.module, owner->substr(owner->rfind('.') + 1), name);
}

void FunctionLowering::note_own_storage() {
  bool writes = !g().in_place.empty() || !g().writers.empty();
  for (ValueId id = 0; !writes && id < g().values.size(); ++id) {
    writes = g()[id].kind == Kind::update || written_by(g(), id) != kNone;
  }
  for (ValueId id = 0; writes && id < g().values.size(); ++id) {
    const Value& v = g()[id];
    const bool own = v.kind == Kind::attribute && g()[v.operands[0]].text == "self";
    if (own && own_attribute_is(id, &ClassFacts::own_storage)) g().own_storage.insert(id);
  }
}

void FunctionLowering::note_project_call(ValueId value, ValueId callee) {
  const Value& c = g()[callee];
  if (c.kind == Kind::function) {
    unit_.project_calls.push_back({index_, value, c.text, static_cast<uint32_t>(c.index)});
    return;
  }
  if (c.kind != Kind::symbol) return;
  size_t dot = c.text.rfind('.');
  while (dot != std::string::npos) {
    std::string module = c.text.substr(0, dot);
    if (context_.project.has_module(module)) {
      // One name for a module, whichever folder its importers begin at.
      std::string own = context_.project.module_of(context_.project.file_of(module), nullptr);
      unit_.project_calls.push_back({index_, value, own + c.text.substr(dot), kNone});
      return;
    }
    if (dot == 0) break;
    dot = c.text.rfind('.', dot - 1);
  }
  if (c.text.find('.') != std::string::npos) {
    unit_.project_calls.push_back({index_, value, c.text, kNone, true});
  }
}

// Whether a call runs a function of this file that changes nothing of what it is given.
bool FunctionLowering::reads_only(ValueId callee) {
  ValueId object = kNone;
  TSNode definition = definition_of(callee, &object);
  const Value& c = g()[callee];
  if (!present(definition) && c.kind == Kind::symbol && c.text.starts_with(unit_.module + ".")) {
    const size_t dot = c.text.rfind('.');
    const std::string method = c.text.substr(dot + 1);
    if (context_.project.stored_outside(method)) return false;
    definition = unit_.classes->own_method(c.text.substr(0, dot), method);
  }
  return present(definition) &&
         only_reads(definition, unit_.text(), context_.catalogue,
                    [&](std::string_view name) {
                      const Names& names = unit_.names.names;
                      return !names.stars.empty() || names.bindings.contains(name);
                    }) &&
         (object == kNone || !overridden_elsewhere(callee));
}

// Whether the body of what a call may run is in sight and may write to what lies outside of it.
bool FunctionLowering::may_write(ValueId callee) {
  const Value& c = g()[callee];
  if (c.kind == Kind::literal || c.kind == Kind::op) return false;
  if (c.kind == Kind::symbol && !c.text.starts_with(unit_.module + ".")) return false;
  const std::string_view name = std::string_view(c.text).substr(c.text.rfind('.') + 1);
  return body_writes().may_write(name);
}

// The same of a layer of this object whose class the file defines, and of what that object holds.
bool FunctionLowering::forward_writes(ValueId callee) {
  const std::string* owner = own_attribute(callee);
  return owner != nullptr &&
         std::ranges::any_of(unit_.classes->forwards(*owner, g()[callee].text),
                             [&](TSNode forward) { return body_writes().body_writes(forward); });
}

// Whether what is called may be an object of a class of this file, which writes when it is called:
// `self.layers[0](x)`, `for layer in layers: layer(x)`.
bool FunctionLowering::may_be_layer(ValueId callee) {
  const Kind kind = g()[callee].kind;
  const bool known = kind == Kind::symbol || kind == Kind::function || kind == Kind::op ||
                     kind == Kind::literal || kind == Kind::unknown;
  if (kind == Kind::attribute && body_writes().knows(g()[callee].text)) return false;
  return !known && body_writes().objects_write();
}

BodyWrites& FunctionLowering::body_writes() {
  if (!shared_.body_writes) shared_.body_writes.emplace(unit_.tree.root(), unit_.text());
  return *shared_.body_writes;
}

// Whether a call makes a number, or a list of them, of what it is given: `x.item()`, `int(x)`.
bool FunctionLowering::gives_number(ValueId callee, const std::vector<Argument>& arguments) const {
  const Value& c = g()[callee];
  if (c.kind == Kind::attribute) {
    const Value& object = g()[c.operands[0]];
    const bool made = object.kind == Kind::call && g()[object.operands[0]].kind == Kind::symbol;
    return arguments.empty() && !made && (c.text == "item" || c.text == "tolist");
  }
  const Names& names = unit_.names.names;
  const uint32_t outer = unit_.functions[index_].parent;
  return c.kind == Kind::unknown && (c.text == "int" || c.text == "float") &&
         (outer == kNone || outer == 0) && arguments.size() == 1 && arguments[0].stars == 0 &&
         arguments[0].keyword.empty() && names.stars.empty() && !names.bindings.contains(c.text);
}

// `int(c)` of one of a tensor's sizes, which is that size.
bool FunctionLowering::keeps_size(ValueId callee, const std::vector<Argument>& arguments) const {
  if (g()[callee].text != "int" || !gives_number(callee, arguments)) return false;
  const Value& size = g()[arguments[0].value];
  const bool part = size.kind == Kind::element ||
                    (size.kind == Kind::index && g()[size.operands[1]].kind == Kind::literal);
  if (!part) return false;
  const Value& whole = g()[size.operands[0]];
  return whole.kind == Kind::attribute && whole.text == "shape";
}

size_t FunctionLowering::reads_of(std::string_view name) {
  if (!reads_) {
    reads_.emplace();
    ByteRange whole = unit_.functions[index_].range;
    for (const NameRead& read :
         names_read(ts_node_descendant_for_byte_range(unit_.tree.root(), whole.begin, whole.end),
                    unit_.text())) {
      ++(*reads_)[read.name];
    }
  }
  auto found = reads_->find(name);
  return found == reads_->end() ? 0 : found->second;
}

// `**options` where options is a dictionary written out once and read nowhere else.
bool FunctionLowering::unpack_literal(TSNode splat, std::vector<Argument>& arguments) {
  auto inner = children_of(splat);
  if (index_ == 0 || inner.size() != 1 || !is(inner[0], "identifier")) return false;
  auto name = name_ids_.find(text(inner[0]));
  if (name == name_ids_.end() || env_[name->second] == kNone) return false;
  const Definition& d = g().definitions[env_[name->second]];
  const Value& value = g()[d.value];
  if (d.previous != kNone || value.kind != Kind::opaque || value.syntax == kNone) return false;
  TSNode dictionary = unit_.nodes[value.syntax];
  if (!is(dictionary, "dictionary")) return false;
  auto pairs = children_of(dictionary);
  if (reads_of(text(inner[0])) != 1 || value.operands.size() != 2 * pairs.size()) return false;
  std::vector<Argument> unpacked;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Literal& key = g()[value.operands[2 * i]].literal;
    if (!is(pairs[i], "pair") || g()[value.operands[2 * i]].kind != Kind::literal ||
        key.kind != Literal::Kind::string) {
      return false;
    }
    unpacked.push_back({key.text, value.operands[2 * i + 1], 0, splat});
  }
  arguments.insert(arguments.end(), unpacked.begin(), unpacked.end());
  return true;
}

// A pattern that only takes the last axis apart, or joins two, in the spelling that isomorphisms
// speak of: the lengths of axes are keywords, which the operation does not keep.
void FunctionLowering::one_spelling(Value& regrouping, const std::vector<Argument>& arguments) {
  AxisLengths lengths;
  for (const Argument& a : arguments) {
    if (a.keyword.empty() || a.value == kNone) continue;
    const Value& length = g()[a.value];
    if (length.kind == Kind::literal && length.literal.kind == Literal::Kind::integer) {
      lengths[a.keyword] = length.literal.integer;
    }
  }
  for (ValueId& operand : regrouping.operands) {
    if (operand == kNone || g()[operand].kind != Kind::literal ||
        g()[operand].literal.kind != Literal::Kind::string) {
      continue;
    }
    std::string spelling = last_axis_pattern(g()[operand].literal.text, lengths);
    if (spelling.empty()) continue;
    Value text = g()[operand];
    text.literal.text = std::move(spelling);
    operand = g().add(std::move(text));
  }
}

FunctionLowering::Callee FunctionLowering::callee_of(TSNode node) {
  Callee out;
  TSNode function = without_parentheses(field(node, "function"));
  if (is(function, "attribute")) {
    out.value = attribute(function);
    const Value& c = g()[out.value];
    if (c.kind == Kind::attribute) {
      const Value& base = g()[c.operands[0]];
      // A module's attribute is no method of a tensor, whatever it is called.
      if (base.kind != Kind::literal && own_attribute(out.value) == nullptr) {
        out.op = context_.catalogue.method(c.text);
      }
      if (out.op != nullptr && !context_.pattern &&
          !context_.project.replaced_outside("Tensor." + c.text).empty()) {
        out.op = nullptr;
      }
      if (out.op != nullptr) out.receiver = c.operands[0];
    }
  } else {
    out.value = expression(function);
  }
  if (out.op == nullptr && g()[out.value].kind == Kind::symbol) {
    out.op = context_.catalogue.find(g()[out.value].text);
    std::string other =
        out.op == nullptr ? "" : context_.project.differs(g()[out.value].text, *out.op);
    if (!other.empty()) {  // the tree's own function of that name
      Value& named = g()[out.value];
      named.kind = Kind::unknown;
      named.text = named.text.substr(named.text.rfind('.') + 1);
      named.literal.text = std::move(other);
      out.op = nullptr;
    }
  }
  return out;
}

std::vector<FunctionLowering::Argument> FunctionLowering::arguments_of(TSNode node, bool known,
                                                                       bool* unpacked) {
  std::vector<Argument> arguments;
  TSNode list = field(node, "arguments");
  if (is(list, "generator_expression")) {
    arguments.push_back({"", expression(list), 0, list});
  } else {
    for (TSNode a : children_of(list)) {
      if (is(a, "keyword_argument")) {
        arguments.push_back(
            {std::string(text(field(a, "name"))), expression(field(a, "value")), 0, a});
      } else if (is(a, "dictionary_splat")) {
        auto inner = children_of(a);
        if (known && unpack_literal(a, arguments)) {
          *unpacked = true;
          continue;
        }
        arguments.push_back({"", inner.empty() ? kNone : expression(inner.front()), 2, a});
      } else {
        arguments.push_back({"", expression(a), is(a, "list_splat") ? 1 : 0, a});
      }
    }
  }
  return arguments;
}

std::optional<ValueId> FunctionLowering::known_call(const Callee& target,
                                                    std::vector<Argument>& arguments, Value& v,
                                                    TSNode node) {
  const Operation* op = target.op;
  std::string why;
  auto operands = bind_arguments(op->parameters, target.receiver, arguments, &why);
  for (size_t i = 0; i < op->overloads.size() && !operands; ++i) {
    std::string other;
    operands = bind_arguments(op->overloads[i], target.receiver, arguments, &other);
    if (operands) v.index = static_cast<int>(i) + 1;
  }
  if (!operands) {
    v.text = why;
    if (target.receiver != kNone) v.op = nullptr;  // some other object's method of that name
    return std::nullopt;
  }
  if (target.receiver != kNone) {
    g()[target.value].operands.clear();  // the name of an operation, no read of an attribute
    g()[target.value].range = {};
  }
  v.kind = Kind::op;
  v.operands = std::move(*operands);
  if (op->axes == AxisKind::pattern) one_spelling(v, arguments);
  if (!op->pure) impure_ = true;
  ValueId id = add(std::move(v), node);
  const ValueId written = written_by(g(), id);
  auto& places = unit_.arguments[{index_, id}];
  for (const Argument& a : arguments) {
    if (a.parameter != SIZE_MAX) places.push_back({a.parameter, a.node});
  }
  if (target.receiver == kNone) note_project_call(id, target.value);
  if (!op->pure) use(id);
  if (written != kNone) {
    impure_ = true;
    use(id);
    forget_aliases(written, "");
  }
  return id;
}

// The steps: who is called, the arguments, a helper that is seen through, the arguments bound by
// the operation's signature; what is left is a call of something that the catalogue does not know.
ValueId FunctionLowering::call(TSNode node) {
  const Callee target = callee_of(node);
  const Operation* op = target.op;
  const ValueId callee = target.value;
  bool unpacked = false;
  std::vector<Argument> arguments = arguments_of(node, op != nullptr, &unpacked);
  Value v;
  v.op = op;
  if (unpacked) v.text = "unpacked";
  // What this file defines itself is looked into, also where the catalogue knows it: the file is
  // the library's own.
  if (op == nullptr || (target.receiver == kNone && !op->is_class && !unpacked)) {
    if (auto seen = see_through(callee, arguments, node)) return *seen;
  }
  if (op != nullptr) {
    if (auto known = known_call(target, arguments, v, node)) return *known;
  }
  if (keeps_size(callee, arguments)) return arguments[0].value;
  v.kind = Kind::call;
  v.operands.push_back(callee);
  for (const Argument& a : arguments) {
    v.operands.push_back(a.value);
    v.keywords.push_back(a.keyword);
  }
  // Where arguments are spread, nothing shows which of them the layer is called with.
  const bool spread =
      std::ranges::any_of(arguments, [](const Argument& a) { return a.stars != 0; });
  if (op == nullptr && !spread) {
    const std::string* owner = own_attribute(callee);
    auto made_of = owner != nullptr ? unit_.classes->instances(*owner, g()[callee].text)
                                    : declared_layers(callee, v.operands.size());
    if (!made_of.empty()) {  // a layer: at inference it only computes
      ValueId id = add(std::move(v), node);
      g().instances.emplace(id, std::move(made_of));
      return id;
    }
  }
  impure_ = true;
  if (g()[callee].kind == Kind::unknown) {
    static constexpr std::string_view kReaders[] = {"locals", "vars", "eval", "exec", "dir"};
    for (std::string_view reader : kReaders) {
      if (g()[callee].text == reader) scope_->reads_all = true;
    }
  }
  ValueId id = add(std::move(v), node);
  use(id);  // it runs whether or not its result is read
  note_project_call(id, callee);
  note_named_stores(id, node);
  if (reads_only(callee) || gives_number(callee, arguments)) {
    g().readers.insert(id);
    return id;
  }
  const bool layer = own_attribute(callee) != nullptr;
  // `map(double, tensors)`, `partial(double, x)()`: what is handed over may be run.
  const bool runs_another = std::ranges::any_of(
      arguments, [&](const Argument& a) { return a.value != kNone && runs_a_writer(a.value, 0); });
  if (may_write(callee) || runs_a_writer(callee, 0) || runs_another) {
    g().writers.emplace(id, kNone);
  } else if (layer ? forward_writes(callee) : may_be_layer(callee)) {
    g().writers.emplace(id, callee);
  }
  const bool method = g()[callee].kind == Kind::attribute && body_writes().knows(g()[callee].text);
  if (layer || (method && !g().writers.contains(id))) g().keepers.insert(id);
  return id;
}

}  // namespace refit::python
