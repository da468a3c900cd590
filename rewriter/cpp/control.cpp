// Statements of C++ that choose what runs, to the value graph: branches with joins; what a loop, a
// `switch` or a `try` may assign is unknown in each part of it and behind it. Entry points:
// Lowering::branch, Lowering::loop.
#include "rewriter/cpp/lowering.hpp"

#include <utility>

namespace refit::cpp {

namespace {

constexpr const char* kAssigns = "a loop or branch that is not followed assigns to it";

const clang::Stmt* body_of(const clang::Stmt* node) {
  if (const auto* counted = llvm::dyn_cast<clang::ForStmt>(node)) return counted->getBody();
  if (const auto* asked = llvm::dyn_cast<clang::WhileStmt>(node)) return asked->getBody();
  if (const auto* once = llvm::dyn_cast<clang::DoStmt>(node)) return once->getBody();
  if (const auto* each = llvm::dyn_cast<clang::CXXForRangeStmt>(node)) return each->getBody();
  if (const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(node)) return choice->getBody();
  if (const auto* guarded = llvm::dyn_cast<clang::CXXTryStmt>(node)) return guarded->getTryBlock();
  return nullptr;
}

// The variables that a block declares, not those of blocks inside it.
std::set<const clang::ValueDecl*> declared_by(const clang::Stmt* block) {
  std::set<const clang::ValueDecl*> out;
  const auto* made = llvm::dyn_cast_or_null<clang::CompoundStmt>(block);
  if (made == nullptr) return out;
  for (const clang::Stmt* child : made->body()) {
    while (const auto* label = llvm::dyn_cast<clang::SwitchCase>(child))
      child = label->getSubStmt();
    const auto* names = llvm::dyn_cast<clang::DeclStmt>(child);
    if (names == nullptr) continue;
    for (const clang::Decl* decl : names->decls()) {
      if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl)) out.insert(variable);
    }
  }
  return out;
}

}  // namespace

bool Lowering::branch(const clang::IfStmt* node) {
  if (node->isConsteval()) {
    loop(node);  // what it assigns is not followed
    return true;
  }
  const clang::Stmt* last = node;  // whose end is the branch's
  while (const auto* inner = llvm::dyn_cast_or_null<clang::IfStmt>(last)) {
    last = inner->getElse() != nullptr ? inner->getElse() : inner->getThen();
  }
  ByteRange where = range_or_empty(node->getSourceRange());
  if (last != nullptr && !llvm::isa<clang::CompoundStmt>(last)) where = with_semicolon(where);
  const bool declares = node->hasInitStorage() || node->hasVarStorage();
  const ByteRange outer_scope = scope_;
  StatementId around = kNone;  // what a branch declares in its head stands in front of it
  if (declares) {
    around = open(where, StatementKind::other);
    scope_ = where;
    head(node->getInit());
    head(node->getConditionVariableDeclStmt());
  }
  auto id = open(where, StatementKind::branch);
  uint32_t outer_block = block_number_;
  ValueId condition = expression(node->getCond());
  use(condition);
  g().statements[id].pure = !impure_ && !declares;
  auto side = [&](const clang::Stmt* body, uint32_t number) {
    begin_branch();
    block_number_ = number;
    return statement(body);
  };
  bool then_falls = side(node->getThen(), 0);
  Changes then_changes = end_branch();
  Changes then_values = take(then_changes);
  put(then_changes);
  bool else_falls = side(node->getElse(), 1);
  Changes else_changes = end_branch();
  Changes else_values = take(else_changes);
  put(else_changes);
  Changes old = then_changes;
  for (const auto& [name, before] : else_changes) old.emplace(name, before);
  join(condition, old, then_falls, then_values, else_falls, else_values);
  block_number_ = outer_block;
  close(id);
  if (around != kNone) close(around);
  scope_ = outer_scope;
  return then_falls || else_falls;
}

// A statement in the parentheses of another: it is needed for what it declares.
void Lowering::head(const clang::Stmt* node) {
  const bool outer = std::exchange(head_, true);
  if (const auto* value = llvm::dyn_cast_or_null<clang::Expr>(node)) {
    use(expression(value));
  } else {
    statement(node);
  }
  head_ = outer;
}

void Lowering::forget_all(const Variables& variables, const std::string& why) {
  for (const clang::ValueDecl* decl : variables) {
    if (name_ids_.contains(decl)) forget(decl, why);
  }
}

// A loop, a switch, a try: what it assigns is unknown where a part of it begins, and after it.
void Lowering::loop(const clang::Stmt* node) {
  auto id = open(range_or_empty(node->getSourceRange()), StatementKind::other);
  Variables assigned, outer;  // of those, what lives on from part to part
  assigned_in(node, assigned);
  const auto forget_outer = [&] {
    for (const clang::ValueDecl* decl : assigned) {
      if (name_ids_.contains(decl)) outer.insert(decl);
    }
    forget_all(outer, kAssigns);
  };
  // What one round writes in place the next one reads.
  if (writes_in_place(node)) forget_tensors();
  forget_outer();
  const uint32_t outer_loop = loop_;
  const bool outer_head = std::exchange(head_, false);
  const ByteRange outer_scope = scope_;
  auto outer_labels = labels_forget_;
  scope_ = range_or_empty(node->getSourceRange());
  loop_ = ++loops_;
  const clang::Stmt* body = body_of(node);
  const auto* choice = llvm::dyn_cast<clang::SwitchStmt>(node);
  for (const clang::Stmt* child : node->children()) {
    if (child == nullptr) continue;
    if (child != body && !llvm::isa<clang::CXXCatchStmt, clang::CompoundStmt>(child)) {
      head(child);
      forget_outer();  // what it declares lives on from round to round, too
      continue;
    }
    if (choice != nullptr) {
      labels_forget_ = declared_by(body);
      labels_forget_.insert(outer.begin(), outer.end());
    }
    loop_ = ++loops_;
    const auto* handler = llvm::dyn_cast<clang::CXXCatchStmt>(child);
    statement(handler == nullptr ? child : handler->getHandlerBlock());
    forget_all(outer, kAssigns);  // `continue` and `throw` leave it at any place
  }
  labels_forget_ = std::move(outer_labels);
  loop_ = outer_loop;
  head_ = outer_head;
  scope_ = outer_scope;
  close(id);
}

// `case 1: …`, which may run behind any other part of the `switch`.
bool Lowering::labelled(const clang::SwitchCase* node) {
  forget_all(labels_forget_, kAssigns);
  return statement(node->getSubStmt());
}

}  // namespace refit::cpp
