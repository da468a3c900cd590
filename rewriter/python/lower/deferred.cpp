// Expressions with names of their own, and what runs later than it stands: comprehensions, lambdas.
#include "rewriter/python/lower/lowering.hpp"

namespace refit::python {

// What runs later reads names as they are by then, and what it reads must stay.
void FunctionLowering::read_later(TSNode body) {
  std::vector<TSNode> reads{body};
  while (!reads.empty()) {
    TSNode at = reads.back();
    reads.pop_back();
    if (is(at, "identifier") && scope_->locals.contains(text(at))) {
      scope_->captured.emplace(text(at));
      std::string name(text(at));
      if (overlays_.back().contains(name)) continue;
      ValueId now = identifier(at);
      overlays_.back()[std::move(name)] = opaque("read later", {now}, at);
    } else if (!is(at, "lambda")) {  // one inside sees to its own reads
      for (TSNode inner : children_of(at)) reads.push_back(inner);
    }
  }
}

ValueId FunctionLowering::comprehension(TSNode node) {
  overlays_.emplace_back();
  std::vector<ValueId> operands;
  TSNode body = field(node, "body");
  for (TSNode child : children_of(node)) {
    if (is(child, "for_in_clause")) {
      ValueId over = expression(field(child, "right"));
      operands.push_back(over);
      std::vector<TSNode> targets{field(child, "left")};
      while (!targets.empty()) {
        TSNode target = targets.back();
        targets.pop_back();
        if (is(target, "identifier")) {
          overlays_.back()[std::string(text(target))] = opaque("item", {over}, target);
        } else {
          for (TSNode inner : children_of(target)) targets.push_back(inner);
        }
      }
    } else if (is(child, "if_clause")) {
      for (TSNode e : children_of(child)) operands.push_back(expression(e));
    }
  }
  // A generator that no call consumes where it stands runs when somebody asks for its items.
  bool later = is(node, "generator_expression") && !is(ts_node_parent(node), "call");
  if (later) read_later(body);
  if (is(body, "pair")) {
    for (TSNode e : children_of(body)) operands.push_back(expression(e));
  } else if (present(body)) {
    operands.push_back(expression(body));
  }
  overlays_.pop_back();
  return opaque(later ? std::string(kGenerator) : "comprehension", std::move(operands), node);
}

ValueId FunctionLowering::lambda(TSNode node) {
  overlays_.emplace_back();
  std::vector<TSNode> work;
  TSNode parameters = field(node, "parameters");
  if (present(parameters)) work.push_back(parameters);
  while (!work.empty()) {
    TSNode at = work.back();
    work.pop_back();
    if (is(at, "identifier")) {
      overlays_.back()[std::string(text(at))] = opaque("lambda parameter", {}, at);
    } else if (is(at, "default_parameter")) {
      use(expression(field(at, "value")));
      work.push_back(field(at, "name"));
    } else {
      for (TSNode inner : children_of(at)) work.push_back(inner);
    }
  }
  read_later(field(node, "body"));
  bool outer_impure = impure_;
  ++lambdas_;
  ValueId body = expression(field(node, "body"));
  --lambdas_;
  impure_ = outer_impure;
  overlays_.pop_back();
  use(body);
  const ValueId id = opaque("lambda", {body}, node);
  // The outermost one runs what those inside it do.
  if (!context_.pattern && lambdas_ == 0 && body_writes().body_writes(node)) {
    g().writers.emplace(id, kNone);
  }
  return id;
}

}  // namespace refit::python
