// See other_functions.hpp. The function's text is lowered as a file of its own, in which no name
// but its parameters means anything, so that nothing depends on where it stands.
#include "rewriter/python/lower/other_functions.hpp"

#include <algorithm>

#include "rewriter/python/lower/lower.hpp"
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/names/module.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

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
             v.kind == Kind::phi || v.kind == Kind::slice || v.kind == Kind::tuple ||
             v.kind == Kind::list;
  }
}

// Whether a function does nothing but compute what it returns, once: one value, or one of two.
bool only_computes(const Graph& g) {
  return g.results.size() == 1 && g.sinks.empty() && g.in_place.empty() && g.questions.empty() &&
         g.stored_attributes.empty() &&
         (g[g.results[0]].kind == Kind::op || g[g.results[0]].kind == Kind::phi) &&
         std::ranges::all_of(g.values, computed) &&
         // Behind the first, which stands for the parameters.
         std::all_of(g.statements.begin() + 1, g.statements.end(), [](const Statement& s) {
           return s.kind == StatementKind::assign || s.kind == StatementKind::give ||
                  s.kind == StatementKind::expression;
         });
}

// The values that a result is made of, ascending; empty where it does not read every parameter.
std::vector<ValueId> made_of(const Graph& g, ValueId result,
                             const std::vector<std::string>& parameters) {
  std::vector<bool> read(g.values.size(), false);
  std::vector<ValueId> work{result};
  while (!work.empty()) {
    const ValueId id = work.back();
    work.pop_back();
    if (id == kNone || read[id]) continue;
    read[id] = true;
    work.insert(work.end(), g[id].operands.begin(), g[id].operands.end());
  }
  std::vector<ValueId> out;
  size_t given = 0;
  for (ValueId id = 0; id < read.size(); ++id) {
    if (!read[id]) continue;
    if (id > result) return {};
    out.push_back(id);
    given += g[id].kind == Kind::parameter ? 1 : 0;
  }
  return given == parameters.size() ? out : std::vector<ValueId>{};
}

constexpr int kStepsFromProduct = 3;  // a factor, a cast
constexpr std::string_view kMarksForTracing = "torch.fx.wrap";

// The qualified name that a decorator names in its module; empty where it is called or means
// nothing there.
std::string named_by(TSNode decorator, std::string_view text, const Module& module) {
  const NodeList inside = children_of(decorator);
  if (inside.size() != 1) return "";
  const std::string_view written = text_of(text, inside[0]);
  if (!is(inside[0], "identifier") && !is(inside[0], "attribute")) return "";
  const size_t dot = written.find('.');
  const auto bound = module.names.bindings.find(written.substr(0, dot));
  if (bound == module.names.bindings.end() || bound->second.size() != 1) return "";
  const Binding& binding = bound->second[0];
  const std::string rest(dot == std::string_view::npos ? "" : written.substr(dot));
  if (binding.kind == Binding::Kind::import) return binding.qualified + rest;
  return binding.kind == Binding::Kind::function && rest.empty()
             ? module.name + "." + std::string(written)
             : "";
}

// Whether a function gives back the very thing that it is given: it calls what it likes, and ends
// in `return` of its only parameter.
bool gives_back(TSNode definition, std::string_view text) {
  const auto parameters = plain_parameters(definition, text);
  const NodeList statements = statements_of(field(definition, "body"));
  if (!parameters || parameters->size() != 1 || statements.empty() ||
      text_of(text, definition).starts_with("async")) {
    return false;
  }
  const NodeList given =
      is(statements.back(), "return_statement") ? children_of(statements.back()) : NodeList{};
  return given.size() == 1 && is(given[0], "identifier") &&
         text_of(text, given[0]) == parameters->front() &&
         std::all_of(statements.begin(), statements.end() - 1, [](TSNode s) {
           const NodeList inside = children_of(s);
           return is(s, "expression_statement") && inside.size() == 1 &&
                  (is(inside[0], "call") || is(inside[0], "string"));
         });
}

}  // namespace

// Whether the name of a decorator leaves what it decorates as it is.
bool OtherFunctions::keeps(const std::string& decorator) const {
  if (decorator == kMarksForTracing) return true;
  const size_t dot = decorator.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string module = decorator.substr(0, dot), name = decorator.substr(dot + 1);
  bool package = false;
  auto source = project_.source_of(module, &package);
  if (!source || !project_.replaced(module, name, false).empty()) return false;
  const Tree tree(source->text());
  const Module names = index_module(tree.root(), source->text(), module, package);
  const auto bound = names.names.bindings.find(name);
  const auto found = definitions_of(tree.root(), source->text(), name);
  return bound != names.names.bindings.end() && bound->second.size() == 1 &&
         names.names.stars.empty() && found.size() == 1 &&
         ts_node_eq(found[0].node, found[0].whole) && is(found[0].node, "function_definition") &&
         gives_back(found[0].node, source->text());
}

std::unique_ptr<Computing> OtherFunctions::read(const std::string& qualified) const {
  const size_t dot = qualified.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const std::string module = qualified.substr(0, dot), name = qualified.substr(dot + 1);
  bool package = false;
  auto source = project_.source_of(module, &package);
  if (!source || !project_.replaced(module, name, false).empty()) return nullptr;
  const Tree tree(source->text());
  const Module names = index_module(tree.root(), source->text(), module, package);
  const auto bound = names.names.bindings.find(name);
  if (bound == names.names.bindings.end() || bound->second.size() != 1 ||
      !names.names.stars.empty() || bound->second[0].kind != Binding::Kind::function) {
    return nullptr;
  }
  const auto found = definitions_of(tree.root(), source->text(), name);
  if (found.size() != 1) return nullptr;
  if (found[0].node != found[0].whole) {
    for (TSNode child : children_of(found[0].whole)) {
      if (is(child, "decorator") && !keeps(named_by(child, source->text(), names))) return nullptr;
    }
  }
  auto alone =
      Source::decode("<function>", std::string(source->slice(range_of(found[0].node))) + "\n");
  if (!alone) return nullptr;
  PythonUnit unit(std::move(*alone), "<function>");
  unit.module = "refit_function";
  unit.names = index_module(unit.tree.root(), unit.text(), unit.module, false);
  auto statements = statements_of(unit.tree.root());
  if (statements.size() != 1 || !is(statements[0], "function_definition") ||
      unit.text().starts_with("async") || contains_text(unit.text(), "yield") ||
      ts_node_has_error(unit.tree.root())) {
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
  out->values = made_of(out->graph, out->graph.results[0], out->parameters);
  return out->values.empty() ? nullptr : std::move(out);
}

const Computing* OtherFunctions::computing(const std::string& qualified) {
  std::lock_guard lock(mutex_);
  auto [at, fresh] = known_.try_emplace(qualified);
  if (fresh) at->second = read(qualified);
  return at->second.get();
}

// Whether a value is made of a product of matrices within a few operations.
bool FunctionLowering::of_a_product(ValueId id) const {
  for (int step = 0; step < kStepsFromProduct; ++step) {
    if (id == kNone || g()[id].kind != Kind::op) return false;
    if (g()[id].op->broadcasts) return true;
    id = g()[id].operands.empty() ? kNone : g()[id].operands[0];
  }
  return false;
}

// A call of such a function with what a layer or a product of matrices gives: that and what it is
// put into may be one operation.
std::optional<ValueId> FunctionLowering::see_through_other(ValueId callee,
                                                           const std::vector<Argument>& arguments,
                                                           TSNode node) {
  if (context_.functions == nullptr || g()[callee].kind != Kind::symbol ||
      std::ranges::none_of(arguments, [&](const Argument& a) {
        return g().instances.contains(a.value) || of_a_product(a.value);
      })) {
    return std::nullopt;
  }
  if (g()[callee].text.starts_with(unit_.module + ".")) return std::nullopt;
  const Computing* computing = context_.functions->computing(g()[callee].text);
  if (computing == nullptr) return std::nullopt;
  const auto bound = bound_by_name(computing->parameters, arguments);
  if (!bound || !in_any_order(arguments)) return std::nullopt;
  const Graph& from = computing->graph;
  std::map<ValueId, ValueId> copies{{kNone, kNone}};
  for (ValueId id : computing->values) {
    Value v = from[id];
    if (v.kind == Kind::parameter) {
      copies[id] = bound->at(v.text);
      continue;
    }
    for (ValueId& operand : v.operands) operand = copies.at(operand);
    v.inlined = true;
    v.range = {};
    v.syntax = kNone;
    v.statement = current_;
    copies[id] = g().add(std::move(v));
  }
  const ValueId result = copies.at(computing->values.back());
  g()[result].range = range_of(node);
  g()[result].syntax = static_cast<uint32_t>(unit_.nodes.size());
  unit_.nodes.push_back(node);
  unit_.borrowed.insert(computing->text);
  note_project_call(result, callee);
  return result;
}

}  // namespace refit::python
