// Expressions of C++ to the value graph: names, literals, objects that are made and subscripts.
// operator.cpp has the operators and call.cpp the calls. Entry point: Lowering::expression.
#include "rewriter/cpp/lowering.hpp"

#include <algorithm>

namespace refit::cpp {

namespace {

constexpr int kDepthBound = 200;  // nesting of expressions; deeper ones stay opaque

// Whether a conversion may give another number. Whole numbers are taken to fit into 32 bits, and a
// constant is read as it is.
bool loses(const clang::ImplicitCastExpr* cast, const clang::ASTContext& context) {
  const clang::CastKind kind = cast->getCastKind();
  if (kind == clang::CK_FloatingToIntegral || kind == clang::CK_FloatingToBoolean ||
      kind == clang::CK_IntegralToBoolean) {
    return true;
  }
  if (kind != clang::CK_IntegralCast) return false;
  constexpr uint64_t kUsual = 32;  // bits
  const clang::Expr* from = cast->getSubExpr();
  const clang::QualType to = cast->getType();
  const bool keeps_sign = !to->isUnsignedIntegerType() || from->getType()->isUnsignedIntegerType();
  const uint64_t width = context.getIntWidth(to);
  const bool keeps = (width >= context.getIntWidth(from->getType()) && keeps_sign) ||
                     (width >= kUsual && keeps_sign) || width > kUsual;
  if (keeps) return false;
  clang::Expr::EvalResult constant;
  return from->isValueDependent() || !from->EvaluateAsInt(constant, context) ||
         constant.Val.getInt().isNegative() ||
         constant.Val.getInt().getActiveBits() >= std::min(width, kUsual);
}

}  // namespace

// What stands inside conversions that change no value.
const clang::Expr* bare(const clang::Expr* node) {
  for (;;) {
    node = node->IgnoreParens();
    if (const auto* cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(node)) {
      node = cleanups->getSubExpr();
    } else if (const auto* temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(node)) {
      node = temporary->getSubExpr();
    } else if (const auto* bound = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(node)) {
      node = bound->getSubExpr();
    } else if (const auto* constant = llvm::dyn_cast<clang::ConstantExpr>(node)) {
      node = constant->getSubExpr();
    } else {
      return node;
    }
  }
}

std::string Lowering::record_name(clang::QualType type) const {
  const clang::CXXRecordDecl* record = type.getNonReferenceType()->getAsCXXRecordDecl();
  return record == nullptr ? "" : record->getQualifiedNameAsString();
}

bool Lowering::is_tensor(clang::QualType type) const {
  return knowledge_.names.tensor(record_name(type));
}

// Making and ending one does nothing but hold a value.
bool Lowering::plain_value(clang::QualType type) const {
  if (type.isNull()) return false;  // a part of what clang does not know
  clang::QualType held = type.getNonReferenceType();
  if (held->isArithmeticType() || held->isEnumeralType() || is_tensor(held)) return true;
  if (holds_parts(held)) return true;
  std::string name = record_name(held);
  if (name.empty()) return false;
  if (name == "std::optional" || name == "std::string") return true;
  if (name.ends_with("string_view")) return true;
  return name.ends_with("ArrayRef") || name.ends_with("::IListRef") ||
         name.ends_with("::TensorOptions") || name.ends_with("::Scalar") ||
         name.ends_with("::Device");
}

// A tuple, or a list, of values.
bool Lowering::holds_parts(clang::QualType type) const {
  const std::string name = type.isNull() ? "" : record_name(type);
  return name == "std::vector" || name == "std::tuple" || name == "std::pair" ||
         name == "std::array";
}

ValueId Lowering::add(Value value, const clang::Expr* node) {
  value.statement = current_;
  const clang::QualType type = node == nullptr ? clang::QualType() : node->getType();
  value.number = !type.isNull() && type->isArithmeticType() && !type->isBooleanType();
  std::string locked;
  if (node != nullptr && seeing_ == 0) {
    if (auto where = range(node->getSourceRange(), &locked)) {
      value.range = *where;
      value.syntax = 0;
    }
  }
  value.inlined = seeing_ != 0;
  ValueId id = g().add(std::move(value));
  if (!locked.empty()) {
    text().locked.emplace(id, locked);
  } else if (in_template_) {
    text().locked.emplace(id,
                          "it stands in a template or among jumps, where one text may mean several "
                          "things; write the function without");
  }
  knowledge_.isomorphisms.normalise(g(), id);
  return id;
}

ValueId Lowering::literal(Literal value, const clang::Expr* node) {
  Value v;
  v.kind = Kind::literal;
  v.literal = std::move(value);
  return add(std::move(v), node);
}

ValueId Lowering::integer(int64_t value, const clang::Expr* node) {
  return literal(Literal::whole(value), node);
}

ValueId Lowering::none(const clang::Expr* node) { return literal({}, node); }

ValueId Lowering::symbol(std::string meaning, const clang::Expr* node) {
  Value v;
  v.kind = Kind::symbol;
  v.text = std::move(meaning);
  return add(std::move(v), node);
}

ValueId Lowering::opaque(std::string why, std::vector<ValueId> operands, const clang::Expr* node) {
  Value v;
  v.kind = Kind::opaque;
  v.text = std::move(why);
  v.operands = std::move(operands);
  return add(std::move(v), node);
}

ValueId Lowering::opaque_children(std::string why, const clang::Stmt* node) {
  std::vector<ValueId> operands;
  for (const clang::Stmt* child : node->children()) {
    const auto* inside = llvm::dyn_cast_or_null<clang::Expr>(child);
    if (inside != nullptr) operands.push_back(expression(inside));
  }
  return opaque(std::move(why), std::move(operands), llvm::dyn_cast<clang::Expr>(node));
}

ValueId Lowering::operation(std::string_view id, std::vector<ValueId> operands,
                            const clang::Expr* node) {
  const Operation* op = knowledge_.catalogue.find(id);
  if (op == nullptr) return opaque(std::string(id), std::move(operands), node);
  Value v;
  v.kind = Kind::op;
  v.op = op;
  operands.resize(op->parameters.size(), kNone);
  v.operands = std::move(operands);
  return add(std::move(v), node);
}

ValueId Lowering::self(const clang::Expr* node) {
  if (self_ == kNone) {
    Value v;
    v.kind = Kind::parameter;
    v.text = "this";
    self_ = add(std::move(v), node);
    g()[self_].range = {};
  }
  return self_;
}

ValueId Lowering::expression(const clang::Expr* node) {
  if (node == nullptr) return kNone;
  if (++depth_ > kDepthBound) {
    --depth_;
    impure_ = true;
    unit_.too_deep.push_back(range_or_empty(node->getSourceRange()));
    return opaque("nested too deeply", {}, node);
  }
  ValueId id = inner(bare(node));
  --depth_;
  return id;
}

ValueId Lowering::inner(const clang::Expr* node) {
  if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(node)) {
    if (loses(cast, context_)) return opaque_children("conversion", node);
    return expression(cast->getSubExpr());
  }
  if (const auto* made = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(node)) {
    // `torch::Tensor(x)`, `IntArrayRef({…})`
    if (made->getCastKind() == clang::CK_ConstructorConversion ||
        made->getCastKind() == clang::CK_NoOp) {
      return expression(made->getSubExpr());
    }
    return opaque_children("conversion", node);
  }
  if (const auto* cast = llvm::dyn_cast<clang::CXXStaticCastExpr>(node)) {
    // `static_cast<double>(d)`: the same number.
    const bool same = cast->getCastKind() == clang::CK_NoOp ||
                      (cast->getCastKind() == clang::CK_IntegralToFloating &&
                       context_.hasSameUnqualifiedType(cast->getType(), context_.DoubleTy));
    if (same) return expression(cast->getSubExpr());
  }
  if (llvm::isa<clang::CastExpr>(node)) return opaque_children("conversion", node);
  if (const auto* number = llvm::dyn_cast<clang::IntegerLiteral>(node)) {
    return integer(number->getValue().getSExtValue(), node);
  }
  if (const auto* number = llvm::dyn_cast<clang::FloatingLiteral>(node)) {
    Literal l;
    l.kind = Literal::Kind::real;
    l.real = number->getValueAsApproximateDouble();
    return literal(std::move(l), node);
  }
  if (const auto* flag = llvm::dyn_cast<clang::CXXBoolLiteralExpr>(node)) {
    return literal(Literal::truth(flag->getValue()), node);
  }
  if (const auto* words = llvm::dyn_cast<clang::StringLiteral>(node)) {
    if (!words->isOrdinary() && !words->isUTF8()) return opaque("string", {}, node);
    return literal(Literal::string(words->getString().str()), node);
  }
  if (llvm::isa<clang::CXXNullPtrLiteralExpr>(node)) return none(node);
  if (llvm::isa<clang::CXXThisExpr>(node)) return self(node);
  if (const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(node))
    return read(name->getDecl(), node);
  if (const auto* part = llvm::dyn_cast<clang::MemberExpr>(node)) return member(part);
  if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
    return overloaded_operator(made);
  }
  if (const auto* made = llvm::dyn_cast<clang::CallExpr>(node)) return call(made);
  if (const auto* list = llvm::dyn_cast<clang::CXXStdInitializerListExpr>(node)) {
    return expression(list->getSubExpr());
  }
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(node)) return members(list);
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(node)) return construct(made);
  if (const auto* both = llvm::dyn_cast<clang::BinaryOperator>(node)) return builtin_binary(both);
  if (const auto* one = llvm::dyn_cast<clang::UnaryOperator>(node)) return builtin_unary(one);
  if (const auto* chosen = llvm::dyn_cast<clang::ConditionalOperator>(node)) {
    Value v;
    v.kind = Kind::phi;
    const ValueId condition = expression(chosen->getCond());
    const ValueId then = expression(chosen->getTrueExpr());
    v.operands = choice(condition, then, expression(chosen->getFalseExpr()));
    return add(std::move(v), node);
  }
  if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(node)) {
    std::vector<ValueId> held;
    for (const clang::Expr* init : lambda->capture_inits()) {
      if (init != nullptr) held.push_back(expression(init));
    }
    for (ValueId id : held) use(id);
    const clang::FunctionDecl* body = lambda->getCallOperator();
    if (seeing_ == 0 && std::ranges::find(lambdas_, body) == lambdas_.end()) {
      lambdas_.push_back(body);
    }
    return opaque("lambda", std::move(held), node);
  }
  impure_ = true;
  if (const auto* broken = llvm::dyn_cast<clang::RecoveryExpr>(node)) return unresolved(broken);
  return opaque_children(node->getStmtClassName(), node);
}

ValueId Lowering::read(const clang::ValueDecl* decl, const clang::Expr* node) {
  if (auto seen = inlined_.find(decl); seen != inlined_.end()) return seen->second;
  // A part of a tuple is read as what it holds, and the tuple's name is not seen behind that.
  const bool changes =
      changing_.contains(decl) || (holds_parts(decl->getType()) && named_elsewhere(decl, node));
  if (auto found = name_ids_.find(decl); found != name_ids_.end() && !changes) {
    DefinitionId d = env_[found->second];
    if (d != kNone) return g().definitions[d].value;
  }
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
  bool local = llvm::isa<clang::BindingDecl>(decl) ||
               (variable != nullptr && variable->isLocalVarDeclOrParm());
  if (!local) {
    if (record_name(decl->getType()) == "std::nullopt_t") return none(node);
    std::string qualified = decl->getQualifiedNameAsString();
    if (qualified == "at::indexing::Ellipsis") return literal(Literal::symbol("..."), node);
    std::string meaning = knowledge_.names.meaning(qualified);
    if (!meaning.empty()) return symbol(std::move(meaning), node);
  }
  Value v;
  v.kind = Kind::unknown;
  v.text = decl->getNameAsString();
  return add(std::move(v), node);
}

ValueId Lowering::member(const clang::MemberExpr* node) {
  ValueId base = expression(node->getBase());
  if (const auto* held = llvm::dyn_cast<clang::VarDecl>(node->getMemberDecl())) {
    return read(held, node);  // a static member
  }
  Value v;
  v.kind = Kind::attribute;
  v.text = node->getMemberDecl()->getNameAsString();
  v.operands = {base};
  return add(std::move(v), node);
}

// `{a, b}`: a list, or the fields of an aggregate.
ValueId Lowering::members(const clang::InitListExpr* node) {
  const clang::InitListExpr* written = node;
  if (const clang::InitListExpr* syntactic = node->getSyntacticForm()) written = syntactic;
  if (node->getType()->isRecordType() && !node->getType()->isArrayType()) {
    return opaque_children("aggregate", node);
  }
  if (written->getNumInits() == 1 && node->getType()->isArithmeticType()) {
    return expression(written->getInit(0));
  }
  Value v;
  v.kind = Kind::list;
  for (const clang::Expr* item : node->inits()) v.operands.push_back(expression(item));
  return add(std::move(v), node);
}

ValueId Lowering::construct(const clang::CXXConstructExpr* node) {
  std::vector<const clang::Expr*> given;
  for (const clang::Expr* argument : node->arguments()) {
    if (!llvm::isa<clang::CXXDefaultArgExpr>(argument)) given.push_back(argument);
  }
  std::string name = record_name(node->getType());
  bool several = name == "std::tuple" || name == "std::pair";
  if (name.ends_with("indexing::TensorIndex") && given.size() == 1) {
    const auto* words = llvm::dyn_cast<clang::StringLiteral>(bare(given.front())->IgnoreImplicit());
    if (words == nullptr || words->getString() != "...") return expression(given.front());
    return literal(Literal::symbol("..."), node);
  }
  if (name.ends_with("indexing::Slice") && !node->getConstructor()->isCopyOrMoveConstructor()) {
    Value v;
    v.kind = Kind::slice;
    for (const clang::Expr* argument : given) v.operands.push_back(expression(argument));
    for (ValueId& bound : v.operands) {
      if (g()[bound].kind == Kind::literal && g()[bound].literal.kind == Literal::Kind::none) {
        bound = kNone;
      }
    }
    v.operands.resize(3, kNone);
    const auto whole = [&](size_t place, int64_t number) {
      if (v.operands[place] == kNone) return;
      const Value& bound = g()[v.operands[place]];
      const bool same = bound.kind == Kind::literal &&
                        bound.literal.kind == Literal::Kind::integer &&
                        bound.literal.integer == number;
      if (same) v.operands[place] = kNone;
    };
    whole(0, 0);
    whole(2, 1);
    return add(std::move(v), node);
  }
  if (given.empty()) {
    // An optional, or a list, that holds nothing.
    if (name == "std::optional" || name.ends_with("optional") || name.ends_with("nullopt_t")) {
      return none(node);
    }
    return opaque("made without a value", {}, node);
  }
  if (several && holds(node->getType(), given)) {
    Value v;
    v.kind = Kind::tuple;
    for (const clang::Expr* argument : given) v.operands.push_back(expression(argument));
    return add(std::move(v), node);
  }
  // A conversion, a copy or a move of what is given.
  bool converts = node->getConstructor()->isCopyOrMoveConstructor() ||
                  (plain_value(node->getType()) && !is_tensor(node->getType()));
  converts = converts || name.ends_with("indexing::Slice");
  if (given.size() == 1 && converts) return expression(given.front());
  std::vector<ValueId> operands;
  for (const clang::Expr* argument : given) operands.push_back(expression(argument));
  if (!plain_value(node->getType())) impure_ = true;
  return opaque("constructor", std::move(operands), node);
}

ValueId Lowering::subscript(ValueId base, ValueId index, const clang::Expr* node) {
  const Value& b = g()[base];
  const Value& i = g()[index];
  bool fixed = i.kind == Kind::literal && i.literal.kind == Literal::Kind::integer;
  if (fixed && i.literal.integer >= 0) {
    auto n = static_cast<size_t>(i.literal.integer);
    if ((b.kind == Kind::tuple || b.kind == Kind::list) && n < b.operands.size()) {
      return b.operands[n];
    }
    if (b.kind == Kind::op && b.op->id == "torch.unbind") {
      const ValueId axis = g().argument(base, "dim");
      if (axis != kNone && g()[axis].kind == Kind::literal &&
          g()[axis].literal.kind == Literal::Kind::integer && g()[axis].literal.integer == -1) {
        return along(b.operands[0], -1, index, node);
      }
    }
    if (b.kind == Kind::op && b.op->axes == AxisKind::split) {
      // Python unpacks; where the number of parts is written, an element is the same.
      ValueId parts = g().argument(
          base, b.op->id == "torch.tensor_split" ? "tensor_indices_or_sections" : "chunks");
      if (parts != kNone && g()[parts].kind == Kind::literal &&
          g()[parts].literal.kind == Literal::Kind::integer &&
          i.literal.integer < g()[parts].literal.integer) {
        Value v;
        v.kind = Kind::element;
        v.index = static_cast<int>(n);
        v.count = static_cast<int>(g()[parts].literal.integer);
        v.operands = {base};
        return add(std::move(v), node);
      }
    }
  }
  Value v;
  v.kind = Kind::index;
  v.operands = {base, index};
  return add(std::move(v), node);
}

}  // namespace refit::cpp
