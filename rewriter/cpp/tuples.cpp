// Tuples and pairs that hold their parts by value: `std::get` and `std::tie` are Python's
// unpacking. One whose parts are references is not followed, since a part changes with what it
// refers to. Entry points: Lowering::by_value, got, find_ties, tied, bind_parts.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

bool same_type(const clang::ASTContext& context, clang::QualType a, clang::QualType b) {
  return context.hasSameUnqualifiedType(a.getNonReferenceType(), b.getNonReferenceType());
}

}  // namespace

// The call of a function by that name that an expression is; null where it is none.
const clang::CallExpr* Lowering::call_of(const clang::Expr* node, std::string_view qualified) {
  const auto* made = llvm::dyn_cast<clang::CallExpr>(bare(node));
  const clang::FunctionDecl* callee = made == nullptr ? nullptr : made->getDirectCallee();
  if (callee == nullptr || llvm::isa<clang::CXXMethodDecl>(callee)) return nullptr;
  return callee->getQualifiedNameAsString() == qualified ? made : nullptr;
}

// What the parts of a tuple or pair are, where none is a reference; empty for anything else.
std::vector<clang::QualType> Lowering::by_value(clang::QualType type) const {
  const std::string name = type.isNull() ? "" : record_name(type);
  if (name != "std::tuple" && name != "std::pair") return {};
  const auto* record = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
      type.getNonReferenceType()->getAsCXXRecordDecl());
  if (record == nullptr) return {};
  std::vector<clang::QualType> out;
  const auto take = [&](const clang::TemplateArgument& argument) {
    out.push_back(argument.getKind() == clang::TemplateArgument::Type ? argument.getAsType()
                                                                      : clang::QualType());
  };
  for (const clang::TemplateArgument& argument : record->getTemplateArgs().asArray()) {
    if (argument.getKind() != clang::TemplateArgument::Pack) {
      take(argument);
    } else {
      for (const clang::TemplateArgument& one : argument.pack_elements()) take(one);
    }
  }
  const bool values = std::ranges::none_of(
      out, [](clang::QualType part) { return part.isNull() || part->isReferenceType(); });
  return values ? out : std::vector<clang::QualType>();
}

// Whether a tuple holds just what it is made of, without a conversion of its own.
bool Lowering::holds(clang::QualType type, const std::vector<const clang::Expr*>& given) const {
  const std::vector<clang::QualType> parts = by_value(type);
  return !parts.empty() &&
         std::ranges::equal(parts, given, [&](clang::QualType part, const clang::Expr* item) {
           return same_type(context_, part, item->getType());
         });
}

// `std::get<1>(t)`, where `t` is a temporary or a local variable that is never assigned.
std::optional<ValueId> Lowering::got(const clang::CallExpr* node) {
  if (call_of(node, "std::get") == nullptr || node->getNumArgs() != 1) return std::nullopt;
  const clang::TemplateArgumentList* arguments =
      node->getDirectCallee()->getTemplateSpecializationArgs();
  if (arguments == nullptr || arguments->size() == 0 ||
      arguments->get(0).getKind() != clang::TemplateArgument::Integral) {
    return std::nullopt;
  }
  const clang::Expr* from = node->getArg(0);
  const std::vector<clang::QualType> parts = by_value(from->getType());
  const auto place = static_cast<size_t>(arguments->get(0).getAsIntegral().getZExtValue());
  const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(named(from));
  const bool fixed = variable == nullptr
                         ? bare(from)->isPRValue()
                         : variable->isLocalVarDecl() && !variable->isStaticLocal() &&
                               !variable->getType()->isReferenceType() &&
                               !changing_.contains(variable) && !assigned_.contains(variable);
  if (!fixed || place >= parts.size()) return std::nullopt;
  const ValueId whole = expression(from);
  const Value& v = g()[whole];
  if (v.kind == Kind::tuple && place < v.operands.size()) return v.operands[place];
  Value part;
  part.kind = Kind::element;
  part.operands = {whole};
  part.index = static_cast<int>(place);
  part.count = static_cast<int>(parts.size());
  return add(std::move(part), node);
}

// `std::get<0>(t)` refers to a part; where that is copied, or seen as constant, nothing changes it.
void Lowering::note_read(const clang::Stmt* node) {
  const clang::Expr* inside = nullptr;
  if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(node)) {
    const bool reads =
        cast->getCastKind() == clang::CK_LValueToRValue ||
        (cast->getCastKind() == clang::CK_NoOp && cast->getType().isConstQualified());
    if (reads) inside = cast->getSubExpr();
  } else if (const auto* copied = llvm::dyn_cast<clang::CXXConstructExpr>(node)) {
    if (copied->getConstructor()->isCopyConstructor() && copied->getNumArgs() == 1) {
      inside = copied->getArg(0);
    }
  }
  if (inside == nullptr) return;
  if (const auto* made = call_of(inside->IgnoreParenImpCasts(), "std::get")) {
    only_read_.insert(made);
  }
}

// The statements `std::tie(a, b) = …;` of a body that are followed: each variable is a local tensor
// that is declared without a value and assigned nowhere else, and the parts are tensors, too.
void Lowering::find_ties(const clang::Stmt* body) {
  ties_.clear();
  std::map<const clang::ValueDecl*, int> assignments;
  std::vector<std::pair<const clang::CXXOperatorCallExpr*, const clang::CallExpr*>> found;
  std::vector<const clang::Stmt*> work{body};
  const auto tie_of = [](const clang::Stmt* node) -> const clang::CallExpr* {
    const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node);
    return made != nullptr && made->getOperator() == clang::OO_Equal && made->getNumArgs() == 2
               ? call_of(made->getArg(0)->IgnoreImplicit(), "std::tie")
               : nullptr;
  };
  while (!work.empty()) {
    const clang::Stmt* at = work.back();
    work.pop_back();
    if (at == nullptr) continue;
    Variables here;
    assigned_at(at, here);
    if (const auto* tie = tie_of(at)) {
      for (const clang::Expr* target : tie->arguments()) {
        if (const clang::ValueDecl* variable = named(target)) here.insert(variable);
      }
    }
    for (const clang::ValueDecl* variable : here) ++assignments[variable];
    if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(at)) {
      for (const clang::Stmt* child : block->body()) {
        const auto* value = llvm::dyn_cast<clang::Expr>(child);
        const clang::Expr* whole = value == nullptr ? nullptr : bare(value);
        if (whole == nullptr || tie_of(whole) == nullptr) continue;
        found.emplace_back(llvm::cast<clang::CXXOperatorCallExpr>(whole), tie_of(whole));
      }
    }
    for (const clang::Stmt* child : at->children()) work.push_back(child);
  }
  for (const auto& [assigned, tie] : found) {
    const std::vector<const clang::Expr*> targets(tie->arg_begin(), tie->arg_end());
    Variables names;
    const bool each = std::ranges::all_of(targets, [&](const clang::Expr* target) {
      const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(named(target));
      const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(target->IgnoreParens());
      if (variable == nullptr || reference == nullptr ||
          reference->refersToEnclosingVariableOrCapture()) {
        return false;
      }
      const auto* unset = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(variable->getInit());
      return variable->isLocalVarDecl() && !variable->isStaticLocal() &&
             !variable->getType()->isReferenceType() && is_tensor(variable->getType()) &&
             unset != nullptr && unset->getNumArgs() == 0 && assignments[variable] == 1 &&
             names.insert(variable).second;
    });
    if (!each || !holds(assigned->getArg(1)->getType(), targets)) continue;
    ties_.emplace(assigned, std::vector<const clang::ValueDecl*>());
    for (const clang::Expr* target : targets) ties_[assigned].push_back(named(target));
    only_read_.insert(tie);
  }
}

// `std::tie(a, b) = …;`
bool Lowering::assign_tied(const clang::CXXOperatorCallExpr* node) {
  const auto tied = ties_.find(node);
  if (tied == ties_.end()) return false;
  const ValueId whole = expression(node->getArg(1));
  bool changes = false;
  for (const clang::ValueDecl* name : tied->second) {
    changes = changes || changing_.contains(name);
    const auto declared = declared_in_.find(name);
    if (loop_ != (declared == declared_in_.end() ? 0 : declared->second)) {
      g().statements[current_].carried = true;
    }
  }
  if (changes || g().statements[current_].carried) use(whole);
  impure_ = impure_ || changes;
  bind_parts(tied->second, whole);
  return true;
}

void Lowering::bind_parts(const std::vector<const clang::ValueDecl*>& names, ValueId whole) {
  const bool known = whole != kNone && g()[whole].kind == Kind::tuple &&
                     g()[whole].operands.size() == names.size();
  const std::vector<ValueId> parts = known ? g()[whole].operands : std::vector<ValueId>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (known) {
      bind(names[i], parts[i]);
      continue;
    }
    Value part;
    part.kind = whole == kNone ? Kind::unknown : Kind::element;
    if (whole != kNone) part.operands = {whole};
    part.index = static_cast<int>(i);
    part.count = static_cast<int>(names.size());
    part.statement = current_;
    bind(names[i], g().add(std::move(part)));
  }
}

}  // namespace refit::cpp
