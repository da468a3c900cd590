// See scripted.hpp.
#include "rewriter/python/names/scripted.hpp"

#include <algorithm>
#include <vector>

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

size_t line_begin(std::string_view text, size_t at) {
  size_t newline = at == 0 ? std::string_view::npos : text.find_last_of("\r\n", at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

size_t skip_blanks(std::string_view text, size_t at) {
  while (at < text.size() && (space(text[at]) || text[at] == '\\')) ++at;
  return at;
}

class Reader {
 public:
  Reader(std::string_view text, TextNotes& out) : text_(text), out_(out) {}

  // At a name of TorchScript's compiler, which ends at `end`.
  void read(size_t begin, size_t end) {
    if (in_comment(text_, begin)) return;
    if (begin > 0 && text_[begin - 1] == '.') {
      if (word_before(text_, begin - 1) != "jit") return;
    } else if (text_.find("torch.jit") == std::string_view::npos) {
      return;
    }
    const size_t line = skip_blanks(text_, line_begin(text_, begin));
    if (line < text_.size() && text_[line] == '@') {
      const size_t definition = text_.find("def ", end);
      if (definition != std::string_view::npos) note_calls(definition);
    } else {
      const size_t open = skip_blanks(text_, end);
      if (open < text_.size() && text_[open] == '(') {
        handed(skip_blanks(text_, open + 1));
      } else {
        note_decorator(assigned(line, begin));
      }
      note_functions_around(line);
    }
    while (!found_.empty()) {
      const std::string_view name = found_.back();
      found_.pop_back();
      each_definition(name, [&](size_t at) { note_calls(at); });
    }
  }

 private:
  // `f`, `module.f`, `Class(…)`, `obj=f`.
  void handed(size_t at) {
    std::string_view name = first_word(text_.substr(at));
    size_t behind = skip_blanks(text_, at + name.size());
    if (name == "obj" && behind < text_.size() && text_[behind] == '=') {
      handed(skip_blanks(text_, behind + 1));
      return;
    }
    while (behind < text_.size() && text_[behind] == '.') {
      at = behind + 1;
      name = first_word(text_.substr(at));
      behind = at + name.size();
    }
    note(name);
  }

  // The name that a statement gives to what stands at `end`; its parts' names do no harm.
  std::string_view assigned(size_t line, size_t end) const {
    const size_t equals = text_.substr(0, end).rfind('=');
    if (equals == std::string_view::npos || equals <= line) return {};
    size_t name = equals;
    while (name > line && space(text_[name - 1])) --name;
    return word_before(text_, name);
  }

  // The functions that the statement of a line stands in: a decorator, or what makes one.
  void note_functions_around(size_t line) {
    size_t begin = line_begin(text_, line), depth = line - begin;
    while (begin > 0 && depth > 0) {
      begin = line_begin(text_, begin - 1);
      const size_t code = skip_blanks(text_, begin);
      const std::string_view rest = text_.substr(code);
      if (code - begin >= depth || rest.empty() || rest[0] == '#' || rest[0] == '\r' ||
          rest[0] == '\n') {
        continue;
      }
      depth = code - begin;
      if (rest.starts_with("def ")) {
        note_decorator(first_word(text_.substr(skip_blanks(text_, code + 4))));
      }
    }
  }

  void note_decorator(std::string_view name) {
    if (!name.empty()) out_.scripting.push_back(name_hash(name));
  }

  void note(std::string_view name) {
    const uint64_t hash = name_hash(name);
    auto& known = out_.scripted;
    if (name.empty() || std::find(known.begin(), known.end(), hash) != known.end()) return;
    known.push_back(hash);
    found_.push_back(name);
  }

  template <typename Found>
  void each_definition(std::string_view name, Found found) const {
    constexpr std::string_view kDef = "def ";
    for (size_t at = text_.find(name); at != std::string_view::npos;
         at = text_.find(name, at + 1)) {
      const bool whole = at + name.size() < text_.size() && !name_char(text_[at + name.size()]) &&
                         text_.substr(0, at).ends_with(kDef);
      if (whole) found(at - kDef.size());
    }
  }

  // The functions that a definition calls by a bare name.
  void note_calls(size_t definition) {
    const size_t line = line_begin(text_, definition);
    const size_t depth = text_.find_first_not_of(" \t", line) - line;
    size_t end = definition;
    while (true) {  // a line that is not further right ends the body; a header's bracket may close
      end = text_.find_first_of("\r\n", end);
      if (end == std::string_view::npos) break;
      const size_t next = end + 1, code = text_.find_first_not_of(" \t", next);
      end = next;
      if (code == std::string_view::npos) break;
      const bool empty = std::string_view("\r\n#)").find(text_[code]) != std::string_view::npos;
      if (!empty && code - next <= depth) break;
    }
    const std::string_view body =
        text_.substr(definition, std::min(end, text_.size()) - definition);
    for (size_t open = body.find('('); open != std::string_view::npos;
         open = body.find('(', open + 1)) {
      const std::string_view name = word_before(body, open);
      const size_t begin = open - name.size();
      if (begin > 0 && (body[begin - 1] == '.' || begin == 4)) continue;  // the header's own name
      note(name);
    }
  }

  std::string_view text_;
  TextNotes& out_;
  std::vector<std::string_view> found_;  // what they call is to be noted
};

}  // namespace

void note_scripted(std::string_view text, const NotedPlaces& places, TextNotes& out) {
  Reader reader(text, out);
  for (auto word : {NotedPlaces::kScript, NotedPlaces::kScriptIfTracing}) {
    for (size_t at : places.of(word)) reader.read(at, at + NotedPlaces::text_of(word).size());
  }
}

}  // namespace refit::python
