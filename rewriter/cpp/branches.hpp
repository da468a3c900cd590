// The conditions of a text's preprocessor: which branches there are, and the text as it reads where
// other branches are compiled. Entry points: Branches, skipped, activated.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rewriter/language/frontend.hpp"

namespace refit::cpp {

// `#if A … #elif B … #else … #endif`.
struct Conditional {
  struct Branch {
    ByteRange directive;      // its line
    ByteRange body;           // up to the next directive's line
    std::string condition;    // under which it is compiled: `defined(A)`, `!(A) && B`
    bool never = false;       // `#if 0`: another way to write a comment
    bool active = false;      // it is what the preprocessor took
    std::vector<size_t> own;  // conditionals that stand right in it
  };
  std::vector<Branch> branches;
  ByteRange end;  // the line of `#endif`
};

class Branches {
 public:
  // `inactive`: what the preprocessor skipped of the text.
  Branches(std::string_view text, const std::vector<ByteRange>& inactive);

  // All that a condition decides about, but for `#if 0`.
  std::vector<ByteRange> bodies() const;
  // Whether branches of one conditional include different headers.
  bool choose_headers() const;
  // The bodies that are left out, those inside others included.
  std::vector<Skipped> skipped() const;
  // In how many readings each of them is compiled once, and the text of one of those: of the same
  // length, with blanks where anything else stands.
  size_t readings() const;
  std::string reading(size_t which) const;

 private:
  void read(const std::vector<ByteRange>& inactive);
  void skipped_in(const std::vector<size_t>& these, const std::string& outer, bool left_out,
                  std::vector<Skipped>& out) const;
  size_t readings_of(const Conditional::Branch& branch, bool left_out) const;
  size_t readings_of(size_t index, bool left_out) const;
  void choose(size_t index, bool left_out, size_t which, std::string& text) const;

  std::string_view text_;
  std::vector<Conditional> all_;
  std::vector<size_t> outer_;  // those that stand in none
};

}  // namespace refit::cpp
