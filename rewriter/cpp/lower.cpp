// Declarations and statements of C++ to the value graph; control.cpp has those that choose what
// runs. Entry point: lower_file.
#include "rewriter/cpp/lowering.hpp"

#include <algorithm>

#include <clang/AST/DeclTemplate.h>
#include <clang/Lex/Lexer.h>

namespace refit::cpp {

namespace {

void find_comments(CppUnit& unit, const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  clang::FileID file = sources.getMainFileID();
  llvm::StringRef buffer = sources.getBufferData(file);
  clang::Lexer lexer(sources.getLocForStartOfFile(file), context.getLangOpts(), buffer.begin(),
                     buffer.begin(), buffer.end());
  lexer.SetCommentRetentionState(true);
  for (clang::Token token; !lexer.LexFromRawLexer(token);) {
    if (!token.is(clang::tok::comment)) continue;
    uint32_t begin = sources.getFileOffset(token.getLocation());
    unit.comments.push_back({begin, begin + token.getLength()});
  }
}

// Whether the global scope means anything by a name but the namespace that a package's headers
// open.
bool means_else(clang::ASTContext& context, const std::string& package, std::string_view header) {
  const clang::SourceManager& sources = context.getSourceManager();
  const std::string folder = "/" + std::string(header.substr(0, header.find('/') + 1));
  auto& name = context.Idents.get(package);
  for (const clang::NamedDecl* found : context.getTranslationUnitDecl()->lookup(&name)) {
    if (!llvm::isa<clang::NamespaceDecl>(found)) return true;
    for (const clang::Decl* part : found->redecls()) {
      const auto where = sources.getExpansionLoc(part->getLocation());
      if (!sources.getFilename(where).contains(folder)) return true;
    }
  }
  return false;
}

}  // namespace

void lower_file(CppUnit& unit, clang::ASTContext& context,
                const std::vector<const clang::Decl*>& decls, const std::vector<uint32_t>& errors,
                const Knowledge& knowledge) {
  find_comments(unit, context);
  for (const auto& [package, header] : knowledge.names.headers()) {
    if (means_else(context, package, header)) unit.taken.insert(package);
  }
  Lowering lowering(unit, context, errors, knowledge);
  const clang::SourceManager& sources = context.getSourceManager();
  for (const clang::Decl* decl : decls) {
    if (sources.isInMainFile(sources.getExpansionLoc(decl->getLocation()))) {
      lowering.declaration(decl, false);
    }
  }
  const auto lost =
      std::ranges::find_if(errors, [&](uint32_t at) { return undeclared_at(sources, decls, at); });
  if (lost != errors.end()) unit.unread.push_back(*lost);  // one for all of them
}

void Lowering::declaration(const clang::Decl* decl, bool in_template) {
  if (decl->isImplicit()) return;
  if (const auto* made = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
    declaration(made->getTemplatedDecl(), true);
  } else if (const auto* record = llvm::dyn_cast<clang::ClassTemplateDecl>(decl)) {
    declaration(record->getTemplatedDecl(), true);
  } else if (const auto* body = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
    if (body->doesThisDeclarationHaveABody()) {
      function(body, in_template || body->isDependentContext());
      // Lambdas inside it are functions of their own.
      while (!lambdas_.empty()) {
        const clang::FunctionDecl* lambda = lambdas_.back();
        lambdas_.pop_back();
        function(lambda, in_template || lambda->isDependentContext());
      }
    }
  } else if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl, clang::CXXRecordDecl>(decl)) {
    for (const clang::Decl* child : llvm::cast<clang::DeclContext>(decl)->decls()) {
      declaration(child, in_template);
    }
  }
}

void Lowering::function(const clang::FunctionDecl* decl, bool in_template) {
  auto where = range(decl->getSourceRange());
  const auto* body = llvm::dyn_cast_or_null<clang::CompoundStmt>(decl->getBody());
  if (!where || body == nullptr) return;  // out of a macro, or a constructor's try
  index_ = static_cast<uint32_t>(unit_.functions.size());
  function_ = decl;
  Function made;
  made.name = decl->getNameAsString();
  made.qualified = dotted(decl->getQualifiedNameAsString());
  made.range = *where;
  unit_.functions.push_back(std::move(made));
  unit_.texts.emplace_back();
  lost_.clear();
  for (const uint32_t at : errors_) {
    const auto lost = lost_at(sources_, body, unit_.text(), at);
    if (lost && lost->contains(*where)) {  // what a part of it does is not known
      unit_.unread.push_back(at);
      return;
    }
    if (lost) lost_.insert({lost->begin, lost->end});
  }
  clock_ = 0;
  current_ = kNone;
  block_number_ = 0;
  self_ = kNone;
  env_.clear();
  name_ids_.clear();
  changing_.clear();
  declared_in_.clear();
  loop_ = loops_ = 0;
  frames_.clear();
  guards_.clear();
  in_template_ = in_template;
  scope_ = *where;
  find_ties(body);
  assigned_.clear();
  assigned_in(body, assigned_);
  find_changes(body);
  auto definition = open(*where, StatementKind::other);
  for (const clang::ParmVarDecl* parameter : decl->parameters()) {
    if (changeable_reference(parameter->getType())) changing_.insert(parameter);
    if (parameter->getIdentifier() == nullptr) continue;
    Value value;
    value.kind = Kind::parameter;
    value.text = parameter->getNameAsString();
    value.statement = current_;
    if (parameter->getType()->isArithmeticType()) value.literal.kind = Literal::Kind::real;
    bind(parameter, g().add(std::move(value)));
  }
  current_ = kNone;
  g().statements[definition].time_end = ++clock_;
  if (const auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(decl)) {
    for (const clang::CXXCtorInitializer* init : constructor->inits()) {
      if (init->isWritten() && init->getInit() != nullptr) use(expression(init->getInit()));
    }
  }
  block(body);
}

StatementId Lowering::open(ByteRange where, StatementKind kind) {
  Statement s;
  s.kind = kind;
  s.range = where;
  s.parent = current_;
  s.block = block_number_;
  s.time = ++clock_;
  g().statements.push_back(std::move(s));
  auto id = static_cast<StatementId>(g().statements.size() - 1);
  if (current_ != kNone) g().statements[current_].children.push_back(id);
  current_ = id;
  impure_ = false;
  return id;
}

void Lowering::close(StatementId id) {
  g().statements[id].time_end = ++clock_;
  current_ = g().statements[id].parent;
}

void Lowering::use(ValueId id) {
  if (id == kNone) return;
  if (current_ == kNone) {
    g().sinks.push_back(id);
  } else {
    g().statements[current_].uses.push_back(id);
  }
}

bool Lowering::block(const clang::CompoundStmt* node) {
  ByteRange outer = scope_;
  size_t guards = guards_.size();
  scope_ = range_or_empty(node->getSourceRange());
  bool falls = true;
  const auto lost_before = [&](uint32_t at) {
    while (!lost_.empty() && lost_.begin()->first <= at) {
      const auto [begin, end] = *lost_.begin();
      lost_.erase(lost_.begin());
      lost({begin, end});
    }
  };
  for (const clang::Stmt* child : node->body()) {
    // Not reached, so that its sites are none; a label is.
    if (!falls && !llvm::isa<clang::SwitchCase>(child)) continue;
    if (!lost_.empty()) lost_before(range_or_empty(child->getSourceRange()).begin);
    falls = statement(child);
  }
  if (falls && !lost_.empty()) lost_before(scope_.end);
  while (guards_.size() > guards) {
    close(guards_.back());
    guards_.pop_back();
  }
  scope_ = outer;
  return falls;
}

bool Lowering::statement(const clang::Stmt* node) {
  if (node == nullptr || llvm::isa<clang::NullStmt>(node)) return true;
  if (const auto* inside = llvm::dyn_cast<clang::CompoundStmt>(node)) return block(inside);
  if (const auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(node)) {
    return statement(attributed->getSubStmt());
  }
  if (const auto* choice = llvm::dyn_cast<clang::IfStmt>(node)) return branch(choice);
  if (const auto* label = llvm::dyn_cast<clang::SwitchCase>(node)) return labelled(label);
  if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::CXXForRangeStmt,
                clang::SwitchStmt, clang::CXXTryStmt>(node)) {
    loop(node);
    return true;
  }
  if (const auto* names = llvm::dyn_cast<clang::DeclStmt>(node)) {
    declare(names);
    return true;
  }
  ByteRange where = with_semicolon(range_or_empty(node->getSourceRange()));
  if (const auto* value = llvm::dyn_cast<clang::Expr>(node)) {
    evaluate(value, where);
    return true;
  }
  if (const auto* back = llvm::dyn_cast<clang::ReturnStmt>(node)) {
    auto id = open(where, StatementKind::give);
    if (back->getRetValue() != nullptr) {
      ValueId value = expression(back->getRetValue());
      use(value);
      g().results.push_back(value);
    }
    close(id);
    return false;
  }
  auto id = open(where, StatementKind::other);
  impure_ = true;
  use(opaque_children("statement", node));
  close(id);
  return !llvm::isa<clang::BreakStmt, clang::ContinueStmt, clang::GotoStmt>(node);
}

void Lowering::evaluate(const clang::Expr* node, ByteRange where) {
  auto id = open(where, StatementKind::expression);
  const clang::Expr* bare = node->IgnoreParens();
  if (const auto* outer = llvm::dyn_cast<clang::ExprWithCleanups>(bare)) {
    bare = outer->getSubExpr()->IgnoreParens();
  }
  if (assign(bare)) {
    g().statements[id].kind = StatementKind::assign;
    g().statements[id].pure = !impure_ && !head_ && !g().statements[id].carried;
  } else {
    use(expression(node));
  }
  close(id);
}

// `name = value`, where the name is a local variable; stores into anything else are effects.
bool Lowering::assign(const clang::Expr* node) {
  const clang::Expr *left = nullptr, *right = nullptr;
  if (const auto* made = llvm::dyn_cast<clang::CXXOperatorCallExpr>(node)) {
    if (made->getOperator() != clang::OO_Equal || made->getNumArgs() != 2) return false;
    if (assign_tied(made)) return true;
    left = made->getArg(0);
    right = made->getArg(1);
  } else if (const auto* plain = llvm::dyn_cast<clang::BinaryOperator>(node)) {
    if (plain->getOpcode() != clang::BO_Assign) return false;
    left = plain->getLHS();
    right = plain->getRHS();
  } else {
    return false;
  }
  const clang::ValueDecl* variable = named(left);
  if (variable == nullptr || !plain_value(variable->getType())) return false;
  const auto* whole = llvm::dyn_cast<clang::VarDecl>(variable);
  if (whole != nullptr && (!whole->isLocalVarDeclOrParm() || whole->isStaticLocal())) return false;
  ValueId value = expression(right);
  if (changing_.contains(variable)) {
    use(value);
    impure_ = true;
    return true;
  }
  // A lambda's copy of a variable keeps its value between calls.
  const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(left->IgnoreParenImpCasts());
  impure_ = impure_ || (reference != nullptr && reference->refersToEnclosingVariableOrCapture());
  const auto declared = declared_in_.find(variable);
  if (loop_ != (declared == declared_in_.end() ? 0 : declared->second)) {
    g().statements[current_].carried = true;
    use(value);  // a further round may read it, or what follows a `break`
  }
  bind(variable, value);
  return true;
}

void Lowering::declare(const clang::DeclStmt* node) {
  auto id = open(range_or_empty(node->getSourceRange()), StatementKind::assign);
  bool pure = true;
  for (const clang::Decl* decl : node->decls()) {
    const auto* made = llvm::dyn_cast<clang::VarDecl>(decl);
    if (made == nullptr) {
      pure = false;
      continue;
    }
    declared_in_[made] = loop_;
    variable(made);
    pure = pure && plain_value(made->getType()) && !made->isStaticLocal();
  }
  if (const auto* one =
          node->isSingleDecl() ? llvm::dyn_cast<clang::VarDecl>(node->getSingleDecl()) : nullptr) {
    const auto whole = range(node->getSourceRange()), name = range(one->getLocation());
    if (whole && name && !llvm::isa<clang::DecompositionDecl>(one)) {
      text().declarations[id] = {std::string(unit_.source().slice({whole->begin, name->begin})),
                                 one->getNameAsString()};
    }
  }
  Statement& s = g().statements[id];
  s.pure = pure && !impure_ && !head_;
  if (s.definitions.empty()) s.kind = StatementKind::other;
  // An object that switches gradients on does so to the end of its block.
  if (s.kind == StatementKind::other && !s.uses.empty()) {
    guards_.push_back(id);
    return;
  }
  close(id);
}

void Lowering::variable(const clang::VarDecl* decl) {
  const clang::Expr* init = decl->getInit();
  if (const auto* parts = llvm::dyn_cast<clang::DecompositionDecl>(decl)) {
    ValueId whole = init == nullptr ? kNone : expression(init);
    auto bindings = parts->bindings();
    // Parts of what stands elsewhere change with that.
    const bool refers =
        parts->getType()->isReferenceType() && (init == nullptr || !bare(init)->isPRValue());
    std::vector<const clang::ValueDecl*> names;
    for (const clang::BindingDecl* binding : bindings) {
      declared_in_[binding] = loop_;
      const clang::QualType type = binding->getType();  // null where clang does not know it
      if (refers || type.isNull() || type->isReferenceType()) changing_.insert(binding);
      names.push_back(binding);
    }
    bind_parts(names, whole);
    return;
  }
  if (!plain_value(decl->getType())) {
    // An object of a class that is not known: its making may do anything.
    ValueId made = init == nullptr ? kNone : expression(init);
    impure_ = true;
    std::string meaning = knowledge_.names.meaning(record_name(decl->getType()));
    const auto* how = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(init);
    if (knowledge_.names.spelling(meaning).empty() || how == nullptr || meaning.empty()) {
      use(made);
      Value value;
      value.kind = Kind::unknown;
      value.text = decl->getNameAsString();
      if (made != kNone) value.operands = {made};
      value.statement = current_;
      bind(decl, g().add(std::move(value)));
      return;
    }
    const auto* off =
        how->getNumArgs() == 1
            ? llvm::dyn_cast<clang::CXXBoolLiteralExpr>(how->getArg(0)->IgnoreParenImpCasts())
            : nullptr;
    if (off != nullptr && !off->getValue()) return;
    Value callee;
    callee.kind = Kind::symbol;
    callee.text = std::move(meaning);
    callee.statement = current_;
    Value call;
    call.kind = Kind::call;
    call.operands = {g().add(std::move(callee))};
    call.statement = current_;
    use(g().add(std::move(call)));
    return;
  }
  ValueId value = kNone;
  if (init != nullptr) {
    value = expression(init);
  } else {
    Value unset;
    unset.kind = Kind::unknown;
    unset.text = "unset " + decl->getNameAsString();
    unset.statement = current_;
    value = g().add(std::move(unset));
  }
  if (decl->isStaticLocal() || changing_.contains(decl) || changeable_reference(decl->getType())) {
    changing_.insert(decl);
    use(value);
    impure_ = true;
  }
  bind(decl, value);
}

std::optional<ByteRange> Lowering::range(clang::SourceRange where, std::string* locked) const {
  if (where.isInvalid()) return std::nullopt;
  clang::SourceLocation begin = where.getBegin(), end = where.getEnd();
  if (begin.isMacroID() || end.isMacroID()) {
    if (locked == nullptr) return std::nullopt;
    llvm::StringRef name = clang::Lexer::getImmediateMacroName(begin.isMacroID() ? begin : end,
                                                               sources_, context_.getLangOpts());
    *locked = "it comes out of the macro " + name.str() + "; write it out";
    begin = sources_.getExpansionRange(begin).getBegin();
    end = sources_.getExpansionRange(end).getEnd();
  }
  if (!sources_.isInMainFile(begin) || !sources_.isInMainFile(end)) return std::nullopt;
  ByteRange out{sources_.getFileOffset(begin),
                sources_.getFileOffset(end) +
                    clang::Lexer::MeasureTokenLength(end, sources_, context_.getLangOpts())};
  return out.begin < out.end ? std::optional(out) : std::nullopt;
}

ByteRange Lowering::range_or_empty(clang::SourceRange where) const {
  std::string ignored;
  return range(where, &ignored).value_or(ByteRange{});
}

ByteRange Lowering::with_semicolon(ByteRange where) const {
  if (where.size() == 0) return where;
  std::string_view all = unit_.text();
  size_t at = where.end;
  while (at < all.size() && (all[at] == ' ' || all[at] == '\t' || all[at] == '\n')) ++at;
  if (at < all.size() && all[at] == ';') where.end = static_cast<uint32_t>(at + 1);
  return where;
}

}  // namespace refit::cpp
