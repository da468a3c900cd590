// See other_functions.hpp. The function's text is lowered as a file of its own, in which no name
// but its parameters means anything, so that nothing depends on where it stands.
#include "rewriter/frontend/python/other_functions.hpp"

#include <algorithm>

#include "rewriter/frontend/python/lower.hpp"
#include "rewriter/frontend/python/lowering.hpp"
#include "rewriter/frontend/python/outline.hpp"

namespace refit::python {

using graph::Kind;
using graph::kNone;
using graph::Value;
using graph::ValueId;

namespace {

// Whether a value is computed of what it reads alone, and by what no file can give another meaning.
bool computed(const Value& v) {
  switch (v.kind) {
    case Kind::op:
      return v.op->pure && v.op->library != "builtins";
    case Kind::opaque:
      return v.text == "string";
    case Kind::attribute:
      return v.operands.empty();  // the name of an operation
    default:
      return v.kind == Kind::parameter || v.kind == Kind::literal || v.kind == Kind::index ||
             v.kind == Kind::slice || v.kind == Kind::tuple || v.kind == Kind::list;
  }
}

// Whether a function does nothing but compute what it returns, once.
bool only_computes(const graph::Graph& g) {
  using graph::StatementKind;
  return g.results.size() == 1 && g.sinks.empty() && g.in_place.empty() && g.questions.empty() &&
         g.stored_attributes.empty() && g[g.results[0]].kind == Kind::op &&
         std::all_of(g.values.begin(), g.values.end(), computed) &&
         // Behind the first, which stands for the parameters.
         std::all_of(g.statements.begin() + 1, g.statements.end(), [](const graph::Statement& s) {
           return s.kind == StatementKind::assign || s.kind == StatementKind::give ||
                  s.kind == StatementKind::expression;
         });
}

}  // namespace

std::unique_ptr<Computing> OtherFunctions::read(const std::string& qualified) const {
  const size_t dot = qualified.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const std::string module = qualified.substr(0, dot), name = qualified.substr(dot + 1);
  bool package = false;
  auto source = project_.source_of(module, &package);
  if (!source || !project_.replaced(module, name, false).empty()) return nullptr;
  const auto outlined = outline(source->text(), module, package);
  if (!outlined) return nullptr;
  const auto bound = outlined->module.names.bindings.find(name);
  if (bound == outlined->module.names.bindings.end() || bound->second.size() != 1 ||
      bound->second[0].kind != Binding::Kind::function) {
    return nullptr;
  }
  const auto found =
      std::find_if(outlined->definitions.begin(), outlined->definitions.end(),
                   [&](const OutlinedDefinition& d) { return d.name == name && !d.is_class; });
  if (found == outlined->definitions.end() || found->owner != SIZE_MAX ||
      found->begin != found->header) {
    return nullptr;
  }
  auto alone =
      Source::decode("<function>", std::string(source->slice({found->begin, found->end})) + "\n");
  if (!alone) return nullptr;
  PythonUnit unit(std::move(*alone), "<function>");
  unit.module = "refit_function";
  unit.names = index_module(unit.tree.root(), unit.text(), unit.module, false);
  auto statements = statements_of(unit.tree.root());
  if (statements.size() != 1 || !is(statements[0], "function_definition") ||
      unit.text().starts_with("async") || ts_node_has_error(unit.tree.root())) {
    return nullptr;
  }
  auto parameters = plain_parameters(statements[0], unit.text());
  lower_unit(unit, {project_, catalogue_, isomorphisms_});
  if (!parameters || unit.functions.size() != 2 || !only_computes(unit.functions[1].graph)) {
    return nullptr;
  }
  auto out = std::make_unique<Computing>();
  out->text = unit.text();
  out->parameters = std::move(*parameters);
  out->graph = std::move(unit.functions[1].graph);
  out->result = out->graph.results[0];
  return out;
}

const Computing* OtherFunctions::computing(const std::string& qualified) {
  std::lock_guard lock(mutex_);
  auto [at, fresh] = known_.try_emplace(qualified);
  if (fresh) at->second = read(qualified);
  return at->second.get();
}

// A call of such a function with what a layer gives: the layer and what it is put into may be one
// operation.
std::optional<ValueId> FunctionLowering::see_through_other(ValueId callee,
                                                           const std::vector<Argument>& arguments,
                                                           TSNode node) {
  if (context_.functions == nullptr || g()[callee].kind != Kind::symbol ||
      std::none_of(arguments.begin(), arguments.end(),
                   [&](const Argument& a) { return g().instances.contains(a.value); })) {
    return std::nullopt;
  }
  if (g()[callee].text.starts_with(unit_.module + ".")) return std::nullopt;
  const Computing* computing = context_.functions->computing(g()[callee].text);
  if (computing == nullptr) return std::nullopt;
  const auto bound = bound_by_name(computing->parameters, arguments);
  if (!bound) return std::nullopt;
  const graph::Graph& from = computing->graph;
  std::vector<ValueId> copies(from.values.size(), kNone);
  for (ValueId id = 0; id <= computing->result; ++id) {
    Value v = from[id];
    if (v.kind == Kind::opaque || v.kind == Kind::attribute) continue;  // read by nobody
    if (v.kind == Kind::parameter) {
      copies[id] = bound->at(v.text);
      continue;
    }
    for (ValueId& operand : v.operands) {
      if (operand != kNone) operand = copies[operand];
    }
    v.inlined = true;
    v.range = {};
    v.syntax = kNone;
    v.statement = current_;
    copies[id] = g().add(std::move(v));
  }
  const ValueId result = copies[computing->result];
  g()[result].range = range_of(node);
  g()[result].syntax = static_cast<uint32_t>(unit_.nodes.size());
  unit_.nodes.push_back(node);
  unit_.borrowed.insert(computing->text);
  note_project_call(result, callee);
  return result;
}

}  // namespace refit::python
