// A set of literals and which of them stand in a text, found in one pass. A literal may ask to be a
// whole word of code. Entry point: Literals::scan.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

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
  std::vector<uint64_t> words_;
};

class Literals {
 public:
  // The number of a literal, the same for equal ones. A word stands where no letter, digit, `_` or
  // byte beyond ASCII adjoins it, and not as all that is between two quotes or backticks: there it
  // is text about code. The empty literal is not allowed. kNegation stands where a minus may be the
  // sign of something other than a number.
  uint32_t add(std::string_view literal, bool word) { return add(literal, word, {}, nullptr); }
  // One that counts only where `check` agrees, of the text and the place in it; `condition` tells
  // it from others of the same text.
  using Check = std::function<bool(std::string_view text, size_t at)>;
  uint32_t add(std::string_view literal, bool word, std::string_view condition, Check check);
  static constexpr std::string_view kNegation = "-x";
  // The number of something that no scan finds; whoever sees it by other means sets its bit.
  uint32_t add_unscanned(std::string_view name);
  // Call once, after the last add and before the first scan.
  void build();

  size_t size() const { return literals_.size(); }
  LiteralBits none() const { return LiteralBits(literals_.size()); }
  // Const and without hidden state: any number of threads may scan at once.
  LiteralBits scan(std::string_view text) const;
  // Every place in a text where each literal of two bytes or more stands, by number, ascending.
  std::vector<std::vector<size_t>> places(std::string_view text) const;

  // For what asks of many parts of one text: their literals are looked for once, conditions where
  // it matters.
  struct Place {
    uint32_t at = 0, id = 0;
  };
  // Where literals of two bytes or more stand in the part [begin, end) of a text, whatever their
  // conditions say, ascending.
  std::vector<Place> bare_places(std::string_view text, uint32_t begin, uint32_t end) const;
  // The literals that those places do not tell of.
  LiteralBits untold() const;
  // Adds what `scan` finds in the part [begin, end) of a text; `places` are the bare ones of it or
  // of more.
  void add_seen(std::string_view text, uint32_t begin, uint32_t end,
                const std::vector<Place>& places, LiteralBits& seen) const;

 private:
  struct Literal {
    std::string text;
    bool word = false;
    bool negation = false;
    Check check = nullptr;
  };
  static bool stands_at(std::string_view text, size_t at, const Literal& literal);
  static bool stands_bare(std::string_view text, size_t at, const Literal& literal);
  void scan_single(std::string_view text, LiteralBits& seen, size_t& missing) const;
  static bool stands_alone(std::string_view text, size_t at, size_t size);
  static bool negates(std::string_view text, size_t at);
  void check(std::string_view text, size_t at, uint32_t bucket, LiteralBits& seen,
             size_t& missing) const;
  // Calls visit(at, bucket) where literals may begin, until it gives false.
  template <typename Visit>
  void each_bucket(std::string_view text, Visit visit) const;

  std::vector<Literal> literals_;
  std::map<std::tuple<std::string, std::string, bool>, uint32_t> numbers_;
  size_t unscanned_ = 0;
  std::vector<uint32_t> single_;  // those of one byte, which are looked for one by one
  // Literals by a hash of their first three bytes; one of two stands under every third.
  std::vector<uint64_t> filter_;
  std::vector<uint32_t> bucket_begin_, bucket_;
};

}  // namespace refit
