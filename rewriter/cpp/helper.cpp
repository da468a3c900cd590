// Calls of short functions that only compute: the value that they give, as if it were written where
// the call stands. Entry point: Lowering::see_through.
#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

constexpr unsigned kSeenStatements = 8;  // a helper longer than this is no mere spelling

}  // namespace

// A tuple or a pair.
bool Lowering::several(clang::QualType type) const {
  const std::string name = record_name(type);
  return name == "std::tuple" || name == "std::pair";
}

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

// The value that a call of a short pure function of this file gives.
std::optional<ValueId> Lowering::see_through(const clang::CallExpr* node,
                                             const clang::FunctionDecl* callee) {
  const clang::FunctionDecl* definition = callee->getDefinition();
  // The object of a function object is the first operand of its operator.
  const unsigned first = llvm::isa<clang::CXXOperatorCallExpr>(node) ? 1 : 0;
  if (definition == nullptr || seeing_ > 1 || definition->isVariadic() ||
      definition->getNumParams() + first != node->getNumArgs() ||
      !(is_tensor(definition->getReturnType()) || several(definition->getReturnType())) ||
      varies(definition)) {
    return std::nullopt;
  }
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(definition->getBody());
  const auto locals = only_computes(body);
  if (!locals) return std::nullopt;
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
