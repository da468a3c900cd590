// A `std::optional` of a tensor: it is the tensor that it holds, or None. Entry points:
// Lowering::of_optional, named_or_held.
#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

std::string method_name(const clang::CallExpr* node) {
  const clang::FunctionDecl* callee = node->getDirectCallee();
  return callee == nullptr || callee->getIdentifier() == nullptr ? "" : callee->getNameAsString();
}

// The object that `held.value()`, `*held` and `held->` read; null for another call.
const clang::Expr* reads(const clang::CallExpr* node) {
  if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
    const bool reaches = made->getNumArgs() == 1 && (made->getOperator() == clang::OO_Star ||
                                                     made->getOperator() == clang::OO_Arrow);
    return reaches ? made->getArg(0) : nullptr;
  }
  const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node);
  const bool value = method != nullptr && method->getNumArgs() == 0 && method_name(node) == "value";
  return value ? method->getImplicitObjectArgument() : nullptr;
}

// The object of `held.has_value()` and of `held` as a condition.
const clang::Expr* asks(const clang::CallExpr* node) {
  const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node);
  if (method == nullptr || method->getNumArgs() != 0) return nullptr;
  const bool asked = llvm::isa_and_nonnull<clang::CXXConversionDecl>(method->getMethodDecl())
                         ? node->getType()->isBooleanType()
                         : method_name(node) == "has_value";
  return asked ? method->getImplicitObjectArgument() : nullptr;
}

bool optional_record(const clang::CXXRecordDecl* record) {
  return record != nullptr && record->getQualifiedNameAsString() == "std::optional";
}

}  // namespace

// The variable that a place belongs to: what an optional holds is the optional's.
const clang::ValueDecl* named_or_held(const clang::Expr* node) {
  for (;;) {
    node = bare(node)->IgnoreImplicit();
    if (const auto* address = llvm::dyn_cast<clang::MemberExpr>(node)) node = address->getBase();
    const auto* made = llvm::dyn_cast<clang::CallExpr>(node);
    const clang::Expr* object = made == nullptr ? nullptr : reads(made);
    if (object == nullptr ||
        !optional_record(object->IgnoreImplicit()->getType()->getAsCXXRecordDecl())) {
      return named(node);
    }
    node = object;
  }
}

bool Lowering::holds_tensor(clang::QualType type) const {
  const clang::CXXRecordDecl* record =
      type.isNull() ? nullptr : type.getNonReferenceType()->getAsCXXRecordDecl();
  const auto* made = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(record);
  if (made == nullptr || !optional_record(made) || made->getTemplateArgs().size() == 0)
    return false;
  const clang::TemplateArgument& held = made->getTemplateArgs()[0];
  return held.getKind() == clang::TemplateArgument::Type && is_tensor(held.getAsType());
}

// Whether a call only reads or asks for what an optional tensor holds.
bool Lowering::keeps_optional(const clang::CallExpr* node) const {
  const clang::Expr* object = reads(node) != nullptr ? reads(node) : asks(node);
  return object != nullptr && holds_tensor(object->IgnoreImplicit()->getType());
}

std::optional<ValueId> Lowering::of_optional(const clang::CallExpr* node) {
  if (!keeps_optional(node)) return std::nullopt;
  if (const clang::Expr* object = asks(node)) {
    return operation("operator.is_not", {expression(object), none(nullptr)}, node);
  }
  const ValueId held = expression(reads(node));
  // A member is read anew each time, and this read's text is all of it.
  if (g()[held].kind == Kind::attribute && seeing_ == 0) {
    if (auto where = range(node->getSourceRange())) g()[held].range = *where;
  }
  return held;
}

}  // namespace refit::cpp
