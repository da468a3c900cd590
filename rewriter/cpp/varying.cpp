// Whether another build may have something else by a name: which branch of a condition is compiled
// may decide that. Entry points: Lowering::varies, of a function that would be seen through, of a
// member and of a class; named_elsewhere, of a local variable.
#include <algorithm>

#include "rewriter/cpp/branches.hpp"
#include "rewriter/cpp/lowering.hpp"
#include "rewriter/cpp/text_parts.hpp"
#include "rewriter/text/words.hpp"

namespace refit::cpp {

namespace {

constexpr std::string_view kBlank = " \t\r\n";

// Whether a word stands where a function or class by that name is defined, or a macro.
bool defines_at(std::string_view text, size_t begin, size_t end) {
  const size_t line = text.substr(0, begin).rfind('\n');
  const std::string_view head = trimmed(text.substr(0, begin));
  if (head.ends_with("struct") || head.ends_with("class")) return true;
  if (text.substr(line == std::string_view::npos ? 0 : line, begin - line).find("define") !=
      std::string_view::npos) {
    return true;
  }
  size_t at = text.find_first_not_of(kBlank, end);
  if (at == std::string_view::npos || text[at] != '(') return false;
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += (text[at] == '(' ? 1 : 0) - (text[at] == ')' ? 1 : 0);
    if (depth == 0) break;
  }
  // A parameter list is followed by the body, or by words such as `const` before that.
  const auto between = [](char c) {
    return in_word(c) || kBlank.find(c) != std::string_view::npos;
  };
  at = std::min(at + 1, text.size());
  while (at < text.size() && between(text[at])) ++at;
  return at < text.size() && (text[at] == '{' || text[at] == '-');
}

bool mentions(std::string_view text, std::string_view name, bool defined) {
  bool found = false;
  visit_words(text, [&](uint64_t, size_t begin, size_t end) {
    if (found || text.substr(begin, end - begin) != name) return;
    found = !defined || defines_at(text, begin, end);
  });
  return found;
}

}  // namespace

struct Lowering::Conditions {
  std::string_view text;  // of the file
  ByteRange declared;     // the declaration's
  std::vector<ByteRange> bodies;
};

// The branches of conditionals that do not hold the declaration as a whole.
Lowering::Conditions Lowering::conditions_of(const clang::Decl* decl) {
  const clang::SourceLocation begin = sources_.getExpansionLoc(decl->getBeginLoc());
  const clang::SourceLocation end = sources_.getExpansionLoc(decl->getEndLoc());
  const clang::FileID file = sources_.getFileID(begin);
  if (begin.isInvalid() || sources_.isInSystemHeader(begin)) return {};
  const llvm::StringRef buffer = sources_.getBufferData(file);
  Conditions out;
  out.text = {buffer.data(), buffer.size()};
  out.declared = {sources_.getFileOffset(begin), sources_.getFileOffset(end)};
  auto [found, fresh] = bodies_.try_emplace(file.getHashValue());
  if (fresh) found->second = Branches(out.text, {}).bodies();
  for (const ByteRange& body : found->second) {
    if (!body.contains(out.declared)) out.bodies.push_back(body);
  }
  return out;
}

bool Lowering::varies(const clang::FunctionDecl* definition) {
  if (definition->getIdentifier() == nullptr) return false;
  const clang::SourceLocation at = sources_.getExpansionLoc(definition->getLocation());
  if (unit_.chooses_headers && !sources_.isInMainFile(at)) return true;
  const Conditions found = conditions_of(definition);
  return std::ranges::any_of(found.bodies, [&](ByteRange body) {
    return body.overlaps(found.declared) ||
           mentions(found.text.substr(body.begin, body.size()), definition->getName(), true);
  });
}

// Of a class, whether any part of it depends on the build.
bool Lowering::varies(const clang::CXXRecordDecl* record) {
  if (unit_.chooses_headers && !sources_.isInMainFile(record->getLocation())) return true;
  const Conditions found = conditions_of(record);
  return std::ranges::any_of(found.bodies, [&](ByteRange body) {
    return body.overlaps(found.declared) ||
           (record->getIdentifier() != nullptr &&
            mentions(found.text.substr(body.begin, body.size()), record->getName(), true));
  });
}

// Whether code of the function that depends on the build names a variable, or declares it and does
// not hold the place where it is read.
bool Lowering::named_elsewhere(const clang::ValueDecl* variable, const clang::Expr* read) const {
  const ByteRange function = unit_.functions[index_].range;
  const ByteRange declared = range_or_empty(variable->getSourceRange());
  const ByteRange at = read == nullptr ? ByteRange{} : range_or_empty(read->getSourceRange());
  return variable->getIdentifier() != nullptr &&
         std::ranges::any_of(unit_.branches, [&](const ByteRange& branch) {
           if (!function.contains(branch)) return false;
           if (branch.contains(declared)) return !branch.contains(at);
           return mentions(unit_.source().slice(branch), variable->getName(), false);
         });
}

bool Lowering::varies(const clang::FieldDecl* member) {
  const clang::RecordDecl* record = member->getParent();
  const Conditions found = conditions_of(record);
  return std::ranges::any_of(found.bodies, [&](ByteRange body) {
    const std::string_view text = found.text.substr(body.begin, body.size());
    return (body.overlaps(found.declared) && mentions(text, member->getName(), false)) ||
           (record->getIdentifier() != nullptr && mentions(text, record->getName(), true));
  });
}

}  // namespace refit::cpp
