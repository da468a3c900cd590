#include "rewriter/plan/fingerprint.hpp"

#include <fmt/format.h>
#include <llvm/Support/xxhash.h>

namespace refit {

std::string fingerprint(const Finding& finding) {
  std::string key = finding.rule + '\0' + finding.file + '\0' + finding.function + '\0';
  bool space = false;
  for (const char c : finding.before) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
    if (!blank && space) key += ' ';
    if (!blank) key += c;
    space = blank;
  }
  return fmt::format("{:016x}", llvm::xxh3_64bits(llvm::StringRef(key)));
}

}  // namespace refit
