// See byte_scan.hpp.
#include "rewriter/text/byte_scan.hpp"

namespace refit::byte_scan {

namespace {

#ifdef __SSE2__
// Where in sixteen places of a text another one of `apart` + 1 bytes may begin: its first and its
// last byte stand as far from one another as they should.
__m128i ends_of(const char* at, size_t apart, __m128i first, __m128i last) {
  return _mm_and_si128(_mm_cmpeq_epi8(load(at), first), _mm_cmpeq_epi8(load(at + apart), last));
}
#endif

// The first of these places at which it stands; npos where it does at none.
size_t stands_at(const char* text, std::string_view wanted, size_t place, uint64_t places) {
  for (; places != 0; places &= places - 1) {
    const size_t here = place + static_cast<size_t>(std::countr_zero(places));
    if (std::memcmp(text + here, wanted.data(), wanted.size()) == 0) return here;
  }
  return std::string_view::npos;
}

}  // namespace

size_t find_text_16(std::string_view text, std::string_view wanted, size_t at) {
#ifdef __SSE2__
  const __m128i first = _mm_set1_epi8(wanted.front()), last = _mm_set1_epi8(wanted.back());
  const size_t apart = wanted.size() - 1;
  auto both = [&](size_t place) { return ends_of(text.data() + place, apart, first, last); };
  for (; at + apart + 64 <= text.size(); at += 64) {
    const __m128i matches[] = {both(at), both(at + 16), both(at + 32), both(at + 48)};
    const __m128i any =
        _mm_or_si128(_mm_or_si128(matches[0], matches[1]), _mm_or_si128(matches[2], matches[3]));
    if (bits(any) == 0) continue;
    for (size_t i = 0; i < 4; ++i) {
      const size_t here = stands_at(text.data(), wanted, at + 16 * i, bits(matches[i]));
      if (here != std::string_view::npos) return here;
    }
  }
  for (; at + apart + 16 <= text.size(); at += 16) {
    const size_t here = stands_at(text.data(), wanted, at, bits(both(at)));
    if (here != std::string_view::npos) return here;
  }
#endif
  return text.find(wanted, at);
}

#ifdef REFIT_AVX2
const bool avx2 = __builtin_cpu_supports("avx2") != 0;

namespace {

REFIT_AVX2 inline __m256i ends_of_32(const char* at, size_t apart, __m256i first, __m256i last) {
  const auto from = [](const char* p) { return reinterpret_cast<const __m256i*>(p); };
  return _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_loadu_si256(from(at)), first),
                          _mm256_cmpeq_epi8(_mm256_loadu_si256(from(at + apart)), last));
}

REFIT_AVX2 inline uint64_t bits_32(__m256i equal) {
  return static_cast<uint32_t>(_mm256_movemask_epi8(equal));
}

}  // namespace

REFIT_AVX2 size_t find_text_32(std::string_view text, std::string_view wanted, size_t at) {
  const size_t apart = wanted.size() - 1;
  if (at + apart + 32 > text.size()) return find_text_16(text, wanted, at);
  const __m256i first = _mm256_set1_epi8(wanted.front()), last = _mm256_set1_epi8(wanted.back());
  const char* const data = text.data();
  for (; at + apart + 128 <= text.size(); at += 128) {
    const __m256i matches[] = {ends_of_32(data + at, apart, first, last),
                               ends_of_32(data + at + 32, apart, first, last),
                               ends_of_32(data + at + 64, apart, first, last),
                               ends_of_32(data + at + 96, apart, first, last)};
    const __m256i any = _mm256_or_si256(_mm256_or_si256(matches[0], matches[1]),
                                        _mm256_or_si256(matches[2], matches[3]));
    if (_mm256_testz_si256(any, any) != 0) continue;
    for (size_t i = 0; i < 4; ++i) {
      const size_t here = stands_at(data, wanted, at + 32 * i, bits_32(matches[i]));
      if (here != std::string_view::npos) return here;
    }
  }
  for (; at + apart + 32 <= text.size(); at += 32) {
    const size_t here =
        stands_at(data, wanted, at, bits_32(ends_of_32(data + at, apart, first, last)));
    if (here != std::string_view::npos) return here;
  }
  if (at + apart >= text.size()) return std::string_view::npos;
  // The places that are left, fewer than 32, once more with some of those before.
  const size_t place = text.size() - apart - 32;
  const uint64_t places = bits_32(ends_of_32(data + place, apart, first, last));
  return stands_at(data, wanted, place, places >> (at - place) << (at - place));
}
#endif

}  // namespace refit::byte_scan
