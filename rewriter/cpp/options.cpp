// What an options object of torch's functions is made of: `F::SoftmaxFuncOptions(-1)`,
// `F::LayerNormFuncOptions({d}).eps(1e-6)`, made in the call that reads it, or a constant that a
// local variable holds. Entry point: Lowering::options_of.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

constexpr int kDepth = 32;  // options set one behind another

// A text, a number or a truth that is written out.
bool is_literal(const clang::Expr* node) {
  node = bare(node)->IgnoreImplicit();
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(node)) {
    if (made->getNumArgs() == 0) return false;
    node = bare(made->getArg(0))->IgnoreImplicit();
  }
  if (const auto* sign = llvm::dyn_cast<clang::UnaryOperator>(node)) {
    if (sign->getOpcode() != clang::UO_Minus) return false;
    node = bare(sign->getSubExpr())->IgnoreImplicit();
  }
  return llvm::isa<clang::StringLiteral, clang::IntegerLiteral, clang::FloatingLiteral,
                   clang::CXXBoolLiteralExpr>(node);
}

}  // namespace

bool Lowering::is_options(clang::QualType type) const {
  const std::string name = record_name(type);
  return name.starts_with("torch::nn::") && name.ends_with("Options");
}

// The options that are set, by their names, as arguments of the function; nullopt where not all of
// them show, or one is set twice.
std::optional<std::vector<Lowering::Given>> Lowering::options_of(const clang::Expr* node,
                                                                 int depth) {
  if (depth > kDepth) return std::nullopt;
  node = bare(node)->IgnoreImplicit();
  if (const auto* cast = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(node)) {
    return options_of(cast->getSubExpr(), depth + 1);
  }
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(node)) {
    if (!is_options(made->getType())) return std::nullopt;
    if (made->getConstructor()->isCopyOrMoveConstructor()) {
      return options_of(made->getArg(0), depth + 1);
    }
    std::vector<Given> out;
    for (unsigned i = 0; i < made->getNumArgs(); ++i) {
      if (llvm::isa<clang::CXXDefaultArgExpr>(made->getArg(i))) continue;
      if (i >= made->getConstructor()->getNumParams()) return std::nullopt;
      out.push_back({made->getConstructor()->getParamDecl(i)->getNameAsString(), made->getArg(i)});
    }
    return out;
  }
  if (const auto* set = llvm::dyn_cast<clang::CXXMemberCallExpr>(node)) {
    const clang::CXXMethodDecl* method = set->getMethodDecl();
    if (method == nullptr || method->isConst() || method->getIdentifier() == nullptr ||
        set->getNumArgs() != 1 || llvm::isa<clang::CXXDefaultArgExpr>(set->getArg(0)) ||
        !is_options(set->getObjectType()) || named(set->getImplicitObjectArgument()) != nullptr) {
      return std::nullopt;
    }
    auto out = options_of(set->getImplicitObjectArgument(), depth + 1);
    const std::string name = method->getNameAsString();
    if (!out || std::ranges::any_of(*out, [&](const Given& g) { return g.name == name; })) {
      return std::nullopt;
    }
    out->push_back({name, set->getArg(0)});
    return out;
  }
  return held_options(node, depth);
}

// Those of a local variable that is a constant made of literals: what else it is made of may mean
// something else where the variable is read.
std::optional<std::vector<Lowering::Given>> Lowering::held_options(const clang::Expr* node,
                                                                   int depth) {
  const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(named(node));
  if (variable == nullptr || seeing_ != 0 || !variable->isLocalVarDecl() ||
      variable->isStaticLocal() || variable->getInit() == nullptr ||
      variable->getType()->isReferenceType() || !variable->getType().isConstQualified() ||
      changing_.contains(variable) || named_elsewhere(variable, node)) {
    return std::nullopt;
  }
  auto out = options_of(variable->getInit(), depth + 1);
  if (!out || !std::ranges::all_of(*out, is_literal, &Given::expression)) return std::nullopt;
  return out;
}

}  // namespace refit::cpp
