// Definitions of functions and classes: what runs where they stand, and what is lowered after them.
// Entry points: FunctionLowering::define_function, define_class.
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/syntax/python_modules.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

// Whether a qualified name is one of Python's or of a library that the catalogue knows, and of no
// file of the tree, which may be that library.
bool FunctionLowering::library_function(std::string_view qualified) const {
  const std::string_view package = qualified.substr(0, qualified.find('.'));
  for (size_t dot = qualified.find('.'); dot != std::string_view::npos;
       dot = qualified.find('.', dot + 1)) {
    if (context_.project.has_module(qualified.substr(0, dot))) return false;
  }
  return is_python_module(package) || context_.catalogue.describes(package);
}

// The qualified names that decorate a definition; their expressions run where it stands.
std::vector<std::string> FunctionLowering::decorators(TSNode node) {
  std::vector<std::string> out;
  for (TSNode child : children_of(node)) {
    if (!is(child, "decorator")) continue;
    for (TSNode e : children_of(child)) {
      ValueId value = expression(e);
      use(value);
      ValueId name = g()[value].kind == Kind::call ? g()[value].operands[0] : value;
      if (g()[name].kind == Kind::symbol) out.push_back(g()[name].text);
      if (g()[name].kind == Kind::symbol && library_function(g()[name].text)) continue;
      std::string_view written = text(e);
      written = written.substr(0, written.find('('));
      written.remove_prefix(written.rfind('.') + 1);
      if (!context_.pattern && context_.project.scripting(written)) {
        out.emplace_back("torch.jit.script");
      }
    }
  }
  return out;
}

// A function that is handed to TorchScript by its name, or with its class, counts as decorated.
void FunctionLowering::note_scripted(Function& function, std::string_view class_name) const {
  if (context_.pattern) return;
  if (context_.project.scripted(function.name) ||
      (!class_name.empty() && context_.project.scripted(class_name))) {
    function.decorators.emplace_back("torch.jit.script");
  }
}

void FunctionLowering::define_function(TSNode node) {
  auto id = open(node, StatementKind::other);
  for (TSNode parameter : children_of(field(node, "parameters"))) {
    TSNode value = field(parameter, "value");
    if (present(value)) use(expression(value));
  }
  auto index = static_cast<uint32_t>(unit_.functions.size());
  Function inner;
  inner.name = text(field(node, "name"));
  const std::string& outer = unit_.functions[index_].qualified;
  inner.qualified = (outer.empty() ? unit_.module : outer) + "." + inner.name;
  inner.parent = index_;
  inner.decorators = std::move(decorators_);
  decorators_.clear();
  note_scripted(inner, "");
  inner.range = range_of(node);
  unit_.functions.push_back(std::move(inner));
  shared_.pending.push_back({node, index, index_ == 0 ? nullptr : scope_});
  shared_.definitions.emplace(index, node);
  Value v;
  v.kind = Kind::function;
  v.text = unit_.functions[index].qualified;
  v.index = static_cast<int>(index);
  v.statement = id;
  bind(unit_.functions[index].name, g().add(std::move(v)));
  close(id);
}

// The statements of a class body, those of its conditions and loops included, in source order.
std::vector<TSNode> FunctionLowering::class_statements(TSNode body) {
  std::vector<TSNode> out, work;
  auto push = [&work](const NodeList& nodes) {
    work.insert(work.end(), nodes.rbegin(), nodes.rend());
  };
  push(statements_of(body));
  while (!work.empty()) {
    TSNode at = work.back();
    work.pop_back();
    const NodeKind type = type_of(at);
    if (type == "block") {
      push(statements_of(at));
    } else if (type == "if_statement" || type == "for_statement" || type == "while_statement" ||
               type == "try_statement" || type == "with_statement" || type == "match_statement" ||
               type_name(at).ends_with("_clause")) {
      NodeList inner;
      for (TSNode child : children_of(at)) {
        if (is(child, "block") || type_name(child).ends_with("_clause")) inner.push_back(child);
      }
      push(inner);
      for (FieldName part : {FieldName("condition"), FieldName("right")}) {
        TSNode asked = field(at, part);
        if (present(asked)) use(expression(asked));
      }
    } else {
      out.push_back(at);
    }
  }
  return out;
}

void FunctionLowering::define_class(TSNode node) {
  if (stack_is_low()) {
    unit_.too_deep.push_back(range_of(node));
    opaque_names({std::string(text(field(node, "name")))}, "nested too deeply", {});
    return;
  }
  auto id = open(node, StatementKind::other);
  TSNode bases = field(node, "superclasses");
  if (present(bases)) {
    for (TSNode base : children_of(bases)) {
      use(expression(is(base, "keyword_argument") ? field(base, "value") : base));
    }
  }
  std::string name(text(field(node, "name")));
  const std::string outer = unit_.functions[index_].qualified;
  // The class body runs here; its names are attributes, not variables of this function.
  std::string saved = unit_.functions[index_].qualified;
  unit_.functions[index_].qualified = (outer.empty() ? unit_.module : outer) + "." + name;
  unit_.classes->add_class(unit_.functions[index_].qualified, node);
  overlays_.emplace_back();
  for (TSNode child : class_statements(field(node, "body"))) {
    TSNode inner = is(child, "decorated_definition") ? field(child, "definition") : child;
    if (is(inner, "function_definition")) {
      for (TSNode parameter : children_of(field(inner, "parameters"))) {
        TSNode value = field(parameter, "value");
        if (present(value)) use(expression(value));
      }
      auto index = static_cast<uint32_t>(unit_.functions.size());
      Function method;
      method.name = text(field(inner, "name"));
      method.qualified = unit_.functions[index_].qualified + "." + method.name;
      method.parent = index_;
      if (is(child, "decorated_definition")) method.decorators = decorators(child);
      note_scripted(method, name);
      method.range = range_of(inner);
      unit_.functions.push_back(std::move(method));
      unit_.methods.emplace(index, unit_.functions[index_].qualified);
      shared_.pending.push_back({inner, index, index_ == 0 ? nullptr : scope_});
    } else if (is(inner, "class_definition")) {
      define_class(inner);
    } else if (is(inner, "expression_statement")) {
      for (TSNode e : children_of(inner)) {
        if (is(e, "assignment")) {
          TSNode right = field(e, "right");
          if (!present(right)) continue;
          ValueId value = expression(right);
          use(value);
          if (is(field(e, "left"), "identifier")) {
            overlays_.back()[std::string(text(field(e, "left")))] = value;
          }
        } else {
          use(expression(e));
        }
      }
    }
  }
  overlays_.pop_back();
  unit_.functions[index_].qualified = saved;
  close(id);
  if (index_ != 0 || scope_->locals.contains(name)) {
    Value v;
    v.kind = Kind::symbol;
    v.text = (outer.empty() ? unit_.module : outer) + "." + name;
    v.statement = id;
    bind(name, g().add(std::move(v)));
  }
}

}  // namespace refit::python
