// Words of a text: maximal runs of letters, digits, `_` and bytes beyond ASCII.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace refit {

inline constexpr std::array<bool, 256> kWordBytes = [] {
  std::array<bool, 256> out{};
  for (int c = 0; c < 256; ++c) {
    out[static_cast<size_t>(c)] = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                  (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
  }
  return out;
}();
inline bool in_word(char c) { return kWordBytes[static_cast<unsigned char>(c)]; }

// Whether a word stands in a text, no longer word around it.
inline bool holds_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !in_word(text[at - 1])) && (end == text.size() || !in_word(text[end]))) {
      return true;
    }
  }
  return false;
}

// FNV-1a over the bytes of a word.
inline constexpr uint64_t kNoWord = 14695981039346656037U;
constexpr uint64_t with_byte(uint64_t hash, char c) {
  return (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
}
constexpr uint64_t hash_of(std::string_view word) {
  uint64_t hash = kNoWord;
  for (char c : word) hash = with_byte(hash, c);
  return hash;
}

// Calls visit(hash, begin, end) for each word of a text, in order.
template <typename Visit>
void visit_words(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    if (!in_word(text[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    uint64_t hash = kNoWord;
    for (; at < text.size() && in_word(text[at]); ++at) hash = with_byte(hash, text[at]);
    visit(hash, begin, at);
  }
}

}  // namespace refit
