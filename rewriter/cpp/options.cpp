// What an options object of torch's functions is made of: `F::SoftmaxFuncOptions(-1)`,
// `F::LayerNormFuncOptions({d}).eps(1e-6)`, or a variable that holds such. Entry point:
// Lowering::options_of.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

constexpr int kDepth = 32;  // options set one behind another, and names for them

}  // namespace

bool Lowering::is_options(clang::QualType type) const {
  const std::string name = record_name(type);
  return name.starts_with("torch::nn::") && name.ends_with("Options");
}

// The options that are set, by their names, as arguments of the function; nullopt where not all of
// them show.
std::optional<std::vector<Lowering::Given>> Lowering::options_of(const clang::Expr* node,
                                                                 int depth) const {
  if (depth > kDepth) return std::nullopt;
  node = bare(node)->IgnoreImplicit();
  if (const auto* cast = llvm::dyn_cast<clang::CXXFunctionalCastExpr>(node)) {
    return options_of(cast->getSubExpr(), depth + 1);
  }
  if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(node)) {
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
        !is_options(set->getObjectType())) {
      return std::nullopt;
    }
    auto out = options_of(set->getImplicitObjectArgument(), depth + 1);
    if (!out) return std::nullopt;
    const std::string name = method->getNameAsString();
    std::erase_if(*out, [&](const Given& g) { return g.name == name; });
    out->push_back({name, set->getArg(0)});
    return out;
  }
  return held_options(node, depth);
}

// Those of a variable that nothing changes, if they are constants: what else they are made of may
// mean something else where the variable is read.
std::optional<std::vector<Lowering::Given>> Lowering::held_options(const clang::Expr* node,
                                                                   int depth) const {
  const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(named(node));
  if (variable == nullptr || seeing_ != 0 || !variable->isLocalVarDecl() ||
      variable->isStaticLocal() || variable->getInit() == nullptr ||
      variable->getType()->isReferenceType() || changing_.contains(variable) ||
      assigned_.contains(variable)) {
    return std::nullopt;
  }
  auto out = options_of(variable->getInit(), depth + 1);
  const auto constant = [&](const Given& g) {
    const clang::Expr* value = bare(g.expression)->IgnoreImplicit();
    if (const auto* made = llvm::dyn_cast<clang::CXXConstructExpr>(value)) {
      value = made->getNumArgs() == 0 ? value : bare(made->getArg(0))->IgnoreImplicit();
    }
    return llvm::isa<clang::StringLiteral, clang::IntegerLiteral, clang::FloatingLiteral,
                     clang::CXXBoolLiteralExpr, clang::UnaryOperator>(value) &&
           (!llvm::isa<clang::UnaryOperator>(value) || value->isEvaluatable(context_));
  };
  if (!out || !std::ranges::all_of(*out, constant)) return std::nullopt;
  return out;
}

}  // namespace refit::cpp
