// Which words a text holds, in a few bits of its own, so that whoever looks for a word later opens
// only texts that may hold it. A word that is there is always found; one that is not may be, too.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rewriter/text/words.hpp"

namespace refit {

class WordSet {
 public:
  WordSet() = default;
  // Room for the words of a text of that many bytes.
  explicit WordSet(size_t bytes)
      : bits_(std::bit_ceil(bytes / 512 + 1), 0), last_(bits_.size() * 64 - 1) {}
  // By the word's hash_of.
  void add(uint64_t hash) {
    const uint64_t at = place(hash);
    bits_[at / 64] |= uint64_t{1} << (at % 64);
  }
  // Of a word, or a text of whole words; false where there is no room at all.
  bool may_hold(std::string_view text) const {
    bool all = !bits_.empty();
    visit_words(text, [&](uint64_t hash, size_t, size_t) {
      const uint64_t at = place(hash);
      all = all && (bits_[at / 64] >> (at % 64) & 1) != 0;
    });
    return all;
  }

 private:
  uint64_t place(uint64_t hash) const { return (hash >> 32 ^ hash) & last_; }
  std::vector<uint64_t> bits_;
  uint64_t last_ = 0;  // the last place
};

}  // namespace refit
