// Calls of Python to the value graph: who is called, and which argument is which by the catalogue's
// signatures. Entry point: FunctionLowering::call.
#include <algorithm>

#include "rewriter/frontend/python/lowering.hpp"

namespace refit::python {

using graph::Kind;
using graph::kNone;
using graph::Value;
using graph::ValueId;

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
        bool named = p.name == a.keyword ||
                     std::find(p.also.begin(), p.also.end(), a.keyword) != p.also.end();
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

void FunctionLowering::note_project_call(ValueId value, ValueId callee) {
  const Value& c = g()[callee];
  if (c.kind == Kind::function) {
    unit_.project_calls.push_back({index_, value, c.text, static_cast<uint32_t>(c.index)});
    return;
  }
  if (c.kind != Kind::symbol) return;
  size_t dot = c.text.rfind('.');
  while (dot != std::string::npos) {
    if (context_.project.has_module(c.text.substr(0, dot))) {
      unit_.project_calls.push_back({index_, value, c.text, kNone});
      return;
    }
    if (dot == 0) return;
    dot = c.text.rfind('.', dot - 1);
  }
}

ValueId FunctionLowering::call(TSNode node) {
  TSNode function = without_parentheses(field(node, "function"));
  ValueId receiver = kNone;
  const Operation* op = nullptr;
  ValueId callee = kNone;
  if (is(function, "attribute")) {
    callee = attribute(function);
    const Value& c = g()[callee];
    if (c.kind == Kind::attribute) {
      const Value& base = g()[c.operands[0]];
      if (base.kind != Kind::literal) op = context_.catalogue.method(c.text);
      if (op != nullptr) receiver = c.operands[0];
    }
  } else {
    callee = expression(function);
  }
  if (op == nullptr && g()[callee].kind == Kind::symbol) {
    op = context_.catalogue.find(g()[callee].text);
  }
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
        arguments.push_back({"", inner.empty() ? kNone : expression(inner.front()), 2, a});
      } else {
        arguments.push_back({"", expression(a), is(a, "list_splat") ? 1 : 0, a});
      }
    }
  }
  Value v;
  v.op = op;
  if (op != nullptr) {
    std::string why;
    auto operands = bind_arguments(op->parameters, receiver, arguments, &why);
    for (size_t i = 0; i < op->overloads.size() && !operands; ++i) {
      std::string other;
      operands = bind_arguments(op->overloads[i], receiver, arguments, &other);
      if (operands) v.index = static_cast<int>(i) + 1;
    }
    if (operands) {
      v.kind = Kind::op;
      v.operands = std::move(*operands);
      if (!op->pure) impure_ = true;
      bool in_place = op->in_place;
      ValueId written = in_place && !v.operands.empty() ? v.operands[0] : kNone;
      ValueId id = add(std::move(v), node);
      auto& places = unit_.arguments[{index_, id}];
      for (const Argument& a : arguments) {
        if (a.parameter != SIZE_MAX) places.push_back({a.parameter, a.node});
      }
      if (receiver == kNone) note_project_call(id, callee);
      if (!op->pure) use(id);
      if (written != kNone) {
        impure_ = true;
        use(id);
        forget_aliases(written, "");
      }
      return id;
    }
    v.text = why;
    if (receiver != kNone) v.op = nullptr;  // some other object's method of that name
  }
  v.kind = Kind::call;
  v.operands.push_back(callee);
  for (const Argument& a : arguments) {
    v.operands.push_back(a.value);
    v.keywords.push_back(a.keyword);
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
  const Value& c = g()[callee];
  if (c.kind == Kind::unknown && !c.literal.text.empty()) {
    unit_.unresolved.push_back({range_of(node), c.text, c.literal.text});
  }
  return id;
}

}  // namespace refit::python
