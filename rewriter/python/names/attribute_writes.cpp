// See stores.hpp.
#include "rewriter/python/names/attribute_writes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

// NAME of `….NAME` where the object is another than `self`, else nothing.
std::string_view attribute_of_other(std::string_view target) {
  std::string_view name = word_before(target, target.size());
  std::string_view object = trimmed(target.substr(0, target.size() - name.size()));
  if (name.empty() || !object.ends_with('.')) return {};
  object = trimmed(object.substr(0, object.size() - 1));
  bool own = word_before(object, object.size()) == "self" &&
             (object.size() == 4 || object[object.size() - 5] != '.');
  return own ? std::string_view{} : name;
}

// Whether what stands before a colon is what the annotation behind it is about.
bool is_target(std::string_view text) {
  return !text.empty() && text != "else" && text != "try" && text != "finally" &&
         text.find_first_of(" \t(") == std::string_view::npos;
}

// What stands in the quotes at `at`; nothing where a text does not begin there or is made up.
std::string_view quoted(std::string_view text, size_t at) {
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return {};
  size_t end = text.find(text[at], at + 1);
  return end == std::string_view::npos ? std::string_view{} : text.substr(at + 1, end - at - 1);
}

using Bytes = std::array<bool, 256>;

constexpr Bytes bytes_of(std::string_view bytes) {
  Bytes table{};
  for (unsigned char c : bytes) table[c] = true;
  return table;
}

// Bytes at which the targets of an assignment may end, or be put in brackets.
constexpr Bytes kSplits = bytes_of("([{)]},:");
// Bytes that an `=` may follow as a part of another operator.
constexpr Bytes kOperators = bytes_of("=!<>:+-*/%|&^@");

// Whether the `=` at `at` is a part of an operator that stores nothing.
bool is_compared(std::string_view text, size_t at) {
  const char last = text[at - 1];
  return last == '=' || last == '!' || last == ':' ||
         ((last == '<' || last == '>') && (at < 2 || text[at - 2] != last));
}

// Whether a head is `self.NAME` and nothing else.
bool own_attribute(std::string_view head) {
  auto skip = [&](size_t at) {
    while (at < head.size() && (head[at] == ' ' || head[at] == '\t')) ++at;
    return at;
  };
  constexpr std::string_view kSelf = "self.";
  const size_t at = skip(0);
  if (!head.substr(at).starts_with(kSelf)) return false;
  const std::string_view name = first_word(head.substr(at + kSelf.size()));
  return !name.empty() && skip(at + kSelf.size() + name.size()) == head.size();
}

// What stands before the `=` at `at` in its line, with the lines that a backslash or the brackets
// around the targets join to it.
std::string_view head_of(std::string_view text, size_t begin, size_t at) {
  size_t from = begin;
  if (trimmed(text.substr(begin, at - begin)).front() != '.') {
    constexpr size_t kFar = 2000;
    for (int depth = 0; from > 0 && begin - from < kFar; --from) {
      const char c = text[from - 1];
      depth += static_cast<int>(c == ')' || c == ']') - static_cast<int>(c == '(' || c == '[');
      if (depth < 0) break;
    }
    while (from > 0 && text[from - 1] != '\n') --from;
  }
  while (from > 1 && text[from - 1] == '\n' && text[from - 2] == '\\') {
    const size_t line = text.rfind('\n', from - 2);
    from = line == std::string_view::npos ? 0 : line + 1;
  }
  return text.substr(from, at - from);
}

// The targets in what may be the header of a `for` or `with`: `for attn.norm, y in …:`,
// `with x as attn.norm:`.
void note_header(std::string_view header, TextNotes& out) {
  constexpr std::string_view kAsync = "async ", kFor = "for ", kWith = "with", kAs = " as ";
  if (header.starts_with(kAsync)) header = trimmed(header.substr(kAsync.size()));
  auto note_targets = [&](size_t from, size_t last) {
    while (from < last) {
      const size_t comma = std::min(header.find_first_of(",)]:", from), last);
      const std::string_view name = attribute_of_other(trimmed(header.substr(from, comma - from)));
      from = comma + 1;
      if (!name.empty()) out.stored.push_back(name_hash(name));
    }
  };
  if (header.starts_with(kFor)) {
    const size_t in = header.find(" in ");
    if (in != std::string_view::npos) note_targets(kFor.size(), in);
  } else if (first_word(header) == kWith) {
    for (size_t at = header.find(kAs); at != std::string_view::npos;) {
      const size_t next = header.find(kAs, at + 1);
      note_targets(at + kAs.size(), std::min(next, header.size()));
      at = next;
    }
  }
}

// Whether the line from `begin` has but a bracket before the `=` at `at`, that of targets before
// it.
bool closes_targets(std::string_view text, size_t begin, size_t at) {
  if (at > begin && text[at - 1] == ' ') --at;
  return at > begin && (text[at - 1] == ')' || text[at - 1] == ']') &&
         trimmed(text.substr(begin, at - 1 - begin)).empty();
}

// One bit for each of up to 64 bytes that ends a line, is a dot, `=` or `:`.
struct Marks {
  uint64_t ends = 0, dots = 0, equals = 0, colons = 0;
};

Marks marks(std::string_view block) {
  auto bits = [&](char byte) {
    return block.size() == 64 ? byte_scan::equal_bits_64(block.data(), byte)
                              : byte_scan::plain_bits(block, [byte](char c) { return c == byte; });
  };
  return {bits('\n'), bits('.'), bits('='), bits(':')};
}

// Calls visit(begin, at) for each `=` and `:` behind a dot of its line, which begins at `begin`,
// and for each `=` behind a bracket that targets end in.
template <typename Visit>
void each_behind_dot(std::string_view text, Visit visit) {
  size_t begin = 0;
  bool dot = false;  // since the line began, in the bytes before
  for (size_t base = 0; base < text.size(); base += 64) {
    const auto [ends, dots, equals, colons] = marks(text.substr(base, 64));
    uint64_t wanted = dot || dots != 0 ? equals | colons : equals;
    for (; wanted != 0; wanted &= wanted - 1) {
      const uint64_t bit = wanted & -wanted, before = bit - 1;
      const uint64_t line_ends = ends & before;
      const auto line = static_cast<size_t>(64 - std::countl_zero(line_ends));  // in the block
      const size_t from = line_ends != 0 ? base + line : begin;
      const size_t at = base + static_cast<size_t>(std::countr_zero(bit));
      if ((dots & before) >> line == 0 && (line_ends != 0 || !dot) &&
          ((equals & bit) == 0 || !closes_targets(text, from, at))) {
        continue;
      }
      visit(from, at);
    }
    if (ends != 0) {
      const auto line = static_cast<size_t>(64 - std::countl_zero(ends));
      begin = base + line;
      dot = line < 64 && dots >> line != 0;
    } else {
      dot = dot || dots != 0;
    }
  }
}

// `a.norm = …`, `a.norm: nn.Module = …`, `a.norm, b.norm = …`, `a.norm += …`.
void note_assignments(std::string_view text, TextNotes& out) {
  each_behind_dot(text, [&](size_t begin, size_t at) {
    if (text[at] == ':') {
      while (blank(text[begin])) ++begin;
      if (text[begin] == 'f' || text[begin] == 'w' || text[begin] == 'a') {
        note_header(text.substr(begin, at - begin), out);
      }
      return;
    }
    if (at + 1 >= text.size() || text[at + 1] == '=' || is_compared(text, at)) return;
    std::string_view head = text.substr(begin, at - begin);
    while (!head.empty() && kOperators[static_cast<unsigned char>(head.back())]) {
      head.remove_suffix(1);  // `a.norm += …`
    }
    if (head.find(';') != std::string_view::npos) head.remove_prefix(head.rfind(';') + 1);
    if (own_attribute(head)) return;
    const size_t dot = head.find('.');
    if (dot == std::string_view::npos ? closes_targets(text, begin, at)
                                      : trimmed(head.substr(0, dot)).empty()) {
      head = head_of(text, begin, at);
    } else if (dot == std::string_view::npos) {
      return;
    }
    int depth = 0;
    size_t piece = 0;
    for (size_t i = 0; i <= head.size(); ++i) {
      while (i < head.size() && !kSplits[static_cast<unsigned char>(head[i])]) ++i;
      char c = i < head.size() ? head[i] : ',';
      if (c == '(' || c == '[' || c == '{') {
        if (depth++ == 0 && trimmed(head.substr(piece, i - piece)).empty()) {
          --depth;  // the parentheses of a tuple of targets
          piece = i + 1;
        }
      } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
        --depth;
      } else if (depth == 0 && (c == ',' || c == ':' || c == ')' || c == ']')) {
        std::string_view whole = trimmed(head.substr(piece, i - piece));
        const std::string_view name = attribute_of_other(whole);
        if (!name.empty()) out.stored.push_back(name_hash(name));
        if (c == ':' && piece == 0 && is_target(whole)) break;  // an annotation follows
        piece = i + 1;
      }
    }
  });
}

// OBJECT of `OBJECT.__setattr__(`, whose name ends in what is at `at`.
std::string_view caller(std::string_view text, size_t at) {
  const std::string_view word = word_before(text, at);
  if (word != "__" || at < 3 || text[at - 3] != '.') return {};
  size_t begin = at - 3;
  while (begin > 0 && (name_char(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return text.substr(begin, at - 3 - begin);
}

// Whether a `__setattr__` whose bracket is at `open` is its object's own: called without it.
bool is_own(const Lines& lines, std::string_view text, size_t open) {
  const size_t close = lines.find_outside(open + 1, text.size(), ')');
  return close != std::string_view::npos &&
         lines.parts(text.substr(open + 1, close - open - 1)).size() == 2;
}

// `setattr(attn, "norm", …)`, `attn.add_module("norm", …)`, `attn._modules["norm"] = …`. The result
// says whether a name is one that the file computes.
bool note_calls(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  bool computed = false;
  auto note = [&](size_t at) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) return;
    std::string_view name = quoted(text, at);
    if (name.empty()) {
      computed = true;
    } else {
      out.stored.push_back(name_hash(name));
    }
  };
  const Lines lines(text);
  std::vector<size_t> setters;
  for (auto word : {NotedPlaces::kSetattr, NotedPlaces::kSetattr1, NotedPlaces::kSetattr2}) {
    setters.insert(setters.end(), places.of(word).begin(), places.of(word).end());
  }
  std::sort(setters.begin(), setters.end());
  for (size_t at : setters) {
    if (in_comment(text, at)) continue;
    size_t open = text.find('(', at);
    size_t comma = text.find(',', open);
    if (comma == std::string_view::npos) break;
    if (trimmed(text.substr(open + 1, comma - open - 1)) == "self") continue;
    size_t named = comma + 1;
    if (std::string_view own = caller(text, at); !own.empty() && is_own(lines, text, open)) {
      named = open + 1;
    }
    note(named);
  }
  for (auto store :
       {NotedPlaces::kAddModule, NotedPlaces::kRegisterModule, NotedPlaces::kModules}) {
    for (size_t at : places.of(store)) {
      if (word_before(text, at) != "self") note(at + NotedPlaces::text_of(store).size());
    }
  }
  return computed;
}

// `attn.norm.register_forward_hook(…)`: what a call of the layer gives is no longer its own.
void note_hooks(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  for (auto hook :
       {NotedPlaces::kForwardHook, NotedPlaces::kForwardPreHook, NotedPlaces::kForward}) {
    for (size_t at : places.of(hook)) {
      std::string_view name = word_before(text, at);
      bool attribute = at > name.size() && text[at - name.size() - 1] == '.';
      if (attribute) out.stored.push_back(name_hash(name));
    }
  }
}

// The classes in `isinstance(x, …)`, `type(x) == …` and tables of a file, by the look of a name.
void note_replaced(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  auto note_words = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!name_char(text[i]) || (i > 0 && name_char(text[i - 1]))) continue;
      size_t last = i;
      while (last < end && name_char(text[last])) ++last;
      if (text[i] >= 'A' && text[i] <= 'Z') {
        out.replaced.push_back(name_hash(text.substr(i, last - i)));
      }
    }
  };
  auto note_question = [&](size_t at) {
    // As far as the statement's head goes: a tuple of classes may take several lines.
    const std::string_view head = text.substr(at, 400);
    note_words(at, at + std::min(head.find(':'), head.size()));
  };
  for (auto question : {NotedPlaces::kIsinstance, NotedPlaces::kType}) {
    for (size_t at : places.of(question)) note_question(at);
  }
  constexpr std::string_view kClassOf = "__class__";
  for (size_t at = text.find(kClassOf); at != std::string_view::npos;
       at = text.find(kClassOf, at + 1)) {
    note_question(at);
  }
  for (const auto& [begin, at] : places.titles()) {
    out.replaced.push_back(name_hash(text.substr(begin, at - begin)));
  }
}

}  // namespace

void note_stores(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  note_assignments(text, out);
  note_hooks(text, places, out);
  if (note_calls(text, places, out)) note_replaced(text, places, out);
}

void AttributeWrites::add(const TextNotes& notes) {
  stored_.insert(notes.stored.begin(), notes.stored.end());
  replaced_.insert(notes.replaced.begin(), notes.replaced.end());
}

}  // namespace refit::python
