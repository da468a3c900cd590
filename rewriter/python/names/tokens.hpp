// The tokens of a Python text as far as names need them, found without a parser. Comments, blanks
// and line ends inside brackets are passed over. Entry point: Tokens::next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rewriter/text/words.hpp"

namespace refit::python {

struct Token {
  enum class Kind : uint8_t {
    word,
    string,
    dot,
    comma,
    colon,
    assign,  // `=`, also that of `+=`
    open,    // a bracket
    close,
    other,
    line,  // the end of a statement
    end    // of the text
  };
  Kind kind = Kind::line;
  std::string_view text{};  // of a string: what stands between its quotes, "" where it is long
};

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}
  Token next();
  // The byte that stands next; '\n' at the end.
  char ahead() const;

 private:
  Token word();
  Token string();
  Token long_string(char quote);
  Token sign();

  std::string_view text_;
  size_t at_ = 0, depth_ = 0;
};

}  // namespace refit::python
