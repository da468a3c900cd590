// See tokens.hpp.
#include "rewriter/python/names/tokens.hpp"

namespace refit::python {

Token Tokens::next() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (in_word(c)) return word();
    switch (c) {
      case ' ':
      case '\t':
      case '\f':
        ++at_;
        break;
      case '#':
        while (at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r') ++at_;
        break;
      case '\\':  // joins two lines
        at_ += text_.substr(at_ + 1).starts_with("\r\n") ? 3 : 2;
        break;
      case '\r':
      case '\n':
      case ';':
        ++at_;
        if (depth_ == 0) return {Token::Kind::line};
        break;
      case '"':
      case '\'':
        return string();
      default:
        return sign();
    }
  }
  return {Token::Kind::end};
}

char Tokens::ahead() const {
  const size_t at = text_.find_first_not_of(" \t\f", at_);
  return at < text_.size() ? text_[at] : '\n';
}

Token Tokens::word() {
  const size_t begin = at_;
  while (at_ < text_.size() && in_word(text_[at_])) ++at_;
  const std::string_view word = text_.substr(begin, at_ - begin);
  const bool quote = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
  const bool prefix =
      quote && word.size() <= 2 && word.find_first_not_of("rRbBuUfFtT") == std::string_view::npos;
  return prefix ? string() : Token{Token::Kind::word, word};
}

// A string that is cut off ends with its line. That heals what a quote inside a field of an
// f-string does to the rest of the line.
Token Tokens::string() {
  const char quote = text_[at_];
  if (at_ + 2 < text_.size() && text_[at_ + 1] == quote && text_[at_ + 2] == quote) {
    return long_string(quote);
  }
  const size_t begin = ++at_;
  for (; at_ < text_.size() && text_[at_] != '\n' && text_[at_] != '\r'; ++at_) {
    if (text_[at_] == quote) {
      ++at_;
      return {Token::Kind::string, text_.substr(begin, at_ - 1 - begin)};
    }
    if (text_[at_] == '\\') at_ += text_.substr(at_ + 1).starts_with("\r\n") ? 2 : 1;
  }
  return {Token::Kind::string};
}

Token Tokens::long_string(char quote) {
  for (at_ += 3; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\\') {
      ++at_;
    } else if (text_[at_] == quote && at_ + 2 < text_.size() && text_[at_ + 1] == quote &&
               text_[at_ + 2] == quote) {
      at_ += 3;
      break;
    }
  }
  return {Token::Kind::string};
}

Token Tokens::sign() {
  const char c = text_[at_];
  const std::string_view text = text_.substr(at_++, 1);
  const char next = at_ < text_.size() ? text_[at_] : '\n';
  switch (c) {
    case '.':
      return {Token::Kind::dot, text};
    case ',':
      return {Token::Kind::comma, text};
    case '(':
    case '[':
    case '{':
      ++depth_;
      return {Token::Kind::open, text};
    case ')':
    case ']':
    case '}':
      depth_ -= depth_ > 0 ? 1 : 0;
      return {Token::Kind::close, text};
    case '=':
    case '!':
    case ':':
    case '<':
    case '>':
      break;
    default:
      return {Token::Kind::other, text};
  }
  if (next == '=') {  // a comparison, or `:=`, which gives no attribute anything
    ++at_;
    return {Token::Kind::other, text};
  }
  if (c == '=') return {Token::Kind::assign, text};
  if (c == ':') return {Token::Kind::colon, text};
  if (c == next) ++at_;  // `<<`, before whose `=` there may be a target
  return {Token::Kind::other, text};
}

}  // namespace refit::python
