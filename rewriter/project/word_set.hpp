// Which words a file holds, in a few bits of its own, so that whoever looks for a word later opens
// only files that may hold it. A word that is there is always found; one that is not may be, too.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rewriter/text/byte_scan.hpp"

namespace refit {

class WordSet {
 public:
  WordSet() = default;
  // Room for the words of a text of that many bytes.
  explicit WordSet(size_t bytes)
      : bits_(std::bit_ceil(bytes / 512 + 1), 0), last_(bits_.size() * 64 - 1) {}
  // By a hash of the first bytes of the word (first_bytes, word_hash) and its length.
  void add(uint64_t hash, size_t size) {
    const uint64_t at = place(hash, size);
    bits_[at / 64] |= uint64_t{1} << (at % 64);
  }
  bool may_hold(uint64_t hash, size_t size) const {
    const uint64_t at = place(hash, size);
    return (bits_[at / 64] >> (at % 64) & 1) != 0;
  }
  // Of a word, or a text of whole words; false where there is no room at all.
  bool may_hold(std::string_view text) const {
    bool all = !bits_.empty();
    each_word(text, [&](size_t begin, size_t end) {
      all = all && may_hold(word_hash(first_bytes(text, begin, end)), end - begin);
    });
    return all;
  }

 private:
  uint64_t place(uint64_t hash, size_t size) const { return (hash >> 40 ^ size * 0x9e5u) & last_; }
  std::vector<uint64_t> bits_;
  uint64_t last_ = 0;  // the last place
};

}  // namespace refit
