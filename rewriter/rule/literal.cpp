// Literals of signatures and constraints: parse_literal reads Python's notation, to_string writes
// it, same_value compares by value.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "rewriter/rule/catalogue.hpp"

namespace refit {
namespace {

// Nesting is bounded because the text comes from files: a tuple deeper than this is no signature.
constexpr int kMaxDepth = 16;

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Expected<Literal> parse() {
    auto literal = value(0);
    if (!literal) return literal;
    skip_space();
    if (at_ < text_.size()) return wrong("the end of the literal");
    return literal;
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  tl::unexpected<Error> wrong(const std::string& expected) const {
    std::string found = at_ < text_.size() ? "`" + std::string(text_.substr(at_)) + "`"
                                           : std::string("the end of the text");
    return failure("expected " + expected + ", found " + found);
  }

  Expected<Literal> value(int depth) {
    if (depth > kMaxDepth) return failure("expected at most 16 nested tuples");
    skip_space();
    char c = peek();
    if (c == '(' || c == '[') return tuple(depth);
    if (c == '"' || c == '\'') return string(c);
    if (is_digit(c) || c == '-' || c == '+' || c == '.') return number();
    if (is_name_start(c)) return symbol();
    return wrong("a literal (None, True, False, a number, a quoted string, a tuple or a name)");
  }

  Expected<Literal> tuple(int depth) {
    const bool parenthesis = text_[at_] == '(';
    const char close = parenthesis ? ')' : ']';
    ++at_;
    Literal result;
    result.kind = Literal::Kind::tuple;
    bool comma = false;
    for (;;) {
      skip_space();
      if (peek() == close) break;
      if (!result.items.empty() && !comma) {
        return wrong(std::string("`,` or `") + close + "`");
      }
      auto item = value(depth + 1);
      if (!item) return item;
      result.items.push_back(std::move(*item));
      skip_space();
      comma = peek() == ',';
      if (comma) ++at_;
    }
    ++at_;
    // (1) is the number 1, as in Python.
    if (parenthesis && result.items.size() == 1 && !comma) return Literal(result.items[0]);
    return result;
  }

  Expected<Literal> string(char quote) {
    ++at_;
    Literal result;
    result.kind = Literal::Kind::string;
    while (peek() != quote) {
      if (at_ >= text_.size()) return wrong(std::string("a closing `") + quote + "`");
      char c = text_[at_++];
      if (c == '\\') {
        char escaped = peek();
        if (escaped == 'n') {
          c = '\n';
        } else if (escaped == 't') {
          c = '\t';
        } else if (escaped == '\\' || escaped == '\'' || escaped == '"') {
          c = escaped;
        } else {
          return wrong("one of the escapes \\n, \\t, \\\\, \\', \\\"");
        }
        ++at_;
      }
      result.text += c;
    }
    ++at_;
    return result;
  }

  Expected<Literal> number() {
    const size_t begin = at_;
    if (peek() == '-' || peek() == '+') ++at_;
    bool real = false;
    size_t digits = 0;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (is_digit(c)) {
        ++digits;
      } else if (c == '.') {
        real = true;
      } else if ((c == 'e' || c == 'E') && digits > 0) {
        real = true;
        if (at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+')) ++at_;
      } else if (c != '_' || digits == 0) {
        break;
      }
    }
    std::string spelling;
    for (char c : text_.substr(begin, at_ - begin)) {
      if (c != '_' && c != '+') spelling += c;
    }
    Literal result;
    const char* first = spelling.data();
    const char* last = first + spelling.size();
    std::from_chars_result read{};
    if (real) {
      result.kind = Literal::Kind::real;
      read = std::from_chars(first, last, result.real);
    } else {
      result.kind = Literal::Kind::integer;
      read = std::from_chars(first, last, result.integer);
    }
    if (digits == 0 || read.ptr != last || read.ec != std::errc() || is_name_start(peek())) {
      at_ = begin;
      return wrong("a number that fits 64 bits");
    }
    return result;
  }

  Expected<Literal> symbol() {
    const size_t begin = at_;
    for (;;) {
      if (!is_name_start(peek())) {
        at_ = begin;
        return wrong("a name such as torch.float32");
      }
      while (is_name_start(peek()) || is_digit(peek())) ++at_;
      if (peek() != '.') break;
      ++at_;
    }
    Literal result;
    std::string_view name = text_.substr(begin, at_ - begin);
    if (name == "None") {
      result.kind = Literal::Kind::none;
    } else if (name == "True" || name == "False") {
      result.kind = Literal::Kind::boolean;
      result.boolean = name == "True";
    } else {
      result.kind = Literal::Kind::symbol;
      result.text = name;
    }
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

std::string real_text(double value) {
  // Python has no literal for infinity and not-a-number; 1e999 is how its repr could be read back.
  if (std::isinf(value)) return value > 0 ? "1e999" : "-1e999";
  char buffer[64];
  auto written = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, written.ptr);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

bool is_number(const Literal& literal) {
  return literal.kind == Literal::Kind::boolean || literal.kind == Literal::Kind::integer ||
         literal.kind == Literal::Kind::real;
}

int64_t whole(const Literal& literal) {
  return literal.kind == Literal::Kind::boolean ? (literal.boolean ? 1 : 0) : literal.integer;
}

// Exactly equal, as Python compares an int and a float; a cast to double alone would call
// 2**53 + 1 and 2.0**53 equal.
bool same_number(const Literal& a, const Literal& b) {
  const bool real_a = a.kind == Literal::Kind::real;
  const bool real_b = b.kind == Literal::Kind::real;
  if (real_a && real_b) return a.real == b.real;
  if (!real_a && !real_b) return whole(a) == whole(b);
  const double real = real_a ? a.real : b.real;
  const int64_t integer = whole(real_a ? b : a);
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const bool fits = real >= -kTwoTo63 && real < kTwoTo63;  // not so for infinities and NaN
  return fits && real == std::floor(real) && static_cast<int64_t>(real) == integer;
}

}  // namespace

Expected<Literal> parse_literal(std::string_view text) { return LiteralParser(text).parse(); }

std::string to_string(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::none:
      return "None";
    case Literal::Kind::boolean:
      return literal.boolean ? "True" : "False";
    case Literal::Kind::integer:
      return std::to_string(literal.integer);
    case Literal::Kind::real:
      return real_text(literal.real);
    case Literal::Kind::string:
      return quoted(literal.text);
    case Literal::Kind::symbol:
      return literal.text;
    case Literal::Kind::tuple:
      break;
  }
  std::string text = "(";
  for (size_t i = 0; i < literal.items.size(); ++i) {
    if (i > 0) text += ", ";
    text += to_string(literal.items[i]);
  }
  return text + (literal.items.size() == 1 ? ",)" : ")");
}

bool same_value(const Literal& a, const Literal& b) {
  if (is_number(a) && is_number(b)) return same_number(a, b);
  if (a.kind != b.kind) return false;
  if (a.kind != Literal::Kind::tuple) return a.text == b.text;
  if (a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!same_value(a.items[i], b.items[i])) return false;
  }
  return true;
}

}  // namespace refit
