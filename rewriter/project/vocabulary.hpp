// The words, calls and signs that a prefilter looks for in texts, found all in one pass. Whole
// words are compared, so that spaces, quotes and line breaks never decide. An entry is one of
//
//   softmax         a word; of a dotted one, `onnx.export`, all of it
//   .backward       a word behind a dot
//   mean()          a word that is called: a bracket opens behind it
//   cos(nothing)    a call whose brackets hold nothing
//   read cos*       a word or a glob, where it is not called
//   code softmax    a word, but where it is all of a string
//   cat(-1)         a call whose brackets hold all of these words and numbers, at any depth
//   *_emb, *norm*() a glob of words, also of called ones
//   @  **  //  ::   a sign; with a word or a number beside it, `:: 2`, `1 +`, where that stands
//   there given WORD      a name in the text is given something that holds such a word (see
//   given())
//
// Entry points: Vocabulary::add, Vocabulary::scan.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/text/expected.hpp"
#include "rewriter/text/words.hpp"

namespace llvm {
class GlobPattern;
}

namespace refit {

// Some entries of a vocabulary, by number.
class EntrySet {
 public:
  EntrySet() = default;
  explicit EntrySet(size_t size) : bits_((size + 63) / 64, 0) {}
  void set(uint32_t id) { bits_[id / 64] |= uint64_t{1} << (id % 64); }
  bool test(uint32_t id) const { return (bits_[id / 64] >> (id % 64) & 1) != 0; }
  bool intersects(const EntrySet& other) const {
    for (size_t i = 0; i < bits_.size(); ++i) {
      if ((bits_[i] & other.bits_[i]) != 0) return true;
    }
    return false;
  }
  // Whether that added any.
  bool add(const EntrySet& other) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < bits_.size(); ++i) {
      fresh |= other.bits_[i] & ~bits_[i];
      bits_[i] |= other.bits_[i];
    }
    return fresh != 0;
  }

 private:
  std::vector<uint64_t> bits_;
};

// Whether what stands at a place of a Python text is a comment's: behind a `#` of its line with no
// quote before it. Said of the first bytes of a line only; what stands far behind is code.
bool in_comment(std::string_view text, size_t at);

class Vocabulary {
 public:
  // The number of an entry, the same for equal ones; an error where it is none of the forms above.
  Expected<uint32_t> add(std::string_view entry);
  // The same for a word as it is.
  uint32_t add_word(std::string_view word);
  // What is wrong with an entry; "" where nothing is.
  static std::string wrong(std::string_view entry);

  size_t size() const { return entries_.size(); }
  EntrySet none() const { return EntrySet(entries_.size()); }
  // The `given` entries whose words are among these.
  EntrySet given(const EntrySet& words) const;

  // Calls found(id, at) with an entry and where its word or sign begins: once for each place, in no
  // order, and not where settled(id) says that no further place of the entry is asked for. `given`
  // entries are never found. `comments`: whether those of Python are passed over. visit(hash,
  // begin, end) is called for each word, in order.
  template <typename Settled, typename Found, typename Visit>
  void scan(std::string_view text, bool comments, Settled settled, Found found, Visit visit) const {
    const auto look = [&](uint32_t id, size_t begin, size_t end) {
      if (settled(id)) return;
      if (stands(id, text, begin, end) && !(comments && in_comment(text, begin))) found(id, begin);
    };
    for (size_t at = 0; at < text.size();) {
      const auto c = static_cast<unsigned char>(text[at]);
      if (kWordBytes[c]) {
        const size_t begin = at;
        uint64_t hash = kNoWord;
        uint32_t held = 0;  // the groups of infixes of which the word holds the first two bytes
        for (unsigned char last = 0; at < text.size() && in_word(text[at]); ++at) {
          hash = with_byte(hash, text[at]);
          const auto next = static_cast<unsigned char>(text[at]);
          held |= infix_pairs_[pair_of(last, next)];
          last = next;
        }
        visit(hash, begin, at);
        for (; held != 0; held &= held - 1) {
          for (const uint32_t id : infix_[std::countr_zero(held)]) look(id, begin, at);
        }
        if (const uint32_t first = first_of(hash); first != kNone) {
          for (uint32_t id = first; id != kNone; id = entries_[id].next) look(id, begin, at);
        }
        for (const uint32_t id : by_first_[c]) look(id, begin, at);
        for (const uint32_t id : by_last_[static_cast<unsigned char>(text[at - 1])]) {
          look(id, begin, at);
        }
        continue;
      }
      for (const uint32_t id : by_sign_[c]) look(id, at, at + 1);
      ++at;
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Entry {
    std::string word;                 // or glob, or sign
    std::vector<std::string> before;  // dotted names before the word, the nearest first
    bool dotted = false;              // a dot stands before it
    bool called = false;
    std::vector<std::string> inside;                // of the brackets
    std::shared_ptr<const llvm::GlobPattern> glob;  // of `word`, whose bytes it holds views of
    // Of a glob: what stands before its first star, behind its last one, and what it begins with
    // behind a star.
    std::string prefix, suffix, infix;
    bool sign = false;
    std::string left, right;  // beside a sign
    bool empty = false;       // the brackets hold nothing
    bool uncalled = false, unquoted = false;
    bool given = false;
    uint32_t of = 0;        // for `given`: the number of its word
    uint32_t next = kNone;  // the next entry of the same word
  };
  static Expected<Entry> read(std::string_view text);
  void place(uint32_t id);
  void grow();
  uint32_t first_of(uint64_t hash) const {
    if (slots_.empty()) return kNone;
    for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].first == kNone || slots_[at].hash == hash) return slots_[at].first;
    }
  }
  bool stands(uint32_t id, std::string_view text, size_t begin, size_t end) const;
  static bool stands_sign(const Entry& entry, std::string_view text, size_t at);
  static size_t pair_of(unsigned char a, unsigned char b) { return (a << 5 ^ b) % kPairs; }

  struct Slot {
    uint64_t hash = 0;
    uint32_t first = kNone;
  };
  std::deque<Entry> entries_;                             // which stay where they are
  std::map<std::string, uint32_t, std::less<>> numbers_;  // by text
  std::vector<Slot> slots_;                               // whole words, by hash; a power of two
  size_t words_ = 0;                                      // of slots_, in use
  // Globs by what they begin or end with; signs.
  std::array<std::vector<uint32_t>, 256> by_first_, by_last_, by_sign_;
  // Globs that begin and end with a star, in groups; of two bytes, the groups that may hold them.
  static constexpr size_t kPairs = 4096, kGroups = 32;
  std::array<std::vector<uint32_t>, kGroups> infix_;
  std::vector<uint32_t> infix_pairs_ = std::vector<uint32_t>(kPairs, 0);
  size_t infixes_ = 0;
  std::vector<uint32_t> given_;
};

}  // namespace refit
