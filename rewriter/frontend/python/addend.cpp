// One pass over the logical lines of a text, with the brackets that are open: see addend.hpp. A one
// that counts, indexes, is compared or is an argument of a known function is not meant.
#include "rewriter/frontend/python/addend.hpp"

#include <algorithm>
#include <unordered_set>

#include "rewriter/catalogue/catalogue.hpp"
#include "rewriter/frontend/python/lines.hpp"

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

using Own = std::function<bool(std::string_view name)>;
using Names = std::unordered_set<std::string_view>;

class LogicalLine {
 public:
  // `ones`: names that stand for one; further ones are added to `named`.
  LogicalLine(std::string_view text, const std::vector<std::string>& functions, const Own& own,
              bool roots, const Names& ones, Names& named)
      : text_(text),
        lines_(text),
        functions_(functions),
        own_(own),
        roots_(roots),
        ones_(ones),
        named_(named) {}

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
        std::string_view word = text_.substr(at, end - at);
        if ((is_one(word) || ones_.contains(word)) && (at == 0 || text_[at - 1] != '.') &&
            !names_it(at, end) && addend(at, end)) {
          return true;
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

  // `NAME = 1` and nothing more: what is done with the name is seen where it stands.
  bool names_it(size_t begin, size_t end) {
    if (!open_.empty() || after(end) != text_.size()) return false;
    std::string_view head = trimmed(text_.substr(0, begin));
    if (!head.ends_with('=')) return false;
    head = trimmed(head.substr(0, head.size() - 1));
    if (head.empty() || !std::all_of(head.begin(), head.end(), name_char)) return false;
    named_.insert(head);
    return true;
  }

  // Whether the number in [begin, end) may be added to something.
  bool addend(size_t begin, size_t end) const {
    char left = sign_before(begin);
    size_t next = after(end);
    char right = next == text_.size() ? '\0' : text_[next];
    if (left == '+' || right == '+') return sum(begin, end, open_.size());
    const bool ends =
        right == '\0' || std::string_view(",)]};").find(right) != std::string_view::npos;
    if (!ends) return false;
    if (left == '=') {
      size_t sign = before(begin) - 1;
      char first = sign == 0 ? '\0' : text_[sign - 1];
      if (std::string_view("=!<>").find(first) != std::string_view::npos) return false;
      return open_.empty() ? !kept_in_object(sign) : handed_on(open_.size());
    }
    return std::string_view("(,[{:").find(left) != std::string_view::npos &&
           handed_on(open_.size());
  }

  // `self.scale = 1`: what reads the attribute reads no number.
  bool kept_in_object(size_t sign) const {
    std::string_view target = trimmed(text_.substr(0, sign));
    if (target.find('=') != std::string_view::npos) return false;
    size_t colon = target.find(':');
    if (colon != std::string_view::npos) target = trimmed(target.substr(0, colon));
    return target.ends_with(']') || (target.find('.') != std::string_view::npos &&
                                     std::all_of(target.begin(), target.end(),
                                                 [](char c) { return name_char(c) || c == '.'; }));
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
  bool through_call(std::string_view name) const {
    size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return own_(name);
    return among(name.substr(dot + 1), functions_) || name.starts_with("self._");
  }

  // A sum in [begin, end) with so many brackets open around it: a factor, or what may become one.
  bool sum(size_t begin, size_t end, size_t depth) const {
    if (depth == 0) return !counts(begin);
    size_t bracket = open_[depth - 1];
    std::string_view name;
    switch (opens(bracket, &name)) {
      case Opens::index:
      case Opens::header:
        return false;
      case Opens::call:
        return through_call(name);
      case Opens::group:
        break;
    }
    if (text_[bracket] != '(') return handed_on(depth - 1);
    size_t close = lines_.find_outside(end, text_.size(), ')');
    if (close == std::string_view::npos) return true;
    std::string_view rest = text_.substr(after(close + 1));
    char left = sign_before(bracket);
    if (left == '*' || left == '/') return true;
    for (std::string_view other : {"//", "%", "<", ">", "==", "!=", "-", "+"}) {
      if (rest.starts_with(other)) return false;
    }
    if (rest.starts_with("/")) return roots_;  // by a root is times its inverse
    if (rest.starts_with("*") || rest.starts_with("[") || rest.starts_with(".")) return true;
    if (std::string_view("%<>-+!").find(left) != std::string_view::npos && left != '\0') {
      return false;
    }
    return sum(bracket, close + 1, depth - 1);
  }

  // `self.step += 1`, `count[i] += 1`: nothing else is done with that sum here.
  bool counts(size_t begin) const {
    size_t sign = before(begin);
    if (sign < 2 || text_[sign - 1] != '=' || text_[sign - 2] != '+') return false;
    size_t end = sign - 2;
    while (end > 0 && blank(text_[end - 1])) --end;
    if (end > 0 && text_[end - 1] == ']') return true;
    size_t name = end;
    while (name > 0 && (name_char(text_[name - 1]) || text_[name - 1] == '.')) --name;
    return text_.substr(name, end - name).find('.') != std::string_view::npos;
  }

  // A number that gets a name, or goes to a function that may add it to something.
  bool handed_on(size_t depth) const {
    for (; depth > 0; --depth) {
      std::string_view name;
      switch (opens(open_[depth - 1], &name)) {
        case Opens::index:
        case Opens::header:  // a default is none of the values that its parameter may have here
          return false;
        case Opens::call:
          return through_call(name);
        case Opens::group:
          if (asked_in(open_[depth - 1])) return false;
          break;
      }
    }
    return true;
  }

  // `if dim in (0, 1)`
  bool asked_in(size_t bracket) const {
    std::string_view head = trimmed(text_.substr(0, bracket));
    bool in = head.ends_with(" in") || head.ends_with(")in");
    return in && text_.find("for") == std::string_view::npos;
  }

  std::string_view text_;
  Lines lines_;
  const std::vector<std::string>& functions_;
  const Own& own_;
  bool roots_;  // a root may be drawn
  const Names& ones_;
  Names& named_;
  std::vector<size_t> open_;
};

}  // namespace

bool adds_one(std::string_view text, const std::vector<std::string>& functions, const Own& own) {
  const Lines lines(text);
  Names ones, named;
  const bool roots = text.find("sqrt") != std::string_view::npos ||
                     text.find("**") != std::string_view::npos ||
                     text.find("pow") != std::string_view::npos;
  for (int round = 0; round < 4; ++round) {
    for (size_t at = 0; at < text.size();) {
      while (at < text.size() && space(text[at])) ++at;
      if (at == text.size()) break;
      size_t code_end = 0;
      size_t next = lines.logical_line(at, &code_end);
      if (next == std::string_view::npos) return true;
      std::string_view line = text.substr(at, code_end - at);
      bool may = !ones.empty() || line.find('1') != std::string_view::npos ||
                 line.find("True") != std::string_view::npos;
      if (may && LogicalLine(line, functions, own, roots, ones, named).adds_one()) return true;
      at = next;
    }
    if (named.size() == ones.size()) return false;
    ones = named;
  }
  return true;
}

}  // namespace refit::python
