// What may change a variable besides an assignment that lowering follows: references, addresses,
// captures, loops, and writes into tensors' storage. Entry points: Lowering::find_changes,
// assigned_in, writes_in_place; forget makes what is held unknown.
#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

bool assigns(clang::OverloadedOperatorKind kind) {
  return kind == clang::OO_Equal || kind == clang::OO_PlusEqual || kind == clang::OO_MinusEqual ||
         kind == clang::OO_StarEqual || kind == clang::OO_SlashEqual;
}

}  // namespace

const clang::VarDecl* named(const clang::Expr* node) {
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(node->IgnoreParenImpCasts());
  return reference == nullptr ? nullptr : llvm::dyn_cast<clang::VarDecl>(reference->getDecl());
}

bool changeable_reference(clang::QualType type) {
  return type->isReferenceType() && !type.getNonReferenceType().isConstQualified();
}

bool Lowering::writes_in_place(const clang::Stmt* node) const {
  std::vector<const clang::Stmt*> work{node};
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(at)) {
      bool rebinds = made->getOperator() == clang::OO_Equal && named(made->getArg(0)) != nullptr;
      if (assigns(made->getOperator()) && !rebinds) return true;
    } else if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(at)) {
      const clang::CXXMethodDecl* callee = method->getMethodDecl();
      if (callee != nullptr && callee->getIdentifier() != nullptr &&
          callee->getName().ends_with("_") && is_tensor(method->getObjectType())) {
        return true;
      }
    }
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
  return false;
}

void Lowering::forget(const clang::VarDecl* decl, const std::string& why) {
  uint32_t id = name_of(decl);
  Value value;
  value.kind = Kind::opaque;
  value.text = why;
  if (env_[id] != kNone) value.operands = {g().definitions[env_[id]].value};
  value.statement = current_;
  bind(decl, g().add(std::move(value)));
}

// Something was written in place: any tensor may share its storage.
void Lowering::forget_tensors() {
  impure_ = true;
  std::vector<const clang::VarDecl*> held;
  for (const auto& [decl, id] : name_ids_) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (variable == nullptr || env_[id] == kNone) continue;
    if (!variable->getType()->isArithmeticType()) held.push_back(variable);
  }
  for (const clang::VarDecl* decl : held) forget(decl, "it may have been written in place");
}

// Variables that change where no assignment names them.
void Lowering::find_changes(const clang::Stmt* node) {
  std::vector<const clang::Stmt*> work{node};
  auto changing = [&](const clang::Expr* e) {
    if (const clang::VarDecl* variable = named(e)) changing_.insert(variable);
  };
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(at)) {
      for (const clang::LambdaCapture& capture : lambda->captures()) {
        if (!capture.capturesVariable() || capture.getCaptureKind() != clang::LCK_ByRef) continue;
        if (const auto* held = llvm::dyn_cast<clang::VarDecl>(capture.getCapturedVar())) {
          changing_.insert(held);
        }
      }
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      if (unary->getOpcode() == clang::UO_AddrOf) changing(unary->getSubExpr());
    } else if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(at)) {
      for (const clang::Decl* decl : declared->decls()) {
        const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
        if (variable == nullptr || variable->getInit() == nullptr) continue;
        if (variable->getType()->isReferenceType()) changing(variable->getInit());
      }
    } else if (const auto* each = llvm::dyn_cast<clang::CXXForRangeStmt>(at)) {
      if (changeable_reference(each->getLoopVariable()->getType())) {
        changing(each->getRangeInit());
      }
    } else if (const auto* made = llvm::dyn_cast<clang::CallExpr>(at)) {
      change_seen(made);
    } else if (llvm::isa<clang::GotoStmt, clang::LabelStmt, clang::IndirectGotoStmt>(at)) {
      in_template_ = true;  // the order of statements is not the order of the text
    }
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
}

void Lowering::change_seen(const clang::Expr* node) {
  auto changing = [&](const clang::Expr* e) {
    if (const clang::VarDecl* variable = named(e)) changing_.insert(variable);
  };
  if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node)) {
    const clang::CXXMethodDecl* callee = method->getMethodDecl();
    if (callee != nullptr && !callee->isConst() && !is_tensor(method->getObjectType())) {
      changing(method->getImplicitObjectArgument());
    }
  }
  const auto* made = llvm::cast<clang::CallExpr>(node);
  const clang::FunctionDecl* callee = made->getDirectCallee();
  if (callee == nullptr) return;
  std::string qualified = callee->getQualifiedNameAsString();
  if (qualified == "std::move" || qualified == "std::forward" || qualified == "std::make_tuple" ||
      qualified == "std::make_pair") {
    return;
  }
  unsigned shift =
      llvm::isa<clang::CXXOperatorCallExpr>(node) && llvm::isa<clang::CXXMethodDecl>(callee) ? 1
                                                                                             : 0;
  for (unsigned i = 0; i < callee->getNumParams() && i + shift < made->getNumArgs(); ++i) {
    clang::QualType type = callee->getParamDecl(i)->getType();
    if (changeable_reference(type)) changing(made->getArg(i + shift));
  }
}

void Lowering::assigned_in(const clang::Stmt* node, std::set<const clang::VarDecl*>& out) const {
  std::vector<const clang::Stmt*> work{node};
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    const clang::Expr* target = nullptr;
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at)) {
      if (binary->isAssignmentOp()) target = binary->getLHS();
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      if (unary->isIncrementDecrementOp()) target = unary->getSubExpr();
    } else if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(at)) {
      if (assigns(made->getOperator())) target = made->getArg(0);
    }
    if (target != nullptr) {
      if (const clang::VarDecl* variable = named(target)) out.insert(variable);
    }
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
}

}  // namespace refit::cpp
