// Definitions of functions and classes: what runs where they stand, and what is lowered after them.
// Entry points: FunctionLowering::define_function, define_class.
#include <algorithm>
#include <iterator>

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

void FunctionLowering::lower_defaults(TSNode definition) {
  for (TSNode parameter : children_of(field(definition, "parameters"))) {
    TSNode value = field(parameter, "value");
    if (present(value)) use(expression(value));
  }
}

// A function of the unit, to be lowered after this one; `class_name` is that of a method's class.
uint32_t FunctionLowering::add_function(TSNode node, std::vector<std::string> decorators,
                                        std::string_view class_name) {
  const auto index = static_cast<uint32_t>(unit_.functions.size());
  const std::string& outer = unit_.functions[index_].qualified;
  Function inner;
  inner.name = text(field(node, "name"));
  inner.qualified = (outer.empty() ? unit_.module : outer) + "." + inner.name;
  inner.parent = index_;
  inner.decorators = std::move(decorators);
  note_scripted(inner, class_name);
  inner.range = range_of(node);
  unit_.functions.push_back(std::move(inner));
  shared_.pending.push_back({node, index, index_ == 0 ? nullptr : scope_});
  return index;
}

bool FunctionLowering::definition(TSNode node) {
  const bool decorated = is(node, "decorated_definition");
  const TSNode inner = decorated ? field(node, "definition") : node;
  const bool function = is(inner, "function_definition");
  if (!function && !is(inner, "class_definition")) return false;
  std::vector<std::string> decorated_by;
  // What compiles a class compiles its methods, so that it is read even where they alone are.
  if (decorated && !(function && unit_.is_left_out(range_of(inner)))) {
    auto id = open(node, StatementKind::other);
    decorated_by = decorators(node);
    close(id);
  }
  if (function) {
    define_function(inner, std::move(decorated_by));
  } else {
    define_class(inner, decorated_by);
  }
  return true;
}

void FunctionLowering::define_function(TSNode node, std::vector<std::string> decorators) {
  auto id = open(node, StatementKind::other);
  if (!unit_.is_left_out(range_of(node))) lower_defaults(node);
  const uint32_t index = add_function(node, std::move(decorators), "");
  shared_.definitions.emplace(index, node);
  Value v;
  v.kind = Kind::function;
  v.text = unit_.functions[index].qualified;
  v.index = static_cast<int>(index);
  v.statement = id;
  bind(unit_.functions[index].name, g().add(std::move(v)));
  close(id);
}

// The statements of a body, those of its conditions and loops included, in source order.
std::vector<TSNode> FunctionLowering::statements_within(TSNode body) {
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
      if (!own_statements_) continue;
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

void FunctionLowering::define_class(TSNode node, const std::vector<std::string>& decorators_of) {
  if (stack_is_low()) {
    unit_.too_deep.push_back(range_of(node));
    opaque_names({std::string(text(field(node, "name")))}, "nested too deeply", {});
    return;
  }
  auto id = open(node, StatementKind::other);
  TSNode bases = field(node, "superclasses");
  if (present(bases) && own_statements_) {
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
  for (TSNode child : statements_within(field(node, "body"))) {
    TSNode inner = is(child, "decorated_definition") ? field(child, "definition") : child;
    if (is(inner, "function_definition")) {
      std::vector<std::string> decorated_by;
      if (!unit_.is_left_out(range_of(inner))) {
        lower_defaults(inner);
        decorated_by = decorators(child);
      }
      std::ranges::copy_if(decorators_of, std::back_inserter(decorated_by),
                           [](const auto& by) { return by == "torch.jit.script"; });
      const uint32_t index = add_function(inner, std::move(decorated_by), name);
      unit_.methods.emplace(index, unit_.functions[index_].qualified);
    } else if (is(inner, "class_definition")) {
      define_class(inner, {});
    } else if (is(inner, "expression_statement") && own_statements_) {
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
