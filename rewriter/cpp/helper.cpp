// Calls of short functions that only compute: the value that they give, as if it were written where
// the call stands. Besides free functions these are lambdas without captures, and members of the
// same object that no other class can override. Entry points: Lowering::see_through, is_fixed,
// hidden_by_base.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

#include <clang/AST/Attr.h>

namespace refit::cpp {

namespace {

constexpr unsigned kSeenStatements = 8;  // a helper longer than this is no mere spelling

// Whether an argument becomes another number on its way into a parameter: 0.5 that of an `int`.
bool becomes_another(const clang::Expr* argument) {
  const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(argument->IgnoreParens());
  if (cast == nullptr) return false;
  switch (cast->getCastKind()) {
    case clang::CK_FloatingToIntegral:
    case clang::CK_FloatingToBoolean:
    case clang::CK_IntegralToBoolean:
      return true;
    case clang::CK_IntegralCast: {
      const clang::QualType from = cast->getSubExpr()->getType(), to = cast->getType();
      return to->isCharType() || to->isBooleanType() ||
             to->isUnsignedIntegerType() != from->isUnsignedIntegerType() ||
             (to->isSpecificBuiltinType(clang::BuiltinType::Short) ||
              to->isSpecificBuiltinType(clang::BuiltinType::UShort));
    }
    default:
      return false;
  }
}

// How many bases a class writes between its name and its brace; nullopt where that does not show.
std::optional<unsigned> bases_in(std::string_view head) {
  unsigned bases = 0;
  int depth = 0;
  for (const char c : head) {
    if (c == '#' || c == '/' || c == '[') return std::nullopt;
    depth += (c == '<' || c == '(' ? 1 : 0) - (c == '>' || c == ')' ? 1 : 0);
    if (depth == 0 && (c == ',' || (c == ':' && bases == 0))) ++bases;
  }
  return bases;
}

}  // namespace

// The variables that a body declares before the `return` that it ends in; nullopt where it does
// anything else.
std::optional<std::vector<const clang::VarDecl*>> Lowering::only_computes(
    const clang::CompoundStmt* body) const {
  if (body == nullptr || body->size() == 0 || body->size() > kSeenStatements) return std::nullopt;
  const auto* back = llvm::dyn_cast<clang::ReturnStmt>(body->body_back());
  if (back == nullptr || back->getRetValue() == nullptr) return std::nullopt;
  std::vector<const clang::VarDecl*> out;
  for (const clang::Stmt* s : body->body()) {
    if (s == back) break;
    const auto* declared = llvm::dyn_cast<clang::DeclStmt>(s);
    if (declared == nullptr) return std::nullopt;
    for (const clang::Decl* decl : declared->decls()) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
      if (variable == nullptr || llvm::isa<clang::DecompositionDecl>(variable) ||
          variable->getInit() == nullptr || variable->isStaticLocal() ||
          !plain_value(variable->getType()) || changeable_reference(variable->getType())) {
        return std::nullopt;
      }
      out.push_back(variable);
    }
  }
  return out;
}

// A tensor, or a tuple that holds tensors by value.
bool Lowering::gives_tensors(clang::QualType type) const {
  if (is_tensor(type)) return true;
  const std::vector<clang::QualType> parts = by_value(type);
  return !parts.empty() && !type->isReferenceType() &&
         std::ranges::all_of(parts, [&](clang::QualType part) { return is_tensor(part); });
}

// Of a library whose classes have no members by the names of a program's.
bool Lowering::from_library(const clang::CXXRecordDecl* record) {
  const std::string qualified = record->getQualifiedNameAsString();
  return qualified.starts_with("torch::nn::") || qualified.starts_with("std::");
}

// Whether as many bases of a class are known as its text names.
bool Lowering::bases_show(const clang::CXXRecordDecl* record) const {
  if (from_library(record)) return true;
  const clang::SourceLocation name = record->getLocation(),
                              brace = record->getBraceRange().getBegin();
  if (name.isMacroID() || brace.isMacroID()) return false;
  const clang::FileID file = sources_.getFileID(name);
  const unsigned begin = sources_.getFileOffset(name), end = sources_.getFileOffset(brace);
  if (file != sources_.getFileID(brace) || begin > end) return false;
  const llvm::StringRef text = sources_.getBufferData(file);
  const auto bases = bases_in({text.data() + begin, end - begin});
  return bases && *bases == record->getNumBases();
}

// Whether a base that is not read may have a member by the name that a call in one of its members
// finds outside of the class.
bool Lowering::hidden_by_base(const clang::CallExpr* node) const {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(bare(node->getCallee())->IgnoreImplicit());
  if (name == nullptr || name->hasQualifier()) return false;
  for (const clang::DeclContext* at = function_; at != nullptr; at = at->getParent()) {
    const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(at);
    if (record == nullptr || record->isLambda()) continue;
    record = record->getDefinition();
    if (record == nullptr || record->isDependentContext() || !bases_show(record) ||
        !record->forallBases([&](const clang::CXXRecordDecl* base) { return bases_show(base); })) {
      return true;
    }
  }
  return false;
}

// Whether a class is read as it is in every build, the classes that it inherits from aside. What a
// missing header may have declared is not known, so that a class outside of this text is only
// where none is missing.
bool Lowering::whole(const clang::CXXRecordDecl* record) {
  if (record->isDependentContext() || record->isInvalidDecl() || !bases_show(record)) return false;
  if (from_library(record)) return true;
  if (varies(record)) return false;
  if (!sources_.isInMainFile(record->getLocation())) return !unit_.incomplete;
  const ByteRange text = range_or_empty(record->getSourceRange());
  return text.size() != 0 && std::ranges::none_of(errors_, [&](uint32_t at) {
           return text.begin <= at && at < text.end;
         });
}

// Whether a call of a member of the same object can run nothing but what is read of it.
bool Lowering::is_fixed(const clang::CXXMemberCallExpr* node) {
  const clang::CXXMethodDecl* method = node->getMethodDecl();
  const auto* object = llvm::dyn_cast<clang::CXXThisExpr>(
      bare(node->getImplicitObjectArgument())->IgnoreParenImpCasts());
  if (method == nullptr || object == nullptr) return false;
  const bool final =
      method->hasAttr<clang::FinalAttr>() || method->getParent()->hasAttr<clang::FinalAttr>();
  const clang::CXXRecordDecl* record = object->getType()->getPointeeCXXRecordDecl();
  record = record == nullptr ? nullptr : record->getDefinition();
  return (!method->isVirtual() || final) && record != nullptr && whole(record) &&
         record->forallBases([&](const clang::CXXRecordDecl* base) { return whole(base); });
}

// Whether a call runs a lambda without captures that it is handed as it is, or that a variable
// holds which has no other value in any build.
bool Lowering::is_fixed(const clang::CXXOperatorCallExpr* node) {
  const auto* method = llvm::dyn_cast_or_null<clang::CXXMethodDecl>(node->getDirectCallee());
  const clang::CXXRecordDecl* closure = method == nullptr ? nullptr : method->getParent();
  if (closure == nullptr || seeing_ != 0 || !closure->isLambda() || closure->isGenericLambda() ||
      closure->captures_begin() != closure->captures_end() ||
      closure->getLambdaCaptureDefault() != clang::LCD_None) {
    return false;
  }
  const clang::Expr* called = node->getArg(0);
  if (named(called) != nullptr) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(named(called));
    if (variable == nullptr || !variable->isLocalVarDecl() || variable->isStaticLocal() ||
        variable->getType()->isReferenceType() || variable->getInit() == nullptr ||
        assigned_.contains(variable) || named_elsewhere(variable, called)) {
      return false;
    }
    called = variable->getInit();
  }
  const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(bare(called)->IgnoreParenImpCasts());
  const auto written = lambda == nullptr ? std::nullopt : range(lambda->getSourceRange());
  const auto at = range(node->getSourceRange());
  return written && at && std::ranges::none_of(unit_.branches, [&](const ByteRange& branch) {
           return branch.contains(*at) != branch.contains(*written) ||
                  (branch.overlaps(*written) && !branch.contains(*written));
         });
}

// The value that a call of a short pure function gives.
std::optional<ValueId> Lowering::see_through(const clang::CallExpr* node,
                                             const clang::FunctionDecl* callee) {
  const clang::FunctionDecl* definition = callee->getDefinition();
  // The object of a lambda is the first operand of its operator.
  const unsigned first = llvm::isa<clang::CXXOperatorCallExpr>(node) ? 1 : 0;
  if (definition == nullptr || seeing_ > 1 || varies(definition) || definition->isVariadic() ||
      definition->getNumParams() + first != node->getNumArgs() ||
      !gives_tensors(definition->getReturnType())) {
    return std::nullopt;
  }
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(definition->getBody());
  const auto locals = only_computes(body);
  if (!locals || std::ranges::any_of(node->arguments(), becomes_another)) return std::nullopt;
  const auto* back = llvm::cast<clang::ReturnStmt>(body->body_back());
  // On trial: what turns out to have an effect is taken back.
  size_t values = g().values.size();
  size_t uses = current_ == kNone ? g().sinks.size() : g().statements[current_].uses.size();
  size_t calls = unit_.project_calls.size(), definitions = g().definitions.size();
  bool outer_impure = impure_;
  auto outer_inlined = inlined_;
  ValueId outer_self = self_;
  std::map<const clang::ValueDecl*, ValueId> bound;
  for (unsigned i = 0; i < definition->getNumParams(); ++i) {
    bound[definition->getParamDecl(i)] = expression(node->getArg(i + first));
  }
  size_t inside = g().values.size();
  inlined_ = std::move(bound);
  impure_ = false;
  ++seeing_;
  for (const clang::VarDecl* local : *locals) inlined_[local] = expression(local->getInit());
  ValueId result = expression(back->getRetValue());
  --seeing_;
  inlined_ = std::move(outer_inlined);
  size_t uses_now = current_ == kNone ? g().sinks.size() : g().statements[current_].uses.size();
  bool ok = !impure_ && uses_now == uses && g().definitions.size() == definitions &&
            result != kNone && result >= inside &&
            (g()[result].kind == Kind::op || g()[result].kind == Kind::tuple);
  impure_ = impure_ || outer_impure;
  if (!ok) {
    if (g().definitions.size() != definitions) return std::nullopt;  // it stays as it was lowered
    unit_.project_calls.resize(calls);
    auto& used = current_ == kNone ? g().sinks : g().statements[current_].uses;
    used.resize(uses);
    g().values.resize(values);
    text().calls.erase(text().calls.lower_bound(static_cast<ValueId>(values)), text().calls.end());
    text().locked.erase(text().locked.lower_bound(static_cast<ValueId>(values)),
                        text().locked.end());
    impure_ = outer_impure;
    self_ = outer_self;
    return std::nullopt;
  }
  if (seeing_ == 0) {
    g()[result].range = range_or_empty(node->getSourceRange());
    g()[result].syntax = 0;
    unit_.project_calls.push_back(
        {index_, result, dotted(callee->getQualifiedNameAsString()), kNone});
  }
  return result;
}

}  // namespace refit::cpp
