// What tells of an operation in Python text beyond its name: the arguments of a call as they stand
// between its brackets, the operand of a power. Only what is surely something else is told apart; a
// name, a splat or an expression may be anything. Entry points: PythonFrontend::tellings,
// PythonFrontend::stepped_slice.
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "rewriter/frontend/python/frontend.hpp"
#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/lower.hpp"
#include "rewriter/frontend/python/made.hpp"
#include "rewriter/frontend/python/meant.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

bool is_keyword(std::string_view word) {
  static constexpr std::string_view kKeywords[] = {
      "False",  "None",  "True",    "and",      "as",       "assert", "async", "await",
      "break",  "case",  "class",   "continue", "def",      "del",    "elif",  "else",
      "except", "exec",  "finally", "for",      "from",     "global", "if",    "import",
      "in",     "is",    "lambda",  "match",    "nonlocal", "not",    "or",    "pass",
      "print",  "raise", "return",  "try",      "type",     "while",  "with",  "yield"};
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

bool quotes(char c) { return c == '"' || c == '\''; }

// Whether a word can be a name of code: names do not stand side by side as those of prose do, nor
// beside a quote.
bool in_code(std::string_view text, size_t at, size_t size) {
  size_t next = at + size;
  if ((at > 0 && quotes(text[at - 1])) || (next < text.size() && quotes(text[next]))) return false;
  while (next < text.size() && blank(text[next])) ++next;
  std::string_view after = first_word(text.substr(next));
  if (!after.empty() && !is_keyword(after)) return false;
  size_t end = at;
  while (end > 0 && blank(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && name_char(text[begin - 1])) --begin;
  if (begin < end && !is_keyword(text.substr(begin, end - begin))) return false;
  return !in_comment(text, at);
}

// What is kept of a word of the text.
ScannedText::Word& word_at(const ScannedText& scanned, size_t at, size_t size) {
  ScannedText::Word& word = scanned.word();
  if (word.at != at || word.size != size) {
    word = {at, size, in_code(scanned, at, size)};
  }
  return word;
}

// Whether a name is an attribute of the object that a method belongs to, and so no module's: the
// text is one function, whose first parameter `self` is. What an inner function calls so is named
// in the report.
bool of_self(std::string_view text, size_t at) {
  constexpr std::string_view kSelf = "self.";
  if (at < kSelf.size() || text.substr(at - kSelf.size(), kSelf.size()) != kSelf) return false;
  if (at > kSelf.size() && name_char(text[at - kSelf.size() - 1])) return false;
  size_t def = text.find("def ");
  if (def == std::string_view::npos || text.find("def ", def + 1) != std::string_view::npos ||
      text.find("lambda") != std::string_view::npos ||
      text.find(" as self") != std::string_view::npos) {
    return false;
  }
  size_t first = text.find('(', def);
  while (first < text.size() && (text[first] == '(' || space(text[first]))) ++first;
  return first < text.size() && first_word(text.substr(first)) == "self";
}

// Whether a name without a dot is called that Python itself has a function of. Where a file gives
// it another meaning it says so by an import or an assignment, which count.
bool calls_builtin(const ScannedText& scanned, size_t at, size_t size) {
  const std::string_view text = scanned;
  if (!is_builtin(text.substr(at, size))) return false;
  size_t next = at + size;
  while (next < text.size() && blank(text[next])) ++next;
  if (next == text.size() || text[next] != '(') return false;
  size_t before = at;
  while (before > 0 && (space(text[before - 1]) || text[before - 1] == '\\')) --before;
  if (before > 0 && text[before - 1] == '.') return false;
  return !scanned.holds("import *");
}

// Whether a word may name the operation, as far as the file's names are known.
bool may_name(std::string_view text, size_t at, size_t size, const Operation& operation) {
  size_t place = at;
  const Meant* names = Meant::here(text, &place);
  return names == nullptr || names->may_name(place, size, operation);
}

using Arguments = std::vector<std::pair<std::string_view, std::string_view>>;  // keyword, value

// The arguments of the call whose bracket opens at `open`; nullopt where they cannot be made out or
// one is a splat.
std::optional<Arguments> arguments_at(std::string_view text, size_t open) {
  const Lines lines(text);
  int depth = 0;
  size_t at = open;
  for (; at < text.size(); ++at) {
    char c = text[at];
    if (c == '#') {
      at = lines.next_line(at) - 1;
    } else if (c == '"' || c == '\'') {
      at = lines.string_end(at, 0);
      if (at == std::string_view::npos) return std::nullopt;
      --at;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if ((c == ')' || c == ']' || c == '}') && --depth == 0) {
      break;
    }
  }
  if (at >= text.size()) return std::nullopt;
  Arguments out;
  for (std::string_view part : lines.parts(text.substr(open + 1, at - open - 1))) {
    if (part.front() == '*') return std::nullopt;
    std::string_view keyword = first_word(part);
    std::string_view rest = trimmed(part.substr(keyword.size()));
    bool named = !keyword.empty() && rest.starts_with("=") && !rest.starts_with("==");
    if (!named) keyword = {};
    out.emplace_back(keyword, named ? trimmed(rest.substr(1)) : part);
  }
  return out;
}

// Whether a text may have this value: it is no literal, or an equal one.
bool may_equal(std::string_view written, const Literal& wanted) {
  if (written.empty()) return true;
  char first = written.front();
  bool number = (first >= '0' && first <= '9') || first == '.' || first == '-';
  if (!number && written != "None" && written != "True" && written != "False") return true;
  auto value = parse_literal(written);
  return !value || same_value(*value, wanted);
}

bool comparable(const Literal& literal) {
  return literal.kind == Literal::Kind::none || literal.kind == Literal::Kind::boolean ||
         literal.kind == Literal::Kind::integer || literal.kind == Literal::Kind::real;
}

struct Wanted {
  Parameter parameter;
  size_t position;  // among those that can be passed by position; SIZE_MAX: none
  std::optional<Literal> literal, last;
  bool single = false;  // of a variadic one: one entry, an expression that is no number
  size_t entries = 0;   // 0: any number
};

// The entries between the brackets that a text consists of; nullopt where it is something else.
std::optional<std::vector<std::string_view>> entries_of(std::string_view written,
                                                        const Lines& lines) {
  bool round = written.starts_with('('), square = written.starts_with('[');
  bool whole = (round || square) &&
               lines.find_outside(1, written.size(), round ? ')' : ']') == written.size() - 1;
  if (!whole) return std::nullopt;
  return lines.parts(written.substr(1, written.size() - 2));
}

// Whether a sequence as it is written, or the only argument in place of its entries, may end so.
bool may_end(std::string_view written, const Literal& last) {
  const Lines lines(written);
  auto entries = entries_of(written, lines);
  if (!entries) return may_equal(written, last);
  return entries->empty() || may_equal(entries->back(), last);
}

// Whether a sequence may have so many entries: it is a name, a sum, a comprehension, or has them.
bool may_have(std::string_view written, size_t wanted) {
  const Lines lines(written);
  const auto entries = entries_of(written, lines);
  if (!entries || (entries->size() < 2 && written.front() == '(')) return true;
  const bool open = std::any_of(entries->begin(), entries->end(), [](std::string_view entry) {
    return entry.front() == '*' || contains_word(entry, "for");
  });
  return open || entries->size() == wanted;
}

bool may_be_single(std::string_view written) {
  const Lines lines(written);
  auto entries = entries_of(written, lines);
  if (entries) return entries->size() < 2;
  bool number = (written.front() >= '0' && written.front() <= '9') || written.front() == '-';
  return !number || !parse_literal(written);
}

// Whether a call may pass what is wanted; `receiver`: the first parameter stands before the dot.
bool passes(const Arguments& arguments, const std::vector<Wanted>& wanted, bool receiver) {
  for (const Wanted& w : wanted) {
    const std::string_view *value = nullptr, *last = nullptr;
    size_t position = w.position == SIZE_MAX ? SIZE_MAX : w.position - (receiver ? 1 : 0);
    size_t next = 0;
    for (const auto& [keyword, given] : arguments) {
      if (keyword.empty() && w.parameter.variadic && next > position) last = &given;
      bool its = keyword.empty() ? next++ == position
                                 : keyword == w.parameter.name ||
                                       std::find(w.parameter.also.begin(), w.parameter.also.end(),
                                                 keyword) != w.parameter.also.end();
      if (its) value = &given;
    }
    if (w.entries != 0) {
      if (value != nullptr && !may_have(*value, w.entries)) return false;
    } else if (w.single) {
      if (last != nullptr || value == nullptr || !may_be_single(*value)) return false;
    } else if (w.last) {
      bool ends = last != nullptr ? may_equal(*last, *w.last)
                                  : value != nullptr && may_end(*value, *w.last);
      if (!ends) return false;
    } else if (value != nullptr) {
      if (w.literal && !may_equal(*value, *w.literal)) return false;
    } else if (!w.literal || !w.parameter.default_value ||
               !same_value(*w.parameter.default_value, *w.literal)) {
      return false;
    }
  }
  return true;
}

// Whether the call of a name may pass what is wanted. A name that is not called
// there may be called elsewhere.
bool may_pass(std::string_view text, ScannedText::Word& word, const std::vector<Wanted>& wanted,
              bool method) {
  if (!word.told) {
    size_t at = word.at + word.size;
    while (at < text.size() && blank(text[at])) ++at;
    const bool called = at < text.size() && text[at] == '(';
    auto arguments = called ? arguments_at(text, at) : std::nullopt;
    word.told = arguments.has_value();
    if (arguments) word.arguments = std::move(*arguments);
  }
  return !*word.told || passes(word.arguments, wanted, false) ||
         (method && passes(word.arguments, wanted, true));
}

// Whether an operator stands behind an operand, and not where `opening` opens an expression: before
// the name of a dictionary.
bool has_left_operand(std::string_view text, size_t at, std::string_view opening = "(,{:") {
  size_t before = at;
  while (before > 0 && (space(text[before - 1]) || text[before - 1] == '\\')) --before;
  const char last = before == 0 ? '\n' : text[before - 1];
  if (opening.find(last) != std::string_view::npos) {  // unless that is a comment's
    const std::string_view between = text.substr(before, at - before);
    if (between.find_first_of("\r\n") == std::string_view::npos) return false;
    size_t line = before;
    while (line > 0 && text[line - 1] != '\n' && text[line - 1] != '\r' && text[line - 1] != '#') {
      --line;
    }
    if (line == 0 || text[line - 1] != '#') return false;
  }
  return !in_comment(text, at);
}

// Whether a sign of arithmetic stands between two operands: none that is before a number, part of
// one (`1e-5`), or before what is taken apart.
bool stands_between_operands(std::string_view text, size_t at) {
  const char sign = text[at], next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (sign == '-' && next == '>') return false;
  const char before = at > 0 ? text[at - 1] : ' ';
  if ((sign == '*' || sign == '/') && (before == sign || next == sign)) return false;
  if (before == 'e' || before == 'E') {
    size_t run = at;
    while (run > 0 && (name_char(text[run - 1]) || text[run - 1] == '.')) --run;
    const char first = text[run] == '.' ? text[run + 1] : text[run];  // `.5e-3`, not `].scale-x`
    const bool number = first >= '0' && first <= '9';
    if (number && text[run + 1] != 'x' && text[run + 1] != 'X') return false;
  }
  if (!has_left_operand(text, at, "(,[{:=+-*/%@&|^<>~;")) return false;
  size_t end = at;
  while (end > 0 && blank(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && name_char(text[begin - 1])) --begin;
  static constexpr std::string_view kBefore[] = {
      "and", "as",    "assert", "await",  "del",  "elif", "else",   "except",
      "for", "from",  "if",     "import", "in",   "is",   "lambda", "not",
      "or",  "raise", "return", "while",  "with", "yield"};
  return std::find(std::begin(kBefore), std::end(kBefore), text.substr(begin, end - begin)) ==
         std::end(kBefore);
}

// The sign of an operation of arithmetic that texts of any kind hold.
std::optional<std::string_view> sign_of(std::string_view operation) {
  static constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
      {"operator.add", "+"},
      {"operator.sub", "-"},
      {"operator.mul", "*"},
      {"operator.truediv", "/"}};
  for (const auto& [name, sign] : kSigns) {
    if (name == operation) return sign;
  }
  return std::nullopt;
}

// Whether an `@` may be a product and no decorator's: that stands first in its line, and what
// follows it is another decorator or a definition. Between brackets, where neither can stand, it is
// a product.
bool multiplies(std::string_view text, size_t at) {
  if (in_comment(text, at)) return false;
  size_t line = at;
  while (line > 0 && blank(text[line - 1])) --line;
  if (line > 0 && text[line - 1] != '\n' && text[line - 1] != '\r') return true;
  const Lines lines(text);
  size_t code_end = 0;
  size_t next = lines.logical_line(at, &code_end);
  while (next < text.size() && (space(text[next]) || text[next] == '#')) {
    next = text[next] == '#' ? lines.next_line(next) : next + 1;
  }
  if (next >= text.size()) return true;
  std::string_view word = first_word(text.substr(next));
  return text[next] != '@' && word != "def" && word != "async" && word != "class";
}

// The number that follows, as it is written; empty where it is none.
std::string_view number_at(std::string_view text, size_t at) {
  while (at < text.size() && blank(text[at])) ++at;
  size_t end = at;
  if (end < text.size() && text[end] == '-') ++end;
  while (end < text.size() && (name_char(text[end]) || text[end] == '.')) ++end;
  return text.substr(at, end - at);
}

// By its sign, or by its name in the module `operator`.
std::optional<std::vector<Telling>> operator_tellings(const Operation& operation,
                                                      const std::vector<KnownArgument>& known) {
  const auto sign = sign_of(operation.id);
  auto texts = operator_spellings(operation.id);
  if (!sign && !texts) return std::nullopt;
  std::vector<Telling> out;
  if (sign) {
    out.push_back({std::string(*sign), "between operands", stands_between_operands});
  }
  std::optional<Literal> right;
  for (const KnownArgument& k : known) {
    if (k.parameter == 1 && k.literal != nullptr && comparable(*k.literal)) right = *k.literal;
  }
  for (std::string& text : texts ? *texts : std::vector<std::string>{}) {
    if (text == "@") {
      out.push_back({std::move(text), "product", multiplies});
    } else if (text == "**" || text == "//") {
      std::string condition = right ? to_string(*right) : std::string("any");
      out.push_back(
          {std::move(text), std::move(condition), [right](std::string_view in, size_t at) {
             return (!right || may_equal(number_at(in, at + 2), *right)) &&
                    has_left_operand(in, at);
           }});
    } else {
      out.push_back({std::move(text)});
    }
  }
  std::string name = operation.id.substr(operation.id.rfind('.') + 1);
  const size_t size = name.size();
  out.push_back(
      {std::move(name), operation.id, [size, &operation](const ScannedText& in, size_t at) {
         return word_at(in, at, size).code && !of_self(in, at) && may_name(in, at, size, operation);
       }});
  return out;
}

}  // namespace

std::optional<std::vector<Telling>> PythonFrontend::tellings(
    const Operation& operation, const std::vector<Parameter>& signature,
    const std::vector<KnownArgument>& known) const {
  if (operation.library == "operator") return operator_tellings(operation, known);
  auto texts = spellings(operation);
  if (!texts) return std::nullopt;
  std::vector<Telling> out;
  std::vector<Wanted> wanted;
  std::string condition = operation.id + ":";
  for (const KnownArgument& k : known) {
    const Parameter& p = signature[k.parameter];
    bool ends = k.last != nullptr && comparable(*k.last);
    if (k.parameter == 0) {  // of a method what stands before the dot
      if (k.entries == 0 || p.variadic || !operation.methods.empty()) continue;
      condition += fmt::format("{}#{};", p.name, k.entries);
      wanted.push_back({p, 0, {}, {}, false, k.entries});
      continue;
    }
    if ((p.variadic && k.fallback) || p.variadic_keyword) continue;
    if (k.fallback && !comparable(*k.literal)) continue;
    size_t position = 0;
    for (size_t i = 0; i < k.parameter; ++i) {
      const Parameter& other = signature[i];
      position += !other.keyword_only && !other.variadic && !other.variadic_keyword;
    }
    Wanted w{p, p.keyword_only ? SIZE_MAX : position, {}, {}, false, 0};
    if (k.literal != nullptr && comparable(*k.literal)) w.literal = *k.literal;
    if (ends) w.last = *k.last;
    w.single = p.variadic && !ends;
    condition += fmt::format("{}@{}={}{};", p.name, position,
                             w.last     ? "..."
                             : w.single ? "1:"
                                        : "",
                             w.last      ? to_string(*w.last)
                             : w.literal ? to_string(*w.literal)
                                         : "*");
    wanted.push_back(std::move(w));
  }
  for (std::string& text : *texts) {
    size_t size = text.size();
    bool method = !operation.methods.empty();
    out.push_back({std::move(text), condition,
                   [wanted, size, method, &operation](const ScannedText& in, size_t at) {
                     ScannedText::Word& word = word_at(in, at, size);
                     return word.code && (method || !of_self(in, at)) &&
                            !calls_builtin(in, at, size) && may_name(in, at, size, operation) &&
                            may_pass(in, word, wanted, method);
                   }});
  }
  return out;
}

// One has a digit 1 in every notation; `True` is equal to it.
std::optional<std::vector<Telling>> PythonFrontend::number(const Literal& literal) const {
  if (!comparable(literal) || !same_value(literal, *parse_literal("1"))) return std::nullopt;
  std::vector<Telling> out{{"True"}};
  out.push_back({"1", "number", [](std::string_view text, size_t at) {
                   auto part = [](char c) { return name_char(c) || c == '.'; };
                   size_t begin = at, end = at + 1;
                   while (begin > 0 && part(text[begin - 1])) --begin;
                   while (end < text.size() && part(text[end])) ++end;
                   std::string_view run = text.substr(begin, end - begin);
                   if (name_char(run[0]) && (run[0] < '0' || run[0] > '9')) return false;
                   auto value = parse_literal(run);
                   return (!value || same_value(*value, *parse_literal("1"))) &&
                          !in_comment(text, at);
                 }});
  return out;
}

bool PythonFrontend::shows_addition(const Literal& literal, const Operation& of,
                                    const std::vector<const Operation*>& users) const {
  return comparable(literal) && same_value(literal, *parse_literal("1")) &&
         of.id == "operator.add" &&
         std::all_of(users.begin(), users.end(), [](const Operation* user) {
           return user->id == "operator.mul" || user->library != "operator";
         });
}

// A name that is called, or that is given another name to be called by.
std::optional<Telling> PythonFrontend::called(const std::string& glob) const {
  std::string bare = glob;
  std::erase(bare, '*');
  const size_t size = bare.size();
  return Telling{std::move(bare), "called " + glob, [glob, size](std::string_view text, size_t at) {
                   size_t begin = at, end = at + size;
                   while (begin > 0 && name_char(text[begin - 1])) --begin;
                   while (end < text.size() && name_char(text[end])) ++end;
                   std::string name(text.substr(begin, end - begin));
                   if (fnmatch(glob.c_str(), name.c_str(), 0) != 0 || in_comment(text, at)) {
                     return false;
                   }
                   std::string_view before = text.substr(0, begin);
                   while (!before.empty() && blank(before.back())) before.remove_suffix(1);
                   std::string_view after = text.substr(end);
                   while (!after.empty() && (blank(after.front()) || after.front() == '\\')) {
                     after.remove_prefix(1);
                   }
                   if (before.ends_with("def")) return false;
                   if (after.empty() || after.front() == '(' || first_word(after) == "as") {
                     return true;
                   }
                   bool ends =
                       std::string_view("\r\n;#").find(after.front()) != std::string_view::npos;
                   return ends && !before.empty() &&
                          std::string_view("=,(").find(before.back()) != std::string_view::npos;
                 }};
}

std::optional<Telling> PythonFrontend::stepped_slice() const {
  return Telling{":", "::", [](std::string_view text, size_t at) {
                   const size_t first = at;
                   for (++at; at < text.size(); ++at) {
                     while (text.substr(at).starts_with("        ")) at += 8;
                     if (at == text.size()) break;
                     if (text[at] == '#')
                       at = std::min(find_of_bytes(text, at, '\r', '\n', '\r', '\n'),
                                     text.size() - 1);
                     if (!space(text[at]) && text[at] != '\\') break;
                   }
                   return at < text.size() && text[at] == ':' && !in_comment(text, first);
                 }};
}

}  // namespace refit::python
