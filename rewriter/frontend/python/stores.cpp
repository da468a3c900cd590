// See stores.hpp.
#include "rewriter/frontend/python/stores.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/project/byte_scan.hpp"

namespace refit::python {

namespace {

// The word that ends before `end`.
std::string_view word_before(std::string_view text, size_t end) {
  size_t begin = end;
  while (begin > 0 && name_char(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// NAME of `….NAME` where the object is another than `self`, else nothing.
std::string_view attribute_of_other(std::string_view target) {
  std::string_view name = word_before(target, target.size());
  size_t dot = target.size() - name.size();
  if (name.empty() || dot == 0 || target[dot - 1] != '.') return {};
  std::string_view object = target.substr(0, dot - 1);
  bool own = word_before(object, object.size()) == "self" &&
             (object.size() == 4 || object[object.size() - 5] != '.');
  return own ? std::string_view{} : name;
}

// Whether a line goes on inside the brackets of the one before: `f(g.h,` or `f(`.
bool goes_on(std::string_view text, size_t line) {
  size_t last = line == 0 ? std::string_view::npos : text.find_last_not_of(" \t\r\n", line - 1);
  return last != std::string_view::npos &&
         std::string_view("([{,").find(text[last]) != std::string_view::npos;
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
// Bytes behind which an `=` is a part of another operator.
constexpr Bytes kOperators = bytes_of("=!<>:+-*/%|&^@");

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

// Calls visit(begin, at) for each `=` behind a dot of its line, which begins at `begin`.
template <typename Visit>
void each_equals_behind_dot(std::string_view text, Visit visit) {
  size_t begin = 0;
  bool dot = false;  // since the line began, in the bytes before
  for (size_t base = 0; base < text.size(); base += 64) {
    const std::string_view block = text.substr(base, 64);
    auto bits = [&](char byte) {
      return block.size() == 64
                 ? byte_scan::equal_bits_64(block.data(), byte)
                 : byte_scan::plain_bits(block, [byte](char c) { return c == byte; });
    };
    const uint64_t ends = bits('\n'), dots = bits('.');
    for (uint64_t equals = bits('='); equals != 0; equals &= equals - 1) {
      const uint64_t before = (equals & -equals) - 1;
      const uint64_t line_ends = ends & before;
      const auto line = static_cast<size_t>(64 - std::countl_zero(line_ends));  // in the block
      if ((dots & before) >> line == 0 && (line_ends != 0 || !dot)) continue;
      visit(line_ends != 0 ? base + line : begin,
            base + static_cast<size_t>(std::countr_zero(equals)));
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

// `a.norm = …`, `a.norm: nn.Module = …`, `a.norm, b.norm = …`.
void note_assignments(std::string_view text, ReplacedReader& replaced, TextNotes& out) {
  each_equals_behind_dot(text, [&](size_t begin, size_t at) {
    if (at + 1 >= text.size() || text[at + 1] == '=' ||
        kOperators[static_cast<unsigned char>(text[at - 1])]) {
      return;
    }
    std::string_view head = text.substr(begin, at - begin);
    if (head.find(';') != std::string_view::npos) head.remove_prefix(head.rfind(';') + 1);
    if (own_attribute(head) || head.find('.') == std::string_view::npos) return;
    std::optional<bool> argument;  // of a call that goes on
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
        std::string_view name = attribute_of_other(whole);
        if (!name.empty()) {
          out.stored.push_back(name_hash(name));
          if (!argument) {
            argument = head.find(',') != std::string_view::npos && goes_on(text, begin);
          }
          if (!*argument) replaced.store(whole.substr(0, whole.size() - name.size() - 1), name);
        }
        if (c == ':' && piece == 0 && is_target(whole)) break;  // an annotation follows
        piece = i + 1;
      }
    }
  });
}

// `setattr(attn, "norm", …)`, `attn.add_module("norm", …)`, `attn._modules["norm"] = …`. The result
// says whether a name is one that the file computes.
bool note_calls(std::string_view text, const NotedPlaces& places, ReplacedReader& replaced,
                TextNotes& out) {
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
    std::string_view object = trimmed(text.substr(open + 1, comma - open - 1));
    if (object == "self") continue;
    note(comma + 1);
    std::string_view name = quoted(text, text.find_first_not_of(" \t\r\n", comma + 1));
    if (text.substr(0, at).ends_with("monkeypatch.")) continue;
    if (!name.empty()) {
      replaced.store(object, name);
    } else {
      replaced.store_any(object);
    }
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
void note_exchanged(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  auto note_words = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!name_char(text[i]) || (i > 0 && name_char(text[i - 1]))) continue;
      size_t last = i;
      while (last < end && name_char(text[last])) ++last;
      if (text[i] >= 'A' && text[i] <= 'Z') {
        out.exchanged.push_back(name_hash(text.substr(i, last - i)));
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
  for (size_t at = find_text(text, kClassOf); at != std::string_view::npos;
       at = find_text(text, kClassOf, at + 1)) {
    note_question(at);
  }
  for (const auto& [begin, at] : places.titles()) {
    out.exchanged.push_back(name_hash(text.substr(begin, at - begin)));
  }
}

}  // namespace

void note_stores(std::string_view text, const NotedPlaces& places, ReplacedReader& replaced,
                 TextNotes& out) {
  note_assignments(text, replaced, out);
  note_hooks(text, places, out);
  if (note_calls(text, places, replaced, out)) note_exchanged(text, places, out);
}

void OutsideStores::add(uint32_t file, const TextNotes& notes) {
  stored_.insert(notes.stored.begin(), notes.stored.end());
  exchanged_.insert(notes.exchanged.begin(), notes.exchanged.end());
  replaced_.add(file, notes);
}

}  // namespace refit::python
