// One pass over the logical lines of a text, with the brackets that are open: see addend.hpp. A one
// that counts, indexes, is compared or is an argument of a known function is not meant.
#include "rewriter/frontend/python/addend.hpp"

#include <algorithm>
#include <unordered_set>

#include "rewriter/catalogue/catalogue.hpp"
#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

bool among(std::string_view name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Words after which a bracket is none of a call or an index.
bool opens_expression(std::string_view word) {
  static constexpr std::string_view kWords[] = {
      "and",   "assert", "await",  "del",    "elif",  "else",   "for",   "from", "if",
      "in",    "is",     "lambda", "not",    "or",    "return", "while", "with", "yield",
      "raise", "case",   "match",  "except", "print", "import", "exec"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords);
}

constexpr int kRounds = 16;  // names that stand for other names; what takes more may do anything

using Names = std::unordered_set<std::string_view>;

struct Found {
  Names ones, sums;   // names that stand for one, and for a sum with one
  bool more = false;  // than in the round before
};

class LogicalLine {
 public:
  LogicalLine(std::string_view text, const Addition& asked, bool roots, Found& found)
      : text_(text), lines_(text), asked_(asked), roots_(roots), found_(found) {}

  bool adds_one() {
    for (size_t at = 0; at < text_.size();) {
      char c = text_[at];
      if (c == '"' || c == '\'') {
        at = lines_.string_end(at, 0);
        if (at == std::string_view::npos) return true;
      } else if (c == '#') {
        at = lines_.next_line(at);
      } else if (c == '(' || c == '[' || c == '{') {
        open_.push_back(at++);
      } else if (c == ')' || c == ']' || c == '}') {
        if (open_.empty()) return true;
        open_.pop_back();
        ++at;
      } else if (name_char(c) || (c == '.' && at + 1 < text_.size() && digit(text_[at + 1]))) {
        size_t end = at;
        bool number = digit(c) || c == '.';
        while (end < text_.size() && (name_char(text_[end]) || (number && text_[end] == '.'))) {
          ++end;
        }
        if (number) end = exponent(at, end);
        std::string_view word = text_.substr(at, end - at);
        if (at == 0 || text_[at - 1] != '.') {
          if ((is_one(word) || found_.ones.contains(word)) && addend(at, end)) return true;
          if (found_.sums.contains(word) && factor(at, end)) return true;
        }
        at = end;
      } else {
        ++at;
      }
    }
    return false;
  }

 private:
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_one(std::string_view word) {
    if (word == "True") return true;
    if (!digit(word.front()) && word.front() != '.') return false;
    auto value = parse_literal(word);
    return !value || same_value(*value, *parse_literal("1"));
  }

  // The end of a number whose digits end at `end`: `1e-5` has a sign among them.
  size_t exponent(size_t begin, size_t end) const {
    const char last = text_[end - 1];
    if ((last != 'e' && last != 'E') || end + 1 >= text_.size()) return end;
    if ((text_[end] != '-' && text_[end] != '+') || !digit(text_[end + 1])) return end;
    if (text_.substr(begin, 2) == "0x" || text_.substr(begin, 2) == "0X") return end;
    while (++end < text_.size() && name_char(text_[end])) {
    }
    return end;
  }

  size_t after(size_t at) const {
    while (at < text_.size()) {
      if (text_[at] == '#') {
        at = lines_.next_line(at);
      } else if (space(text_[at]) || text_[at] == '\\') {
        ++at;
      } else {
        break;
      }
    }
    return at;
  }
  // Comments are not passed over: what stands before one is told by its last sign.
  size_t before(size_t at) const {
    while (at > 0 && (space(text_[at - 1]) || text_[at - 1] == '\\')) --at;
    return at;
  }
  char sign_before(size_t at) const {
    at = before(at);
    return at == 0 ? '\0' : text_[at - 1];
  }

  // What becomes of a value that the statement itself has, `bare` without brackets around it: where
  // it gets names these are looked for in turn. False where no name can have it.
  bool bound(Names& names, bool bare) {
    std::string_view word = first_word(text_);
    for (std::string_view header : {"if", "elif", "while", "assert"}) {
      if (word != header) continue;
      size_t colon = lines_.header_colon(word.size(), text_.size());
      bool alone =
          colon != std::string_view::npos &&
          std::all_of(text_.begin() + static_cast<ptrdiff_t>(colon) + 1, text_.end(), space);
      return !(alone || word == "assert") || text_.find(":=") != std::string_view::npos;
    }
    if (text_.find("lambda") != std::string_view::npos) return true;
    if (bare ? word == "for" || word == "async" : says_for()) return true;
    size_t equals = lines_.find_outside(0, text_.size(), '=');
    if (equals == std::string_view::npos || equals == 0) return true;
    if (equals + 1 < text_.size() && text_[equals + 1] == '=') return true;
    size_t end = equals;
    while (end > 0 &&
           std::string_view("+-*/%@&|^<>").find(text_[end - 1]) != std::string_view::npos) {
      --end;
    }
    std::string_view head = trimmed(text_.substr(0, end));
    if (lines_.find_outside(equals + 1, text_.size(), '=') != std::string_view::npos) return true;
    size_t colon = lines_.find_outside(0, end, ':');
    if (colon != std::string_view::npos) head = trimmed(text_.substr(0, colon));
    for (std::string_view target : lines_.parts(head)) {
      if (target.find_first_of("*()") != std::string_view::npos) return true;
      size_t dot = target.find('.'), bracket = target.find('[');
      if (dot < bracket && dot != std::string_view::npos)
        continue;  // whoever reads it reads no sum
      target = trimmed(target.substr(0, bracket));
      if (target.empty() || !std::all_of(target.begin(), target.end(), name_char)) return true;
      if (names.insert(target).second) found_.more = true;
    }
    return false;
  }

  bool says_for() const {
    for (size_t at = text_.find("for"); at != std::string_view::npos;
         at = text_.find("for", at + 1)) {
      bool begins = at == 0 || !name_char(text_[at - 1]);
      if (begins && (at + 3 >= text_.size() || !name_char(text_[at + 3]))) return true;
    }
    return false;
  }

  // The end of what is read of a name: `scale[:, None]`, `scale.unsqueeze(1)`.
  size_t trailers(size_t end) const {
    while (true) {
      size_t at = after(end);
      if (at == text_.size()) return end;
      if (text_[at] == '.') {
        at = after(at + 1);
        size_t stop = at;
        while (stop < text_.size() && name_char(text_[stop])) ++stop;
        if (stop == at) return end;
        end = stop;
      } else if (text_[at] == '[' || text_[at] == '(') {
        size_t close = lines_.find_outside(at + 1, text_.size(), text_[at] == '[' ? ']' : ')');
        if (close == std::string_view::npos) return end;
        end = close + 1;
      } else {
        return end;
      }
    }
  }

  // Whether a name that stands for a sum may be a factor where it stands.
  bool factor(size_t begin, size_t end) {
    end = trailers(end);
    size_t next = after(end);
    std::string_view rest = text_.substr(next);
    size_t sign = before(begin);
    std::string_view head = text_.substr(0, sign);
    if (head.ends_with("**") || head.ends_with("//") || rest.starts_with("**")) return false;
    if (head.ends_with('*') || (rest.starts_with('*') && !rest.starts_with("*="))) return true;
    if (rest.starts_with("*=")) return true;
    if (rest.starts_with("//") || rest.starts_with('%') || rest.starts_with('<') ||
        rest.starts_with('>') || rest.starts_with("==") || rest.starts_with("!=")) {
      return false;
    }
    if (head.ends_with('/') || rest.starts_with('/')) return roots_;
    if (head.ends_with('%') || head.ends_with('<') || head.ends_with('>') || head.ends_with("==") ||
        head.ends_with("!=")) {
      return false;
    }
    if (rest.starts_with('=')) return false;  // it gets another value, or is a keyword
    return sum(end, open_.size());
  }

  // Whether the number in [begin, end) may be added to something.
  bool addend(size_t begin, size_t end) {
    if (!digit(text_[begin]) && text_[begin] != '.') end = trailers(end);
    char left = sign_before(begin);
    size_t next = after(end);
    char right = next == text_.size() ? '\0' : text_[next];
    if (left == '+' || right == '+') return sum(end, open_.size());
    if (repeated(end)) return false;
    const bool ends =
        right == '\0' || std::string_view(",)]};").find(right) != std::string_view::npos;
    if (!ends) return false;
    if (left == '=') {
      size_t sign = before(begin) - 1;
      char first = sign == 0 ? '\0' : text_[sign - 1];
      if (std::string_view("=!<>").find(first) != std::string_view::npos) return false;
      return open_.empty() ? bound(found_.ones, true) : handed_on(open_.size(), false);
    }
    return std::string_view("(,[{:").find(left) != std::string_view::npos &&
           handed_on(open_.size(), false);
  }

  // Whether what stands before `end` is an entry of a sequence that is repeated, `[1] * n`.
  bool repeated(size_t end) const {
    if (open_.empty()) return false;
    size_t bracket = open_.back();
    std::string_view name;
    if (text_[bracket] == '{' || opens(bracket, &name) != Opens::group) return false;
    size_t close = lines_.find_outside(end, text_.size(), text_[bracket] == '[' ? ']' : ')');
    if (close == std::string_view::npos) return false;
    std::string_view rest = text_.substr(after(close + 1));
    std::string_view head = text_.substr(0, before(bracket));
    return (rest.starts_with('*') && !rest.starts_with("**")) ||
           (head.ends_with('*') && !head.ends_with("**") && !head.ends_with("(*") &&
            !head.ends_with(", *"));
  }

  enum class Opens { group, index, call, header };
  // What a bracket opens, and for a call by which name.
  Opens opens(size_t bracket, std::string_view* name) const {
    size_t end = bracket;
    while (end > 0 && blank(text_[end - 1])) --end;
    size_t begin = end;
    while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
    *name = text_.substr(begin, end - begin);
    char last = end == 0 ? '\0' : text_[end - 1];
    bool applied =
        name_char(last) || last == ')' || last == ']' || last == '}' || last == '"' || last == '\'';
    if (text_[bracket] == '{' || !applied || opens_expression(*name)) return Opens::group;
    std::string_view head = trimmed(text_.substr(0, begin));
    if (head == "def" || head == "async def" || head == "class") return Opens::header;
    return text_[bracket] == '[' ? Opens::index : Opens::call;
  }

  // Whether an argument of a call may become an operand: of a product, or of what a function of
  // this file computes.
  bool through_call(std::string_view name, bool sum) const {
    size_t dot = name.rfind('.');
    if (dot == std::string_view::npos || name.starts_with("self._")) {
      return asked_.own(name.substr(dot == std::string_view::npos ? 0 : dot + 1),
                        dot != std::string_view::npos, sum);
    }
    return among(name.substr(dot + 1), sum ? asked_.functions : asked_.adders);
  }

  // A sum that ends at `end` with so many brackets open around it: a factor, or what may become
  // one.
  bool sum(size_t end, size_t depth) {
    if (depth == 0) return bound(found_.sums, open_.empty());
    size_t bracket = open_[depth - 1];
    std::string_view name;
    switch (opens(bracket, &name)) {
      case Opens::index:
      case Opens::header:
        return false;
      case Opens::call:
        return through_call(name, true);
      case Opens::group:
        break;
    }
    if (text_[bracket] != '(') return handed_on(depth - 1, true);
    size_t close = lines_.find_outside(end, text_.size(), ')');
    if (close == std::string_view::npos) return true;
    std::string_view rest = text_.substr(after(close + 1));
    char left = sign_before(bracket);
    std::string_view head = text_.substr(0, before(bracket));
    if (left == '*') return !head.ends_with("**") && !repeats(head);
    if (left == '/') return roots_ && !head.ends_with("//");
    for (std::string_view other : {"//", "%", "<", ">", "==", "!=", "-", "+"}) {
      if (rest.starts_with(other)) return false;
    }
    if (rest.starts_with("/")) return roots_;  // by a root is times its inverse
    if (rest.starts_with("*") || rest.starts_with("[") || rest.starts_with(".")) return true;
    if (std::string_view("%<>-+!").find(left) != std::string_view::npos && left != '\0') {
      return false;
    }
    return sum(close + 1, depth - 1);
  }

  // `[x] * (n + 1)`: whether what ends in a sign of a product is a list with entries written out.
  bool repeats(std::string_view head) const {
    head = trimmed(head.substr(0, head.size() - 1));
    if (!head.ends_with(']')) return false;
    for (size_t at = head.size(); at-- > 0;) {
      if (head[at] != '[' || lines_.find_outside(at + 1, head.size(), ']') != head.size() - 1) {
        continue;
      }
      std::string_view name;
      return opens(at, &name) == Opens::group;
    }
    return false;
  }

  // A number or a sum that gets a name, or goes to a function that may add it to something or
  // multiply by it.
  bool handed_on(size_t depth, bool sum) {
    for (; depth > 0; --depth) {
      std::string_view name;
      switch (opens(open_[depth - 1], &name)) {
        case Opens::index:
        case Opens::header:  // a default is none of the values that its parameter may have here
          return false;
        case Opens::call:
          return through_call(name, sum);
        case Opens::group:
          if (asked_in(open_[depth - 1])) return false;
          break;
      }
    }
    return bound(sum ? found_.sums : found_.ones, open_.empty());
  }

  // `if dim in (0, 1)`
  bool asked_in(size_t bracket) const {
    std::string_view head = trimmed(text_.substr(0, bracket));
    bool in = head.ends_with(" in") || head.ends_with(")in");
    return in && text_.find("for") == std::string_view::npos;
  }

  std::string_view text_;
  Lines lines_;
  const Addition& asked_;
  bool roots_;  // a root may be drawn
  Found& found_;
  std::vector<size_t> open_;
};

// Whether a `**` may be a power and not what stands before the name of a dictionary.
bool has_power(std::string_view text) {
  for (size_t at = text.find("**"); at != std::string_view::npos; at = text.find("**", at + 2)) {
    size_t before = at;
    while (before > 0 && (space(text[before - 1]) || text[before - 1] == '\\')) --before;
    if (before == 0 || std::string_view("(,{:").find(text[before - 1]) == std::string_view::npos) {
      return true;
    }
    size_t line = text.find_last_of("\r\n", before - 1);
    line = line == std::string_view::npos ? 0 : line + 1;
    // What stands before it is in a comment.
    if (text.substr(line, before - line).find('#') != std::string_view::npos) return true;
  }
  return false;
}

// Whether a digit may be that of a one, and not part of a name, of another number or of `-1` that
// nothing is added to.
bool may_be_one(std::string_view text, size_t at) {
  auto digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t begin = at, end = at + 1;
  bool whole = true;  // digits alone
  for (; begin > 0 && (name_char(text[begin - 1]) || text[begin - 1] == '.'); --begin) {
    whole = whole && digit(text[begin - 1]);
  }
  for (; end < text.size() && (name_char(text[end]) || text[end] == '.'); ++end) {
    whole = whole && digit(text[end]);
  }
  if (!digit(text[begin]) && text[begin] != '.') return false;
  if (whole && end - begin > 1 && text[begin] != '0') return false;
  const bool negative = begin > 0 && text[begin - 1] == '-';
  return !negative || end == text.size() ||
         std::string_view(",)]:").find(text[end]) == std::string_view::npos;
}

}  // namespace

bool adds_one(std::string_view text, std::span<const ByteRange> lines, const Addition& asked) {
  if (lines.empty()) return false;
  const size_t begin = lines.front().begin, end = lines.back().end;
  const std::string_view whole = text.substr(begin, end - begin);
  std::vector<bool> with_one(lines.size(), false);
  bool any = false;
  auto note = [&](size_t at) {
    auto line = std::upper_bound(lines.begin(), lines.end(), at,
                                 [](size_t place, ByteRange l) { return place < l.begin; });
    if (line == lines.begin() || at >= std::prev(line)->end) return;  // in a comment
    with_one[static_cast<size_t>(line - lines.begin()) - 1] = any = true;
  };
  for (size_t at = whole.find('1'); at != std::string_view::npos; at = whole.find('1', at + 1)) {
    if (may_be_one(whole, at)) note(begin + at);
  }
  for (size_t at = find_text(whole, "True"); at != std::string_view::npos;
       at = find_text(whole, "True", at + 1)) {
    note(begin + at);
  }
  if (!any) return false;
  Found found;
  const bool roots =
      contains_text(whole, "sqrt") || contains_text(whole, "pow") || has_power(whole);
  for (int round = 0; round < kRounds; ++round) {
    found.more = false;
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string_view line = text.substr(lines[i].begin, lines[i].end - lines[i].begin);
      auto says = [&](std::string_view name) { return line.find(name) != std::string_view::npos; };
      const bool may = with_one[i] || std::any_of(found.ones.begin(), found.ones.end(), says) ||
                       std::any_of(found.sums.begin(), found.sums.end(), says);
      if (may && LogicalLine(line, asked, roots, found).adds_one()) return true;
    }
    if (!found.more) return false;
  }
  return true;
}

}  // namespace refit::python
