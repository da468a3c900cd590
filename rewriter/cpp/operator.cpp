// Operators of C++ as operations of the value graph, those of tensors and those of numbers; a store
// is opaque. Entry points: Lowering::overloaded_operator, builtin_binary and builtin_unary.
#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

std::string_view operator_id(clang::OverloadedOperatorKind kind, unsigned operands) {
  switch (kind) {
    case clang::OO_Plus:
      return operands == 2 ? "operator.add" : "operator.pos";
    case clang::OO_Minus:
      return operands == 2 ? "operator.sub" : "operator.neg";
    case clang::OO_Star:
      return operands == 2 ? "operator.mul" : "";
    case clang::OO_Slash:
      return "operator.truediv";
    case clang::OO_Tilde:
      return "operator.invert";
    case clang::OO_Amp:
      return operands == 2 ? "operator.and_" : "";
    case clang::OO_Pipe:
      return "operator.or_";
    case clang::OO_Less:
      return "operator.lt";
    case clang::OO_LessEqual:
      return "operator.le";
    case clang::OO_Greater:
      return "operator.gt";
    case clang::OO_GreaterEqual:
      return "operator.ge";
    case clang::OO_EqualEqual:
      return "operator.eq";
    case clang::OO_ExclaimEqual:
      return "operator.ne";
    default:
      return "";
  }
}

std::string_view operator_id(clang::BinaryOperatorKind kind, bool floating) {
  switch (kind) {
    case clang::BO_Add:
      return "operator.add";
    case clang::BO_Sub:
      return "operator.sub";
    case clang::BO_Mul:
      return "operator.mul";
    case clang::BO_Div:
      return floating ? "operator.truediv" : "";  // of integers it rounds towards zero
    case clang::BO_LT:
      return "operator.lt";
    case clang::BO_LE:
      return "operator.le";
    case clang::BO_GT:
      return "operator.gt";
    case clang::BO_GE:
      return "operator.ge";
    case clang::BO_EQ:
      return "operator.eq";
    case clang::BO_NE:
      return "operator.ne";
    case clang::BO_LAnd:
      return "operator.logical_and";
    case clang::BO_LOr:
      return "operator.logical_or";
    default:
      return "";
  }
}

}  // namespace

ValueId Lowering::overloaded_operator(const clang::CXXOperatorCallExpr* node) {
  clang::OverloadedOperatorKind kind = node->getOperator();
  std::vector<ValueId> operands;
  bool tensors = false;
  for (const clang::Expr* argument : node->arguments()) {
    tensors = tensors || is_tensor(argument->getType());
  }
  if (kind == clang::OO_Call) {
    if (node->getNumArgs() == 2) {
      if (auto known = layer_call(node, node->getArg(0), node->getArg(1))) return *known;
    }
    if (is_fixed(node)) {
      const auto* body = llvm::cast<clang::FunctionDecl>(node->getDirectCallee());
      if (auto seen = see_through(node, body)) return *seen;
    }
    // Another module or a function object: what it does is its class's affair.
    return unknown_call(node, expression(node->getArg(0)));
  }
  if (auto held = of_optional(node)) return *held;
  for (const clang::Expr* argument : node->arguments()) operands.push_back(expression(argument));
  if (kind == clang::OO_Subscript && operands.size() == 2) {
    return subscript(operands[0], operands[1], node);
  }
  if (kind == clang::OO_Arrow) return opaque("pointer", std::move(operands), node);
  bool writes = kind == clang::OO_Equal || kind == clang::OO_PlusEqual ||
                kind == clang::OO_MinusEqual || kind == clang::OO_StarEqual ||
                kind == clang::OO_SlashEqual;
  if (writes) {
    impure_ = true;
    for (ValueId id : operands) use(id);
    const clang::Expr* target = node->getArg(0)->IgnoreParenImpCasts();
    if (const auto* field = llvm::dyn_cast<clang::MemberExpr>(target)) {
      g().stored_attributes.push_back(field->getMemberDecl()->getNameAsString());
    }
    bool rebinds = kind == clang::OO_Equal && llvm::isa<clang::MemberExpr>(target);
    if (!rebinds) forget_tensors();
    return opaque("store", std::move(operands), node);
  }
  // An operator that somebody else defined on tensors may be anything.
  const clang::FunctionDecl* callee = node->getDirectCallee();
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(callee);
  tensors =
      tensors && callee != nullptr &&
      (method != nullptr ? knowledge_.names.tensor(method->getParent()->getQualifiedNameAsString())
                         : !knowledge_.names.meaning(callee->getQualifiedNameAsString()).empty());
  std::string_view id = operator_id(kind, node->getNumArgs());
  if (tensors && !id.empty()) return operation(id, std::move(operands), node);
  // `mask != std::nullopt`
  const bool compares = kind == clang::OO_EqualEqual || kind == clang::OO_ExclaimEqual;
  if (compares && operands.size() == 2 && holds_tensor(node->getArg(0)->getType()) &&
      record_name(node->getArg(1)->IgnoreImplicit()->getType()) == "std::nullopt_t") {
    return operation(kind == clang::OO_EqualEqual ? "operator.is_" : "operator.is_not",
                     {operands[0], none(nullptr)}, node);
  }
  // Of element types: a comparison of values.
  if (!tensors && callee != nullptr &&
      callee->getQualifiedNameAsString().starts_with("caffe2::operator") && compares) {
    return operation(id, std::move(operands), node);
  }
  impure_ = true;
  for (ValueId operand : operands) use(operand);
  return opaque("operator", std::move(operands), node);
}

ValueId Lowering::builtin_binary(const clang::BinaryOperator* node) {
  if (node->isAssignmentOp()) {
    impure_ = true;
    ValueId value = expression(node->getRHS());
    use(value);
    const clang::Expr* target = node->getLHS()->IgnoreParenImpCasts();
    if (const auto* field = llvm::dyn_cast<clang::MemberExpr>(target)) {
      g().stored_attributes.push_back(field->getMemberDecl()->getNameAsString());
    }
    const clang::ValueDecl* variable = named(target);
    if (variable != nullptr && name_ids_.contains(variable)) {
      forget(variable, "it is assigned inside an expression");
    }
    return opaque("assignment", {value}, node);
  }
  ValueId a = expression(node->getLHS());
  ValueId b = expression(node->getRHS());
  std::string_view id = operator_id(node->getOpcode(), node->getType()->isFloatingType());
  // Of numbers that are not negative, rounding towards zero is rounding down.
  if (node->getOpcode() == clang::BO_Div && node->getType()->isIntegerType() && not_negative(a) &&
      not_negative(b)) {
    id = "operator.floordiv";
  }
  if (id.empty()) return opaque("operator", {a, b}, node);
  // `mask.has_value() && mask->defined()` is one question: what is no tensor is None.
  const auto given = [&](ValueId asked) {
    const Value& v = g()[asked];
    return v.kind == Kind::op && v.op->id == "operator.is_not" ? v.operands[0] : kNone;
  };
  if (node->getOpcode() == clang::BO_LAnd && given(a) != kNone && given(b) != kNone &&
      g().same(given(a), given(b)) && g()[g()[a].operands[1]].kind == Kind::literal &&
      g().same(g()[a].operands[1], g()[b].operands[1])) {
    return a;
  }
  return operation(id, {a, b}, node);
}

ValueId Lowering::builtin_unary(const clang::UnaryOperator* node) {
  if (node->getOpcode() == clang::UO_Minus) {
    ValueId operand = expression(node->getSubExpr());
    Literal l = g()[operand].literal;
    if (g()[operand].kind == Kind::literal) {
      l.integer = -l.integer;
      l.real = -l.real;
      return literal(std::move(l), node);
    }
    return operation("operator.neg", {operand}, node);
  }
  if (node->getOpcode() == clang::UO_LNot) {
    const ValueId negated = expression(node->getSubExpr());
    if (g()[negated].kind == Kind::op && g()[negated].op->id == "operator.is_not") {
      return operation("operator.is_", g()[negated].operands, node);
    }
    return operation("operator.not_", {negated}, node);
  }
  if (node->isIncrementDecrementOp()) {
    impure_ = true;
    const clang::ValueDecl* variable = named(node->getSubExpr());
    if (variable != nullptr && name_ids_.contains(variable)) forget(variable, "it is counted");
  }
  return opaque_children("operator", node);
}

}  // namespace refit::cpp
