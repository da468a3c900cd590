// Where things end in Python text, found without a parser: strings, logical lines, lists between
// brackets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rewriter/text/words.hpp"

namespace refit::python {

inline bool name_char(char c) { return in_word(c); }
inline bool blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
inline bool space(char c) { return blank(c) || c == '\r' || c == '\n'; }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (space(text.front()) || text.front() == '\\')) text.remove_prefix(1);
  while (!text.empty() && (space(text.back()) || text.back() == '\\')) text.remove_suffix(1);
  return text;
}

inline std::string_view first_word(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && name_char(text[end])) ++end;
  return text.substr(0, end);
}

// The word that ends before `end`.
inline std::string_view word_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && name_char(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// The line that holds `at`, up to it; a backslash joins it to the line before.
inline std::string_view line_before(std::string_view text, size_t at) {
  size_t begin = at;
  while (begin > 0 && (text[begin - 1] != '\n' || (begin > 1 && text[begin - 2] == '\\') ||
                       (begin > 2 && text[begin - 2] == '\r' && text[begin - 3] == '\\'))) {
    --begin;
  }
  return text.substr(begin, at - begin);
}

// The quote that ends a string, whose text this is with its prefix; 0 for a triple one, in which a
// quote may stand.
inline char single_quote(std::string_view string) {
  const size_t at = string.find_first_of("\"'");
  if (at == std::string_view::npos) return 0;
  const char quote = string[at];
  const bool triple = string.size() > at + 5 && string[at + 1] == quote && string[at + 2] == quote;
  return triple ? '\0' : quote;
}

// Whether what stands at a place is surely a comment's: behind a `#` of its line, with no quote
// before it, and not far behind the line's beginning.
bool in_comment(std::string_view text, size_t at);

// One thread's: what it last found is kept.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  size_t next_line(size_t at) const;
  // The end of a string whose opening quote is at `at`; npos where it is not closed.
  size_t string_end(size_t at, int depth) const;
  // The end of a replacement field of an f-string, past its `}`.
  size_t field_end(size_t at, char quote, bool triple, int depth) const;
  // Where the logical line that begins at `at` ends and the next physical line begins; `code_end`
  // is where its code ends, before a comment. npos where brackets or strings are not closed.
  size_t logical_line(size_t at, size_t* code_end) const;
  // The first of `wanted` outside brackets and strings in [at, end); npos where there is none.
  size_t find_outside(size_t at, size_t end, char wanted) const;
  // Parts between commas outside brackets.
  std::vector<std::string_view> parts(std::string_view text) const;

 private:
  // The first byte at `at` or behind it that begins or ends something; the size where there is
  // none.
  size_t next_special(size_t at) const;
  // One bit for each special byte of a block of 64.
  uint64_t specials(size_t block) const;
  void look_at(size_t block) const;

  std::string_view text_;
  // The last blocks of 64 bytes whose special ones were looked for: a line is passed over more than
  // once.
  static constexpr size_t kBlocks = 16;
  struct Block {
    uint32_t number = 0;  // from 1
    uint64_t special = 0;
  };
  mutable std::array<Block, kBlocks> blocks_{};
};

}  // namespace refit::python
