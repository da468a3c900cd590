// Brackets, strings and comments as Python's own tokenizer finds them: see lines.hpp.
#include "rewriter/python/syntax/lines.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr int kFieldDepth = 200;  // f-strings inside f-strings; Python has 150

// Bytes at which the scan of a line has something to do.
constexpr std::string_view kSpecial = "\n\\#'\"()[]{}";

// One bit for each of up to 64 bytes that is special.
uint64_t special_bits(std::string_view block) {
#ifdef __SSE2__
  if (block.size() == 64) {
    uint64_t out = 0;
    for (size_t i = 0; i < 64; i += 16) {
      const __m128i bytes = byte_scan::load(block.data() + i);
      auto among = [bytes](char first, char last) {
        return byte_scan::at_most(_mm_sub_epi8(bytes, _mm_set1_epi8(first)),
                                  static_cast<char>(last - first));
      };
      auto is = [bytes](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
      const __m128i quotes = _mm_or_si128(among('"', '#'), among('\'', ')'));
      const __m128i brackets = _mm_or_si128(among('[', ']'), _mm_or_si128(is('{'), is('}')));
      out |= byte_scan::bits(_mm_or_si128(_mm_or_si128(quotes, brackets), is('\n'))) << i;
    }
    return out;
  }
#endif
  return byte_scan::plain_bits(block,
                               [](char c) { return kSpecial.find(c) != std::string_view::npos; });
}

}  // namespace

bool in_comment(std::string_view text, size_t at) {
  constexpr size_t kFar = 1024;  // a comment is shorter; of a line of data each word is asked about
  const size_t far = at > kFar ? at - kFar : 0;
  bool hash = false;
#ifdef __SSE2__
  for (; at >= far + 16; at -= 16) {
    const __m128i bytes = byte_scan::load(text.data() + at - 16);
    auto is = [bytes](char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    const __m128i quotes = _mm_or_si128(is('"'), is('\''));
    const __m128i line_ends = _mm_or_si128(is('\n'), is('\r'));
    const uint64_t hashes = byte_scan::bits(is('#')),
                   ends = byte_scan::bits(_mm_or_si128(quotes, line_ends));
    if (ends != 0) {
      const int last = 63 - std::countl_zero(ends);
      if ((byte_scan::bits(quotes) >> last & 1) != 0) return false;
      return hash || hashes >> last != 0;
    }
    hash = hash || hashes != 0;
  }
#endif
  while (at > 0 && text[at - 1] != '\n' && text[at - 1] != '\r') {
    if (at <= far && far > 0) return false;
    char c = text[--at];
    if (c == '"' || c == '\'') return false;
    hash = hash || c == '#';
  }
  return hash;
}

size_t Lines::next_line(size_t at) const {
  size_t end = text_.find('\n', at);
  return end == std::string_view::npos ? text_.size() : end + 1;
}

size_t Lines::string_end(size_t at, int depth) const {
  char quote = text_[at];
  bool formatted = false;
  for (size_t p = at, n = 0; p > 0 && n < 3; --p, ++n) {
    char before = text_[p - 1];
    if (before == 'f' || before == 'F' || before == 't' || before == 'T') {
      formatted = true;
    } else if (!(before == 'r' || before == 'R' || before == 'b' || before == 'B' ||
                 before == 'u' || before == 'U')) {
      if (name_char(before)) formatted = false;  // `if"…"`: a word, no prefix
      break;
    }
  }
  bool triple = text_.size() - at >= 3 && text_[at + 1] == quote && text_[at + 2] == quote;
  at += triple ? 3 : 1;
  const char line_end = triple ? quote : '\n', field = formatted ? '{' : quote;
  while ((at = find_of_bytes(text_, at, quote, '\\', line_end, field)) < text_.size()) {
    char c = text_[at];
    if (c == '\\') {
      at += 2;
      if (at <= text_.size() && text_[at - 1] == '\r' && at < text_.size() && text_[at] == '\n')
        ++at;
    } else if (c == quote) {
      if (!triple) return at + 1;
      if (text_.size() - at >= 3 && text_[at + 1] == quote && text_[at + 2] == quote) {
        return at + 3;
      }
      ++at;
    } else if (c == '\n') {
      return std::string_view::npos;
    } else if (at + 1 < text_.size() && text_[at + 1] == '{') {
      at += 2;
    } else {
      at = field_end(at + 1, quote, triple, depth + 1);
      if (at == std::string_view::npos) return at;
    }
  }
  return std::string_view::npos;
}

size_t Lines::field_end(size_t at, char quote, bool triple, int depth) const {
  if (depth > kFieldDepth) return std::string_view::npos;
  int brackets = 0;
  bool specifier = false;
  while (at < text_.size()) {
    char c = text_[at];
    if (specifier) {
      if (c == '}') return at + 1;
      if (c == '{') {
        at = field_end(at + 1, quote, triple, depth + 1);
        if (at == std::string_view::npos) return at;
        continue;
      }
      if ((c == quote || c == '\n') && !triple) return std::string_view::npos;
      ++at;
    } else if (c == '\'' || c == '"') {
      at = string_end(at, depth);
      if (at == std::string_view::npos) return at;
    } else if (c == '#') {
      at = next_line(at);
    } else {
      if (c == '(' || c == '[' || c == '{') ++brackets;
      if (c == '}' && brackets == 0) return at + 1;
      if (c == ')' || c == ']' || c == '}') --brackets;
      if (brackets < 0) return std::string_view::npos;
      if (c == ':' && brackets == 0) specifier = true;
      ++at;
    }
  }
  return std::string_view::npos;
}

[[gnu::noinline]] void Lines::look_at(size_t block) const {
  blocks_[block % kBlocks] = {static_cast<uint32_t>(block + 1),
                              special_bits(text_.substr(block * 64, 64))};
}

inline uint64_t Lines::specials(size_t block) const {
  const Block& known = blocks_[block % kBlocks];
  if (known.number != block + 1) look_at(block);
  return known.special;
}

inline size_t Lines::next_special(size_t at) const {
  while (at < text_.size()) {
    const size_t block = at / 64;
    const uint64_t left = specials(block) >> at % 64;
    if (left != 0) return at + static_cast<size_t>(std::countr_zero(left));
    at = (block + 1) * 64;
  }
  return text_.size();
}

size_t Lines::logical_line(size_t at, size_t* code_end) const {
  int brackets = 0;
  while (true) {  // to a place that is not behind a special byte
    size_t block = at / 64;
    uint64_t left = at < text_.size() ? specials(block) & ~uint64_t{0} << at % 64 : 0;
    for (bool next = true; next;) {
      while (left == 0) {
        if (++block * 64 >= text_.size()) {
          *code_end = text_.size();
          return brackets == 0 ? text_.size() : std::string_view::npos;
        }
        left = specials(block);
      }
      at = block * 64 + static_cast<size_t>(std::countr_zero(left));
      left &= left - 1;
      switch (text_[at]) {
        case '\n':
          if (brackets > 0) break;
          *code_end = at;
          return at + 1;
        case '#': {
          size_t end = text_.find('\n', at);
          if (brackets == 0) {
            *code_end = at;
            return end == std::string_view::npos ? text_.size() : end + 1;
          }
          if (end == std::string_view::npos) return end;
          at = end + 1;
          next = false;
          break;
        }
        case '\\':
          at += text_.substr(at + 1).starts_with("\r\n") ? 3 : 2;
          at = std::min(at, text_.size());
          next = false;
          break;
        case '\'':
        case '"':
          at = string_end(at, 0);
          if (at == std::string_view::npos) return at;
          next = false;
          break;
        case '(':
        case '[':
        case '{':
          ++brackets;
          break;
        default:
          if (--brackets < 0) return std::string_view::npos;
      }
    }
  }
}

size_t Lines::find_outside(size_t at, size_t end, char wanted) const {
  auto next_wanted = [&](size_t from, size_t to) {
    const void* found = from < to ? std::memchr(text_.data() + from, wanted, to - from) : nullptr;
    return found == nullptr ? std::string_view::npos
                            : static_cast<size_t>(static_cast<const char*>(found) - text_.data());
  };
  if (next_wanted(at, end) == std::string_view::npos) return std::string_view::npos;  // mostly
  int brackets = 0;
  while (at < end) {
    const size_t special = std::min(next_special(at), end);
    if (brackets == 0) {
      const size_t found = next_wanted(at, special);
      if (found != std::string_view::npos) return found;
    }
    if (special == end) break;
    at = special;
    const char c = text_[at];
    if (c == wanted && brackets == 0) return at;
    if (c == '\'' || c == '"') {
      at = std::min(string_end(at, 0), end);
      continue;
    }
    if (c == '#') {
      at = std::min(next_line(at), end);
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++brackets;
    if (c == ')' || c == ']' || c == '}') --brackets;
    ++at;
  }
  return std::string_view::npos;
}

std::vector<std::string_view> Lines::parts(std::string_view text) const {
  std::vector<std::string_view> out;
  auto at = static_cast<size_t>(text.data() - text_.data());
  size_t end = at + text.size();
  while (at <= end) {
    size_t stop = std::min(find_outside(at, end, ','), end);
    std::string_view part = trimmed(text_.substr(at, stop - at));
    // A comment may stand before a name in a list over several lines.
    while (part.starts_with("#")) {
      size_t line_end = part.find('\n');
      part =
          line_end == std::string_view::npos ? std::string_view{} : trimmed(part.substr(line_end));
    }
    if (!part.empty()) out.push_back(part);
    at = stop + 1;
  }
  return out;
}

}  // namespace refit::python
