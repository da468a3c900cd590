// What may change a variable besides an assignment that lowering follows: references, addresses,
// captures, loops, and writes into tensors' storage. Entry points: Lowering::find_changes,
// assigned_in, writes_in_place; forget makes what is held unknown.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

bool assigns(clang::OverloadedOperatorKind kind) {
  return kind == clang::OO_Equal || kind == clang::OO_PlusEqual || kind == clang::OO_MinusEqual ||
         kind == clang::OO_StarEqual || kind == clang::OO_SlashEqual;
}

// Whether a label of a `switch` stands inside a statement of its block.
bool labels_inside(const clang::SwitchStmt* node) {
  std::set<const clang::SwitchCase*> own;
  const auto follow = [&](const clang::Stmt* at) {
    while (const auto* label = llvm::dyn_cast_or_null<clang::SwitchCase>(at)) {
      own.insert(label);
      at = label->getSubStmt();
    }
  };
  follow(node->getBody());
  if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(node->getBody())) {
    for (const clang::Stmt* child : block->body()) follow(child);
  }
  for (const clang::SwitchCase* label = node->getSwitchCaseList(); label != nullptr;
       label = label->getNextSwitchCase()) {
    if (!own.contains(label)) return true;
  }
  return false;
}

// The variables that an expression refers to: of `c ? a : b` both, of `(f(), a)` the last, of
// `parts[0]`, `parts.front()` and `std::move(a)` whatever the call is handed.
void referred(const clang::Expr* node, std::set<const clang::ValueDecl*>& out) {
  const clang::Expr* inside = bare(node)->IgnoreParenCasts();
  while (inside != bare(inside)->IgnoreParenCasts()) inside = bare(inside)->IgnoreParenCasts();
  if (const clang::ValueDecl* held = named_or_held(inside)) {
    out.insert(held);
  } else if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(inside)) {
    referred(choice->getTrueExpr(), out);
    referred(choice->getFalseExpr(), out);
  } else if (const auto* both = llvm::dyn_cast<clang::BinaryOperator>(inside)) {
    if (both->isCommaOp()) referred(both->getRHS(), out);
    if (both->isAssignmentOp()) referred(both->getLHS(), out);
  } else if (const auto* part = llvm::dyn_cast<clang::MemberExpr>(inside)) {
    referred(part->getBase(), out);
  } else if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(inside)) {
    referred(element->getBase(), out);
  } else if (const auto* made = llvm::dyn_cast<clang::CallExpr>(inside)) {
    if (!made->isGLValue()) return;
    const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(made);
    if (method != nullptr && method->getImplicitObjectArgument() != nullptr) {
      referred(method->getImplicitObjectArgument(), out);
    }
    for (const clang::Expr* argument : made->arguments()) {
      if (argument->isGLValue()) referred(argument, out);
    }
  }
}

// The members that an expression names.
void members_in(const clang::Stmt* node, std::set<std::string>& out) {
  if (node == nullptr) return;
  if (const auto* part = llvm::dyn_cast<clang::MemberExpr>(node)) {
    out.insert(part->getMemberDecl()->getNameAsString());
  }
  for (const clang::Stmt* child : node->children()) members_in(child, out);
}

// What a statement assigns to; null where it is no assignment.
const clang::Expr* assigned(const clang::Stmt* node) {
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(node)) {
    if (binary->isAssignmentOp()) return binary->getLHS();
  } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(node)) {
    if (unary->isIncrementDecrementOp()) return unary->getSubExpr();
  } else if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
    if (assigns(made->getOperator())) return made->getArg(0);
  }
  return nullptr;
}
// The same, where it is an expression that chooses a variable.
const clang::Expr* chosen_target(const clang::Stmt* node) {
  const clang::Expr* const target = assigned(node);
  return target != nullptr && named(target) == nullptr ? target : nullptr;
}

}  // namespace

const clang::ValueDecl* named(const clang::Expr* node) {
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(node->IgnoreParenImpCasts());
  const clang::ValueDecl* decl = reference == nullptr ? nullptr : reference->getDecl();
  return decl != nullptr && llvm::isa<clang::VarDecl, clang::BindingDecl>(decl) ? decl : nullptr;
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

void Lowering::forget(const clang::ValueDecl* decl, const std::string& why) {
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
  std::vector<const clang::ValueDecl*> held;
  for (const auto& [decl, id] : name_ids_) {
    if (env_[id] == kNone) continue;
    const clang::QualType type = decl->getType();  // null: a part of what clang does not know
    if (type.isNull() || !type->isArithmeticType()) held.push_back(decl);
  }
  for (const clang::ValueDecl* decl : held) forget(decl, "it may have been written in place");
}

// Members through which something may change count as stored: `norm_->weight = w`,
// `norm_->reset()`, `auto other = norm_`. No text that reads them is then written at another place.
void Lowering::stored_through(const clang::Expr* node) {
  while (node != nullptr) {
    node = bare(node)->IgnoreParenCasts()->IgnoreImplicit();
    if (const auto* part = llvm::dyn_cast<clang::MemberExpr>(node)) {
      if (llvm::isa<clang::FieldDecl>(part->getMemberDecl())) {
        g().stored_attributes.push_back(part->getMemberDecl()->getNameAsString());
      }
      node = part->getBase();
    } else if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
      const bool reaches = made->getOperator() == clang::OO_Arrow ||
                           made->getOperator() == clang::OO_Star ||
                           made->getOperator() == clang::OO_Subscript;
      node = reaches ? made->getArg(0) : nullptr;
    } else if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node)) {
      // `norms_.at(0)`, `norm_.get()`; not what a tensor tells.
      node = is_tensor(method->getObjectType()) ? nullptr : method->getImplicitObjectArgument();
    } else if (const auto* copied = llvm::dyn_cast<clang::CXXConstructExpr>(node)) {
      for (const clang::Expr* argument : copied->arguments()) stored_through(argument);
      node = nullptr;
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(node)) {
      node = unary->getSubExpr();
    } else if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(node)) {
      node = element->getBase();
    } else {
      node = nullptr;
    }
  }
}

// Whether what has this type may be, or lead to, an object that others hold, too: not a number, and
// not a tensor, whose writes are seen as such.
bool Lowering::leads_to_object(clang::QualType type) const {
  type = type.getNonReferenceType();
  return !type->isArithmeticType() && !type->isEnumeralType() && !is_tensor(type);
}

// The same of what a call may change: its object, and what it is handed.
void Lowering::stored_by_call(const clang::CallExpr* node) {
  if (keeps_optional(node)) return;
  const clang::FunctionDecl* callee = node->getDirectCallee();
  const std::string name =
      callee != nullptr && callee->getIdentifier() != nullptr ? callee->getNameAsString() : "";
  unsigned first = 0;  // of what it is handed
  if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node)) {
    const clang::CXXMethodDecl* declared = method->getMethodDecl();
    const bool keeps = is_tensor(method->getObjectType())
                           ? knowledge_.catalogue.method(name) != nullptr ||
                                 !knowledge_.names.attribute(name).empty()
                           : declared != nullptr && (declared->isConst() || name == "forward");
    if (!keeps) stored_through(method->getImplicitObjectArgument());
  } else if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
    if (assigns(made->getOperator())) stored_through(made->getArg(0));
    // Operators that reach an object say nothing; a module that is called keeps itself.
    if (made->getOperator() != clang::OO_Call) return;
    first = 1;
  }
  for (unsigned i = first; i < node->getNumArgs(); ++i) {
    const clang::Expr* argument = node->getArg(i);
    const unsigned place = i - first;
    const bool by_reference = callee != nullptr && place < callee->getNumParams() &&
                              changeable_reference(callee->getParamDecl(place)->getType());
    const bool module_called = first == 1 && is_tensor(argument->getType());
    if (leads_to_object(argument->getType()) || (by_reference && !module_called)) {
      stored_through(argument);
    }
  }
}

// Variables that change where no assignment names them, and members.
void Lowering::find_changes(const clang::Stmt* node) {
  std::vector<const clang::Stmt*> work{node};
  std::vector<const clang::VarDecl*> constants;  // references that nothing changes through
  auto changing = [&](const clang::Expr* e) {
    referred(e, changing_);
    stored_through(e);
  };
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    if (const clang::Expr* target = chosen_target(at)) referred(target, changing_);
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(at)) {
      for (const clang::LambdaCapture& capture : lambda->captures()) {
        if (!capture.capturesVariable() || capture.getCaptureKind() != clang::LCK_ByRef) continue;
        changing_.insert(capture.getCapturedVar());
        // `[&part = parts[0]]`
        const auto* made = llvm::dyn_cast<clang::VarDecl>(capture.getCapturedVar());
        if (made != nullptr && made->getInit() != nullptr && made->isInitCapture()) {
          changing(made->getInit());
        }
      }
    } else if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(at)) {
      if (unary->getOpcode() == clang::UO_AddrOf) changing(unary->getSubExpr());
    } else if (const auto* declared = llvm::dyn_cast<clang::DeclStmt>(at)) {
      for (const clang::Decl* decl : declared->decls()) {
        const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
        if (variable == nullptr || variable->getInit() == nullptr) continue;
        if (changeable_reference(variable->getType()) || leads_to_object(variable->getType())) {
          stored_through(variable->getInit());
        }
        if (!variable->getType()->isReferenceType()) continue;
        if (changeable_reference(variable->getType())) {
          referred(variable->getInit(), changing_);
        } else {
          constants.push_back(variable);
        }
      }
    } else if (const auto* each = llvm::dyn_cast<clang::CXXForRangeStmt>(at)) {
      if (changeable_reference(each->getLoopVariable()->getType())) {
        changing(each->getRangeInit());
      }
    } else if (const auto* made = llvm::dyn_cast<clang::CallExpr>(at)) {
      if (!only_read_.contains(made)) {
        change_seen(made);
        stored_by_call(made);
      }
    } else if (llvm::isa<clang::CXXConstructExpr, clang::InitListExpr>(at)) {
      kept_by_object(llvm::cast<clang::Expr>(at));
    } else if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(at)) {
      if (binary->isAssignmentOp()) stored_through(binary->getLHS());
    } else if (const auto* broken = llvm::dyn_cast<clang::RecoveryExpr>(at)) {
      for (const clang::Expr* part : broken->subExpressions()) stored_through(part);
    } else if (llvm::isa<clang::GotoStmt, clang::LabelStmt, clang::IndirectGotoStmt>(at)) {
      in_template_ = true;  // the order of statements is not the order of the text
    } else if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(at)) {
      in_template_ = in_template_ || labels_inside(choice);
    }
    note_read(at);
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
  change_with_referred(constants);
}

// A constant reference changes with what it refers to: a variable that is assigned anywhere in the
// body or changes unseen, or a member that is stored. Both are unknown then.
void Lowering::change_with_referred(const std::vector<const clang::VarDecl*>& references) {
  for (bool more = true; more;) {
    more = false;
    for (const clang::VarDecl* reference : references) {
      if (changing_.contains(reference)) continue;
      Variables to;
      referred(reference->getInit(), to);
      std::set<std::string> members;
      members_in(reference->getInit(), members);
      const bool changes =
          std::ranges::any_of(to,
                              [&](const clang::ValueDecl* variable) {
                                return assigned_.contains(variable) || changing_.contains(variable);
                              }) ||
          std::ranges::any_of(g().stored_attributes,
                              [&](const std::string& name) { return members.contains(name); });
      if (!changes) continue;
      changing_.insert(reference);
      changing_.insert(to.begin(), to.end());
      more = true;
    }
  }
}

// What an object that is made may keep a reference to, and change through it later.
void Lowering::kept_by_object(const clang::Expr* node) {
  if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(node)) {
    // A member that is no reference takes a copy, which is no lvalue.
    for (const clang::Expr* item : list->inits()) {
      if (item != nullptr && item->isLValue()) referred(item, changing_);
    }
    return;
  }
  const auto* made = llvm::cast<clang::CXXConstructExpr>(node);
  const clang::CXXConstructorDecl* constructor = made->getConstructor();
  for (unsigned i = 0; i < constructor->getNumParams() && i < made->getNumArgs(); ++i) {
    const clang::QualType type = constructor->getParamDecl(i)->getType();
    if (type->isLValueReferenceType() && changeable_reference(type)) {
      referred(made->getArg(i), changing_);
    }
  }
}

void Lowering::change_seen(const clang::Expr* node) {
  auto changing = [&](const clang::Expr* e) { referred(e, changing_); };
  if (keeps_optional(llvm::cast<clang::CallExpr>(node))) return;
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
  // What a tuple that is moved from holds is no longer known.
  if (qualified == "std::move" && made->getNumArgs() == 1 &&
      holds_parts(made->getArg(0)->getType())) {
    changing(made->getArg(0));
  }
  if (qualified == "std::move" || qualified == "std::forward" || qualified == "std::make_tuple" ||
      qualified == "std::make_pair") {
    return;
  }
  // What holds a layer hands its operands on to that, which changes none.
  const auto* called = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node);
  const clang::Expr* holder = nullptr;
  if (called != nullptr && called->getOperator() == clang::OO_Call &&
      layer_of(called->getArg(0), holder) != nullptr) {
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

// What one statement or expression assigns, what stands inside it aside.
void Lowering::assigned_at(const clang::Stmt* node, Variables& out) {
  const clang::Expr* const target = assigned(node);
  if (target == nullptr) return;
  if (const clang::ValueDecl* variable = named(target)) out.insert(variable);
}

void Lowering::assigned_in(const clang::Stmt* node, Variables& out) const {
  std::vector<const clang::Stmt*> work{node};
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    assigned_at(at, out);
    if (const auto tied = ties_.find(at); tied != ties_.end()) {
      out.insert(tied->second.begin(), tied->second.end());
    }
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
}

}  // namespace refit::cpp
