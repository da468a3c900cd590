// What clang's tree lacks. Behind some errors clang passes over the text up to the next `;` or `}`
// and makes nothing of it. Entry points: lost_at, undeclared_at, Lowering::lost.
#include "rewriter/cpp/lowering.hpp"

#include <algorithm>
#include <array>

#include <clang/AST/DeclTemplate.h>

#include "rewriter/text/words.hpp"

namespace refit::cpp {

namespace {

template <typename Node>
bool contains(const clang::SourceManager& sources, const Node* node, uint32_t at) {
  const clang::SourceLocation begin = sources.getExpansionLoc(node->getBeginLoc());
  const clang::SourceLocation end = sources.getExpansionRange(node->getEndLoc()).getEnd();
  return sources.isInMainFile(begin) && sources.isInMainFile(end) &&
         sources.getFileOffset(begin) <= at && at <= sources.getFileOffset(end);
}

// The keywords and signs of a text that holds more than one expression.
bool one_expression(std::string_view text) {
  constexpr std::array<std::string_view, 14> kKeywords = {
      "return", "break", "continue", "goto",   "throw", "if",        "else",
      "for",    "while", "do",       "switch", "case",  "co_return", "co_yield"};
  if (text.find_first_of("{}") != std::string_view::npos) return false;
  bool one = true;
  visit_words(text, [&](uint64_t, size_t begin, size_t end) {
    one = one && std::ranges::find(kKeywords, text.substr(begin, end - begin)) == kKeywords.end();
  });
  return one;
}

// `kinds::scale(factor);` of unknown names is taken for a declaration of `factor`, and what could
// not be read of a value is not in the tree.
bool without_its_value(const clang::Decl* decl) {
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
  return variable != nullptr && variable->isInvalidDecl() && variable->getInit() == nullptr;
}

// What stands between two statements of a block, or one and the block's end, around a place.
ByteRange between(const clang::SourceManager& sources, const clang::CompoundStmt* block,
                  std::string_view text, uint32_t at) {
  const auto offset = [&](clang::SourceLocation where) {
    return sources.getFileOffset(sources.getExpansionLoc(where));
  };
  ByteRange out{offset(block->getLBracLoc()) + 1, offset(block->getRBracLoc())};
  for (const clang::Stmt* child : block->body()) {
    const uint32_t begin = offset(child->getBeginLoc()), end = offset(child->getEndLoc());
    if (begin > at) {
      out.end = std::min(out.end, begin);
      break;
    }
    // The last token of a statement, its semicolon aside.
    const size_t semicolon = text.find(';', end);
    if (semicolon != std::string_view::npos && semicolon < at) {
      out.begin = static_cast<uint32_t>(semicolon + 1);
    }
  }
  return out;
}

}  // namespace

std::optional<ByteRange> lost_at(const clang::SourceManager& sources, const clang::Stmt* body,
                                 std::string_view text, uint32_t at) {
  if (!contains(sources, body, at)) return std::nullopt;
  const ByteRange all{0, static_cast<uint32_t>(text.size())};
  const clang::Stmt* inner = body;
  for (bool deeper = true; deeper;) {
    if (const auto* lambda = llvm::dyn_cast<clang::LambdaExpr>(inner)) {
      // It captures what its tree names, so that what is lost of it is lost of what it changes.
      return lost_at(sources, lambda->getBody(), text, at) ? std::optional(all) : std::nullopt;
    }
    const auto* made = llvm::dyn_cast<clang::DeclStmt>(inner);
    if (made != nullptr && std::ranges::any_of(made->decls(), without_its_value)) {
      const uint32_t begin = sources.getFileOffset(sources.getExpansionLoc(made->getBeginLoc()));
      const uint32_t end = sources.getFileOffset(sources.getExpansionLoc(made->getEndLoc()));
      return one_expression(text.substr(begin, end - begin)) ? ByteRange{begin, end} : all;
    }
    deeper = false;
    for (const clang::Stmt* child : inner->children()) {
      if (child == nullptr || !contains(sources, child, at)) continue;
      inner = child;
      deeper = true;
      break;
    }
  }
  if (llvm::isa<clang::Expr, clang::DeclStmt>(inner)) return std::nullopt;
  const auto* block = llvm::dyn_cast<clang::CompoundStmt>(inner);
  if (block != nullptr) {
    const ByteRange gap = between(sources, block, text, at);
    if (gap.begin <= at && at < gap.end && one_expression(text.substr(gap.begin, gap.size()))) {
      return gap;
    }
  }
  return all;
}

bool undeclared_at(const clang::SourceManager& sources,
                   const std::vector<const clang::Decl*>& decls, uint32_t at) {
  for (const clang::Decl* decl : decls) {
    if (const auto* made = llvm::dyn_cast<clang::ClassTemplateDecl>(decl)) {
      decl = made->getTemplatedDecl();
    }
    if (decl->isImplicit() || !contains(sources, decl, at)) continue;
    const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl);
    if (record != nullptr && record->getBraceRange().isValid() &&
        at < sources.getFileOffset(sources.getExpansionLoc(record->getBraceRange().getBegin()))) {
      return false;  // of its bases
    }
    if (record == nullptr && !llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl)) {
      return false;
    }
    const auto* context = llvm::cast<clang::DeclContext>(decl);
    return undeclared_at(sources, {context->decls_begin(), context->decls_end()}, at);
  }
  return true;
}

// A statement that clang could not read is a call of something unknown with all that it names,
// which may also get other values.
void Lowering::lost(ByteRange where) {
  std::set<std::string_view> words;
  const std::string_view written = unit_.text().substr(where.begin, where.size());
  visit_words(written, [&](uint64_t, size_t begin, size_t end) {
    words.insert(written.substr(begin, end - begin));
  });
  std::vector<const clang::ValueDecl*> named;
  for (const auto& [decl, id] : name_ids_) {
    if (env_[id] != kNone && words.contains(text().locals[id].identifier)) named.push_back(decl);
  }
  const auto id = open(where, StatementKind::expression);
  Value callee;
  callee.kind = Kind::unknown;
  callee.text = "what clang could not read";
  Value call;
  call.kind = Kind::call;
  call.operands = {add(std::move(callee), nullptr)};
  for (const clang::ValueDecl* decl : named) {
    call.operands.push_back(g().definitions[env_[name_of(decl)]].value);
    call.keywords.emplace_back();
  }
  impure_ = true;
  use(add(std::move(call), nullptr));
  for (const clang::ValueDecl* decl : named) {
    forget(decl, "a statement that could not be read may change it");
  }
  for (const std::string_view word : words) g().stored_attributes.emplace_back(word);
  close(id);
}

}  // namespace refit::cpp
