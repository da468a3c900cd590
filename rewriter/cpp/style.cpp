// New text in the style that the repository's .clang-format asks for. Entry point: styled.
#include <clang/Format/Format.h>
#include <clang/Tooling/Core/Replacement.h>

#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/SourceMgr.h>

#include "rewriter/cpp/frontend.hpp"

namespace refit::cpp {

namespace {

using clang::format::FormatStyle;
using clang::tooling::Range;
using clang::tooling::Replacement;
using clang::tooling::Replacements;

// The style for a file, or none: there is no .clang-format above it, or one that cannot be read or
// that switches formatting off. Only blanks and line breaks change: nothing is sorted, added or
// taken away, and comments stay as they are.
std::optional<FormatStyle> style_of(const std::string& path, llvm::StringRef text) {
  // What it finds wrong, with the file's own text in it, is nobody's to read here.
  const auto silent = [](const llvm::SMDiagnostic&, void*) {};
  auto found = clang::format::getStyle("file", path, "none", text, /*FS=*/nullptr,
                                       /*AllowUnknownOptions=*/true, silent);
  if (!found) {
    llvm::consumeError(found.takeError());
    return std::nullopt;
  }
  FormatStyle style = *found;
  if (style.DisableFormat) return std::nullopt;
  style.ReflowComments = false;
  style.SortIncludes = FormatStyle::SI_Never;
  style.SortUsingDeclarations = FormatStyle::SUD_Never;
  style.FixNamespaceComments = false;
  style.InsertBraces = style.RemoveBracesLLVM = style.RemoveSemicolon = false;
  style.RemoveParentheses = FormatStyle::RPS_Leave;
  style.QualifierAlignment = FormatStyle::QAS_Leave;
  style.SeparateDefinitionBlocks = FormatStyle::SDS_Leave;
  style.InsertNewlineAtEOF = false;
  style.IntegerLiteralSeparator = {0, 0, 0, 0, 0, 0};
  return style;
}

bool add(Replacements& all, unsigned offset, unsigned length, llvm::StringRef text) {
  if (llvm::Error error = all.add(Replacement("", offset, length, text))) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return true;
}

// What the style changes in a text whose `written` ranges are new; none where there is no style.
Replacements blanks_of(llvm::StringRef before, const std::string& after,
                       const std::vector<Range>& written, const std::string& path) {
  const auto style = style_of(path, before);
  if (!style) return {};
  clang::format::FormattingAttemptStatus status;
  Replacements blanks = clang::format::reformat(*style, after, written, path, &status);
  return status.FormatComplete ? blanks : Replacements();
}

}  // namespace

EditSet styled(std::string_view text, const std::string& path, const EditSet& edits) {
  if (edits.empty()) return edits;
  const std::string after = edits.apply(text);
  std::vector<Range> written;
  for (const ByteRange& range : edits.results()) {
    if (range.size() != 0) written.emplace_back(range.begin, range.size());
  }
  Replacements blanks;
  llvm::CrashRecoveryContext context;  // a crash is not the tool's end
  const bool ran = context.RunSafely(
      [&] { blanks = blanks_of(llvm::StringRef(text.data(), text.size()), after, written, path); });
  if (!ran || blanks.empty()) return edits;
  Replacements all;
  for (const Edit& edit : edits.edits()) {
    if (!add(all, edit.range.begin, edit.range.size(), edit.replacement)) return edits;
  }
  EditSet out;
  for (const Replacement& one : all.merge(blanks)) {
    const uint32_t begin = one.getOffset();
    const ByteRange range{begin, begin + one.getLength()};
    if (!out.add({range, one.getReplacementText().str()})) return edits;
  }
  return out;
}

}  // namespace refit::cpp
