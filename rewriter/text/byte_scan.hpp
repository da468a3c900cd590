// Passing over a text sixteen bytes at a time: its words and the places of a few bytes. Where the
// processor has no SSE2 a byte at a time, with the same result.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "rewriter/text/words.hpp"

namespace refit {

namespace byte_scan {

#ifdef __SSE2__
inline __m128i load(const char* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}
inline uint64_t bits(__m128i equal) { return static_cast<uint16_t>(_mm_movemask_epi8(equal)); }

inline __m128i at_most(__m128i bytes, char most) {  // unsigned
  return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(most)), bytes);
}

inline uint64_t word_bits(const char* at) {
  const __m128i bytes = load(at);
  const __m128i letters =
      at_most(_mm_sub_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('a')), 25);
  const __m128i digits = at_most(_mm_sub_epi8(bytes, _mm_set1_epi8('0')), 9);
  const __m128i underscores = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('_'));
  // The highest bit of each byte counts: that of a byte beyond ASCII is set.
  return bits(_mm_or_si128(_mm_or_si128(letters, digits), _mm_or_si128(underscores, bytes)));
}
#endif

// One bit for each of up to 64 bytes for which `test` holds.
template <typename Test>
uint64_t plain_bits(std::string_view text, Test test) {
  uint64_t out = 0;
  for (size_t i = 0; i < text.size(); ++i) out |= uint64_t{test(text[i])} << i;
  return out;
}

// One bit for each of 64 bytes that is `byte`.
inline uint64_t equal_bits_64(const char* at, char byte) {
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi8(byte);
  uint64_t out = 0;
  for (size_t i = 0; i < 64; i += 16) out |= bits(_mm_cmpeq_epi8(load(at + i), wanted)) << i;
  return out;
#else
  return plain_bits({at, 64}, [byte](char c) { return c == byte; });
#endif
}

inline uint64_t word_bits_64(const char* at) {
#ifdef __SSE2__
  return word_bits(at) | word_bits(at + 16) << 16 | word_bits(at + 32) << 32 |
         word_bits(at + 48) << 48;
#else
  return plain_bits({at, 64}, in_word);
#endif
}

}  // namespace byte_scan

// Calls visit(begin, end) for each word of a text, in order.
template <typename Visit>
void each_word(std::string_view text, Visit visit) {
  size_t begin = 0;
  uint64_t inside = 0;  // 1 where a word goes on from the bytes before
  for (size_t base = 0; base < text.size(); base += 64) {
    const uint64_t word = text.size() - base >= 64
                              ? byte_scan::word_bits_64(text.data() + base)
                              : byte_scan::plain_bits(text.substr(base), in_word);
    const uint64_t behind = word << 1 | inside;
    uint64_t starts = word & ~behind, ends = behind & ~word;
    if (inside != 0 && ends != 0) {
      visit(begin, base + static_cast<size_t>(std::countr_zero(ends)));
      ends &= ends - 1;
    }
    inside = word >> 63;
    for (; ends != 0; ends &= ends - 1, starts &= starts - 1) {
      visit(base + static_cast<size_t>(std::countr_zero(starts)),
            base + static_cast<size_t>(std::countr_zero(ends)));
    }
    if (starts != 0) begin = base + static_cast<size_t>(std::countr_zero(starts));
  }
  // Behind the last byte of a text that is no multiple of 64 long stands nothing, which ends a
  // word.
  if (inside != 0) visit(begin, text.size());
}

// Calls visit(at) for each place of one of `bytes`, in order, until it gives false.
template <typename Visit>
void each_of_bytes(std::string_view text, std::string_view bytes, Visit visit) {
  for (size_t base = 0; base < text.size(); base += 64) {
    const std::string_view block = text.substr(base, 64);
    uint64_t found = 0;
    for (char byte : bytes) {
      found |= block.size() == 64
                   ? byte_scan::equal_bits_64(block.data(), byte)
                   : byte_scan::plain_bits(block, [byte](char c) { return c == byte; });
    }
    for (; found != 0; found &= found - 1) {
      if (!visit(base + static_cast<size_t>(std::countr_zero(found)))) return;
    }
  }
}

// The first place of one of four bytes at `at` or behind it; the text's size where there is none.
inline size_t find_of_bytes(std::string_view text, size_t at, char a, char b, char c, char d) {
#ifdef __SSE2__
  const __m128i wanted[] = {_mm_set1_epi8(a), _mm_set1_epi8(b), _mm_set1_epi8(c), _mm_set1_epi8(d)};
  for (; at + 16 <= text.size(); at += 16) {
    const __m128i bytes = byte_scan::load(text.data() + at);
    const __m128i found = _mm_or_si128(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, wanted[0]), _mm_cmpeq_epi8(bytes, wanted[1])),
        _mm_or_si128(_mm_cmpeq_epi8(bytes, wanted[2]), _mm_cmpeq_epi8(bytes, wanted[3])));
    const uint64_t bits = byte_scan::bits(found);
    if (bits != 0) return at + static_cast<size_t>(std::countr_zero(bits));
  }
#endif
  for (; at < text.size(); ++at) {
    const char byte = text[at];
    if (byte == a || byte == b || byte == c || byte == d) return at;
  }
  return text.size();
}

inline bool contains_text(std::string_view text, std::string_view wanted) {
  return text.find(wanted) != std::string_view::npos;
}

}  // namespace refit
