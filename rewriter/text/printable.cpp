// Escaping what is no text for a terminal. Entry point: printable.
#include "rewriter/text/printable.hpp"

#include <fmt/format.h>
#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/Unicode.h>

namespace refit {

std::string printable(std::string_view text, Breaks breaks) {
  std::string result;
  const auto* at = reinterpret_cast<const llvm::UTF8*>(text.data());
  const llvm::UTF8* const end = at + text.size();
  while (at < end) {
    const llvm::UTF8* const begin = at;
    const char c = static_cast<char>(*begin);
    llvm::UTF32 character = 0;
    const bool valid = llvm::convertUTF8Sequence(&at, end, &character, llvm::strictConversion) ==
                       llvm::conversionOK;
    if (!valid) {
      at = begin + 1;
      result += fmt::format("\\x{:02x}", *begin);
    } else if (breaks == Breaks::spaces && (c == '\n' || c == '\r' || c == '\t')) {
      result += ' ';
    } else if ((breaks == Breaks::kept && c == '\n') ||
               llvm::sys::unicode::isPrintable(static_cast<int>(character))) {
      result.append(begin, at);
    } else if (character < 0x80) {
      result += fmt::format("\\x{:02x}", character);
    } else {
      result += fmt::format("\\u{{{:x}}}", character);
    }
  }
  return result;
}

}  // namespace refit
