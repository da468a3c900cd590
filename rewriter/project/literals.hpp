// A set of literals and which of them stand in a text, found in one pass over its words. A literal
// may ask to be a whole word of code. Entry point: Literals::scan.
#pragma once

#include <bit>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rewriter/project/word_set.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit {

// One bit a literal.
class LiteralBits {
 public:
  explicit LiteralBits(size_t literals = 0) : words_((literals + 63) / 64, 0) {}
  bool test(uint32_t id) const { return (words_[id / 64] >> (id % 64) & 1) != 0; }
  void set(uint32_t id) { words_[id / 64] |= uint64_t{1} << (id % 64); }
  LiteralBits& operator|=(const LiteralBits& other);
  bool intersects(const LiteralBits& other) const;
  template <typename Visit>
  void each(Visit visit) const {  // visit(id) for those that are set, ascending
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) {
        visit(static_cast<uint32_t>(w * 64 + static_cast<size_t>(std::countr_zero(rest))));
      }
    }
  }
  friend bool operator==(const LiteralBits&, const LiteralBits&) = default;

 private:
  friend class AnyLiteral;
  std::vector<uint64_t> words_;
};

// A few literals of which one is asked for.
class AnyLiteral {
 public:
  explicit AnyLiteral(const LiteralBits& of);
  bool in(const LiteralBits& seen) const {
    for (const Part& part : parts_) {
      if ((seen.words_[part.word] & part.bits) != 0) return true;
    }
    return false;
  }
  friend auto operator<=>(const AnyLiteral&, const AnyLiteral&) = default;

 private:
  struct Part {
    size_t word;
    uint64_t bits;
    friend auto operator<=>(const Part&, const Part&) = default;
  };
  std::vector<Part> parts_;
};

// A text in which literals are looked for, with the answer to what was asked of all of it last. It
// belongs to one thread.
class ScannedText {
 public:
  ScannedText(std::string_view text) : text_(text) {}
  operator std::string_view() const { return text_; }
  // Whether another text stands anywhere in it; that one outlives this.
  bool holds(std::string_view wanted) const {
    if (asked_ != wanted) {
      asked_ = wanted;
      held_ = contains_text(text_, wanted);
    }
    return held_;
  }
  // Kept for whoever works them out (frontend/python/telling.cpp), of the word that was asked about
  // last: many literals are one word with different conditions.
  struct Word {
    size_t at = SIZE_MAX, size = 0;
    bool code = false;           // it can be a name of code
    std::optional<bool> told{};  // whether what is passed can be told, once asked, and that
    std::vector<std::pair<std::string_view, std::string_view>> arguments{};  // keyword, value
  };
  Word& word() const { return word_; }

 private:
  std::string_view text_;
  mutable Word word_;
  mutable std::string_view asked_;
  mutable bool held_ = false;
};

class Literals {
 public:
  // Where a literal counts. A word is what each_word finds (byte_scan.hpp).
  enum class Stands : uint8_t {
    anywhere,
    alone,   // as a word, and not as all that is between two quotes or backticks: text about code
    begins,  // at the beginning of a word
    ends,    // at the end of a word
  };
  // The number of a literal, the same for equal ones. The empty literal is not allowed. kNegation
  // stands where a minus may be the sign of something other than a number.
  uint32_t add(std::string_view literal, Stands stands) {
    return add(literal, stands, {}, nullptr);
  }
  uint32_t add(std::string_view literal, bool word) {
    return add(literal, word ? Stands::alone : Stands::anywhere);
  }
  // One that counts only where `check` agrees, of the text and the place in it; `condition` tells
  // it from others of the same text.
  using Check = std::function<bool(const ScannedText& text, size_t at)>;
  uint32_t add(std::string_view literal, Stands stands, std::string_view condition, Check check);
  static constexpr std::string_view kNegation = "-x";
  // One that is no literal of the scan but noted by it, with all of its places. The result is its
  // place in Places.
  struct Places {
    std::vector<std::vector<size_t>> of;
    // Words that begin with a capital, and a quote or a colon follows: where each begins and ends.
    std::vector<std::pair<size_t, size_t>> titles;
  };
  uint32_t add_noted(std::string_view literal, Stands stands);
  // The number of something that no scan finds; whoever sees it by other means sets its bit.
  uint32_t add_unscanned(std::string_view name);
  // The number of a literal that no scan looks for: `contains` says whether it stands anywhere.
  uint32_t add_later(std::string_view literal);
  // One that nobody asks of parts of a text (bare_places, add_seen).
  void leave_out_of_parts(uint32_t id) { literals_[id].of_parts = false; }
  // Call once, after the last add and before the first scan.
  void build();

  size_t size() const { return literals_.size(); }
  LiteralBits none() const { return LiteralBits(literals_.size()); }
  // Const and without hidden state: any number of threads may scan at once.
  // `words`, if given, becomes the set of the text's words, `noted` the places of what is noted,
  // ascending.
  LiteralBits scan(std::string_view text, WordSet* words = nullptr, Places* noted = nullptr) const;
  // Whether one that is looked for later stands anywhere in a text where `counts(at)`.
  template <typename Counts>
  bool contains(std::string_view text, uint32_t later, Counts counts) const {
    const std::string& wanted = literals_[later].text;
    size_t at = find_text(text, wanted);
    while (at != std::string_view::npos && !counts(at)) at = find_text(text, wanted, at + 1);
    return at != std::string_view::npos;
  }

  // For what asks of many parts of one text: their literals are looked for once, conditions where
  // it matters.
  struct Place {
    uint32_t at = 0, id = 0;
  };
  // Adds where literals stand in the part [begin, end) of a text, whatever their conditions say,
  // ascending; those of `untold` aside. `visit` is called for each word of the part that `words`
  // may hold, as each_word does.
  using VisitWord = std::function<void(size_t begin, size_t end)>;
  void add_bare_places(std::string_view text, uint32_t begin, uint32_t end,
                       std::vector<Place>& places, const WordSet& words,
                       const VisitWord& visit) const;
  // The literals that those places do not tell of: signs of one byte.
  LiteralBits untold() const;
  // Adds what `scan` finds in the part [begin, end) of a text; `places` are the bare ones of it or
  // of more.
  void add_seen(std::string_view text, uint32_t begin, uint32_t end, std::span<const Place> places,
                LiteralBits& seen) const;

 private:
  struct Literal {
    std::string text;
    Stands stands = Stands::anywhere;
    bool scanned = true, negation = false;
    Check check = nullptr;
    uint32_t noted = kNotNoted;  // its place among those
    bool of_parts = true;
  };
  static constexpr uint32_t kNotNoted = UINT32_MAX;
  struct Tables;
  static bool stands_at(const ScannedText& text, size_t at, const Literal& literal);
  static bool stands_bare(std::string_view text, size_t at, const Literal& literal);
  static bool negates(std::string_view text, size_t at);
  uint32_t number(std::string_view literal, std::string_view condition, Stands stands,
                  Literal made);
  // Those without a word that are one text, with different conditions.
  struct Sign {
    std::string text;
    std::vector<uint32_t> ids;
  };
  // Calls look(id, at) where a literal may stand, of those without a word where it is one of
  // `signs`; what it gives says whether no more of that literal matters. `words` is called for each
  // word and its hash.
  template <typename Words, typename Look>
  void each(const Tables& tables, std::string_view text, const std::vector<Sign>& signs,
            Words words, Look look) const;
  template <typename Look>
  static void each_sign(const std::vector<Sign>& signs, std::string_view text, Look look);

  std::vector<Literal> literals_;
  uint32_t noted_ = 0;  // how many of them
  std::map<std::tuple<std::string, std::string, Stands>, uint32_t> numbers_;
  std::shared_ptr<const Tables> tables_,
      parts_;  // what build makes: of all, of what parts are asked
};

}  // namespace refit
