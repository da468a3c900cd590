// Passing over a text sixteen bytes at a time: its words, the places of a few bytes, a text in it.
// Where the processor has no SSE2 a byte at a time, with the same result.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace refit {

// A byte of a word of code: a letter, a digit, `_` or a byte beyond ASCII.
inline bool word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

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
  return plain_bits({at, 64}, word_byte);
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
                              : byte_scan::plain_bits(text.substr(base), word_byte);
    uint64_t edges = word ^ (word << 1 | inside);
    inside = word >> 63;
    bool opens = (word & edges & (~edges + 1)) != 0;  // the first edge begins a word
    for (; edges != 0; edges &= edges - 1) {
      const size_t at = base + static_cast<size_t>(std::countr_zero(edges));
      if (opens) {
        begin = at;
      } else {
        visit(begin, at);
      }
      opens = !opens;
    }
  }
  // Behind the last byte of a text that is no multiple of 64 long stands nothing, which ends a
  // word.
  if (inside != 0) visit(begin, text.size());
}

// The first eight bytes of a word, zeroes behind a shorter one; `text` goes on at least to `end`.
inline uint64_t first_bytes(std::string_view text, size_t begin, size_t end) {
  const size_t size = end - begin;
  uint64_t out = 0;
  if (begin + 8 > text.size()) {
    std::memcpy(&out, text.data() + begin, std::min<size_t>(size, 8));
    return out;
  }
  std::memcpy(&out, text.data() + begin, 8);
  if constexpr (std::endian::native == std::endian::little) {
    return size >= 8 ? out : out & ((uint64_t{1} << (8 * size)) - 1);
  }
  return size >= 8 ? out : out & ~((uint64_t{1} << (64 - 8 * size)) - 1);
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

// Calls visit(begin, at) for each word that one of `bytes` follows directly, in order; it stands in
// [begin, at).
template <typename Visit>
void each_word_before(std::string_view text, std::string_view bytes, Visit visit) {
  size_t outside = 0;   // behind the last byte before this block that is no part of a word
  uint64_t inside = 0;  // 1 where a word goes on from the bytes before
  for (size_t base = 0; base < text.size(); base += 64) {
    const std::string_view block = text.substr(base, 64);
    uint64_t word = 0, found = 0;
    if (block.size() == 64) {
      word = byte_scan::word_bits_64(block.data());
      for (char byte : bytes) found |= byte_scan::equal_bits_64(block.data(), byte);
    } else {
      word = byte_scan::plain_bits(block, word_byte);
      found = byte_scan::plain_bits(
          block, [&](char c) { return bytes.find(c) != std::string_view::npos; });
    }
    for (found &= word << 1 | inside; found != 0; found &= found - 1) {
      const auto at = static_cast<size_t>(std::countr_zero(found));
      const uint64_t before = at == 0 ? 0 : ~word << (64 - at);  // what is no word, up to there
      const size_t begin =
          before == 0 ? outside : base + at - static_cast<size_t>(std::countl_zero(before));
      visit(begin, base + at);
    }
    inside = word >> 63;
    if (~word != 0) outside = base + 64 - static_cast<size_t>(std::countl_zero(~word));
  }
}

// Where a text, which is not empty, stands in another one from `at` on; npos where it does not.
inline size_t find_text(std::string_view text, std::string_view wanted, size_t at = 0) {
#ifdef __SSE2__
  // Where its first and its last byte stand as far from one another as they should.
  const __m128i first = _mm_set1_epi8(wanted.front()), last = _mm_set1_epi8(wanted.back());
  const size_t apart = wanted.size() - 1;
  for (; at + apart + 16 <= text.size(); at += 16) {
    uint64_t both = byte_scan::bits(
        _mm_and_si128(_mm_cmpeq_epi8(byte_scan::load(text.data() + at), first),
                      _mm_cmpeq_epi8(byte_scan::load(text.data() + at + apart), last)));
    for (; both != 0; both &= both - 1) {
      const char* here = text.data() + at + std::countr_zero(both);
      if (std::memcmp(here, wanted.data(), wanted.size()) == 0) {
        return static_cast<size_t>(here - text.data());
      }
    }
  }
#endif
  return text.find(wanted, at);
}

inline bool contains_text(std::string_view text, std::string_view wanted) {
  return find_text(text, wanted) != std::string_view::npos;
}

}  // namespace refit
