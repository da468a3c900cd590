// See stores.hpp.
#include "rewriter/frontend/python/stores.hpp"

#include <algorithm>
#include <array>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/project/literals.hpp"

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

// What add looks for in every file of a project, in one pass.
constexpr std::array<std::string_view, 3> kHooks{".register_forward_hook(",
                                                 ".register_forward_pre_hook(", ".forward ="};
constexpr std::array<std::string_view, 3> kStores{".add_module(", ".register_module(",
                                                  "._modules["};
constexpr uint32_t kSetattr = 0, kFirstHook = 1, kFirstStore = kFirstHook + kHooks.size();
struct Words {
  Literals literals;
  Words() {
    literals.add("setattr", false);
    for (std::string_view hook : kHooks) literals.add(hook, false);
    for (std::string_view store : kStores) literals.add(store, false);
    literals.build();
  }
};

}  // namespace

void OutsideStores::add(std::string_view text, uint32_t file, bool test) {
  static const Words words;
  const Places places = words.literals.places(text);
  replaced_.begin(file, text, test);
  replaced_.note_text();
  note_assignments(text);
  note_hooks(text, places);
  if (note_calls(text, places)) note_classes(text);
}

// `a.norm = …`, `a.norm: nn.Module = …`, `a.norm, b.norm = …`.
void OutsideStores::note_assignments(std::string_view text) {
  for (size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    if (at == 0 || at + 1 >= text.size()) continue;
    if (text[at + 1] == '=') {
      ++at;
      continue;
    }
    if (std::string_view("=!<>:+-*/%|&^@").find(text[at - 1]) != std::string_view::npos) continue;
    size_t begin = text.rfind('\n', at - 1);
    begin = begin == std::string_view::npos ? 0 : begin + 1;
    std::string_view head = text.substr(begin, at - begin);
    if (head.find('.') == std::string_view::npos) continue;
    const bool argument = head.find(',') != std::string_view::npos && goes_on(text, begin);
    int depth = 0;
    size_t piece = 0;
    for (size_t i = 0; i <= head.size(); ++i) {
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
          stored_.emplace(name);
          if (!argument) replaced_.store(whole.substr(0, whole.size() - name.size() - 1), name);
        }
        if (c == ':' && piece == 0 && is_target(whole)) break;  // an annotation follows
        piece = i + 1;
      }
    }
  }
}

// `setattr(attn, "norm", …)`, `attn.add_module("norm", …)`, `attn._modules["norm"] = …`. The result
// says whether a name is one that the file computes.
bool OutsideStores::note_calls(std::string_view text, const Places& places) {
  bool computed = false;
  auto note = [&](size_t at) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string_view::npos) return;
    std::string_view name = quoted(text, at);
    if (name.empty()) {
      computed = true;
    } else {
      stored_.emplace(name);
    }
  };
  for (size_t at : places[kSetattr]) {
    size_t open = text.find_first_not_of("_", at + 7);
    if (open == std::string_view::npos || text[open] != '(') continue;
    size_t comma = text.find(',', open);
    if (comma == std::string_view::npos) break;
    std::string_view object = trimmed(text.substr(open + 1, comma - open - 1));
    if (object == "self") continue;
    note(comma + 1);
    std::string_view name = quoted(text, text.find_first_not_of(" \t\r\n", comma + 1));
    if (!name.empty() && !text.substr(0, at).ends_with("monkeypatch.")) {
      replaced_.store(object, name);
    }
  }
  for (uint32_t i = 0; i < kStores.size(); ++i) {
    for (size_t at : places[kFirstStore + i]) {
      if (word_before(text, at) != "self") note(at + kStores[i].size());
    }
  }
  return computed;
}

// `attn.norm.register_forward_hook(…)`: what a call of the layer gives is no longer its own.
void OutsideStores::note_hooks(std::string_view text, const Places& places) {
  for (uint32_t i = 0; i < kHooks.size(); ++i) {
    for (size_t at : places[kFirstHook + i]) {
      std::string_view name = word_before(text, at);
      bool attribute = at > name.size() && text[at - name.size() - 1] == '.';
      if (attribute) stored_.emplace(name);
    }
  }
}

// The classes in `isinstance(x, …)`, `type(x) == …` and tables of a file, by the look of a name.
void OutsideStores::note_classes(std::string_view text) {
  auto note_words = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!name_char(text[i]) || (i > 0 && name_char(text[i - 1]))) continue;
      size_t last = i;
      while (last < end && name_char(text[last])) ++last;
      if (text[i] >= 'A' && text[i] <= 'Z') exchanged_.emplace(text.substr(i, last - i));
    }
  };
  for (std::string_view question : {"isinstance(", "type(", "__class__"}) {
    for (size_t at = text.find(question); at != std::string_view::npos;
         at = text.find(question, at + 1)) {
      // As far as the statement's head goes: a tuple of classes may take several lines.
      size_t end = std::min(text.find(':', at), text.size());
      note_words(at, std::min(end, at + 400));
    }
  }
  for (size_t at = text.find_first_of("\"':"); at != std::string_view::npos;
       at = text.find_first_of("\"':", at + 1)) {
    std::string_view word = word_before(text, at);
    if (!word.empty() && word.front() >= 'A' && word.front() <= 'Z') exchanged_.emplace(word);
  }
}

}  // namespace refit::python
