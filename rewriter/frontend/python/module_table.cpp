// What a text puts into the table of modules: `sys.modules["pkg.helpers"] = o` and its other
// spellings. See replaced.hpp; entry point: ReplacedReader::note_modules.
#include <algorithm>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/frontend/python/replaced.hpp"

namespace refit::python {

namespace {

constexpr size_t kNone = std::string_view::npos;

bool joins(char c) { return space(c) || c == '\\'; }

size_t skip(std::string_view text, size_t at) {
  while (at < text.size() && joins(text[at])) ++at;
  return at;
}

bool quote(char c) { return c == '"' || c == '\''; }

// Calls found(content) for each string of one line in a text.
template <typename Found>
void each_string(std::string_view text, Found found) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (!quote(text[at])) continue;
    const size_t end = text.find(text[at], at + 1);
    if (end == kNone) return;
    found(text.substr(at + 1, end - at - 1));
    at = end;
  }
}

bool dotted(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return name_char(c) || c == '.'; });
}

// Whether a value is a call that is handed `__name__` first, as what loads a package's modules
// when they are asked for is.
bool named_first(std::string_view value) {
  const size_t open = value.find('(');
  return open != kNone && dotted(trimmed(value.substr(0, open))) &&
         trimmed(value.substr(open + 1, 200)).starts_with("__name__");
}

}  // namespace

void ReplacedReader::note_modules() {
  const std::string_view table = NotedPlaces::text_of(NotedPlaces::kTableOfModules);
  std::vector<std::string_view> names;  // others of the table
  std::optional<bool> by_itself;        // `from sys import modules`
  for (size_t at : places_.of(NotedPlaces::kTableOfModules)) {
    size_t begin = at;
    while (begin > 0 && joins(text_[begin - 1])) --begin;
    const size_t behind = at + table.size();
    if (begin > 0 && text_[begin - 1] == '.') {
      while (--begin > 0 && joins(text_[begin - 1])) {
      }
      const std::string_view object = word_before(text_, begin);
      const std::string_view call = text_.substr(0, begin);
      if (renamed_.of(object) != "sys" && !call.ends_with("\"sys\")") && !call.ends_with("'sys')"))
        continue;
      begin -= object.size();
      std::string_view head = trimmed(text_.substr(0, begin));
      if (head.ends_with('=') && (behind == text_.size() || text_[behind] != '[')) {
        head = trimmed(head.substr(0, head.find_last_not_of(":= ") + 1));
        names.push_back(word_before(head, head.size()));
      }
    } else {
      constexpr std::string_view kAs = " as ";
      if (!by_itself) by_itself = text_.find("from sys import") != kNone;
      if (!*by_itself) continue;
      if (text_.substr(behind).starts_with(kAs)) {
        names.push_back(first_word(text_.substr(behind + kAs.size())));
        continue;
      }
    }
    if (!in_comment(text_, at)) note_table(begin, behind);
  }
  for (std::string_view name : names) {
    if (name.empty()) continue;
    for (size_t at = text_.find(name); at != kNone; at = text_.find(name, at + 1)) {
      const size_t behind = at + name.size();
      if (at > 0 && (name_char(text_[at - 1]) || text_[at - 1] == '.')) continue;
      if (behind < text_.size() && name_char(text_[behind])) continue;
      if (!in_comment(text_, at)) note_table(at, behind);
    }
  }
}

// What the table that is named in [begin, end) is given there.
void ReplacedReader::note_table(size_t begin, size_t end) {
  const Lines lines(text_);
  auto note = [&](uint64_t module) {
    out_.modules.push_back({module, static_cast<uint32_t>(begin)});
  };
  auto note_strings = [&](size_t from, size_t to, bool first) {
    bool more = true;
    each_string(text_.substr(from, to - from), [&](std::string_view name) {
      if (more && dotted(name)) note(name_hash(name));
      more = more && !first;
    });
  };
  size_t at = skip(text_, end);
  const std::string_view rest = text_.substr(at);
  if (rest.starts_with('[')) {
    const size_t close = lines.find_outside(at + 1, text_.size(), ']');
    if (close == kNone) return;
    const std::string_view key = trimmed(text_.substr(at + 1, close - at - 1));
    const size_t next = skip(text_, close + 1);
    const std::string_view behind = text_.substr(next);
    bool stored = behind.starts_with('=') && !behind.starts_with("==");
    const size_t line = begin == 0 ? 0 : text_.rfind('\n', begin - 1) + 1;
    const std::string_view head = trimmed(text_.substr(line, begin - line));
    if (behind.starts_with(',') && head.find_first_of("=([{") == kNone) {
      const size_t line_end = std::min(text_.find('\n', next), text_.size());
      const size_t sign = lines.find_outside(next, line_end, '=');
      stored = sign != kNone && !text_.substr(sign).starts_with("==");
    }
    stored = stored || head == "for" || head.ends_with(" as") || head.ends_with(" for");
    if (!stored) return;
    if (key == "__name__") {
      return note(name_hash(named_first(trimmed(behind.substr(1, 400))) ? kLoadsItself : kItself));
    }
    if (quote(key.front()) && quote(key.back()) && dotted(key.substr(1, key.size() - 2))) {
      return note(name_hash(key.substr(1, key.size() - 2)));
    }
    std::string_view last;  // `f"{__name__}.helpers"`, `__package__ + ".helpers"`
    each_string(key, [&](std::string_view part) { last = part; });
    const size_t dot = last.rfind('.');
    if (dot == kNone || !quote(key.back())) return;
    last.remove_prefix(dot + 1);
    if (dotted(last)) note(paired(name_hash("*"), name_hash(last)));
    return;
  }
  for (std::string_view way : {".update(", ".setdefault(", ".__setitem__(", ".__ior__("}) {
    if (!rest.starts_with(way)) continue;
    const size_t open = at + way.size();
    const size_t close = lines.find_outside(open, text_.size(), ')');
    if (close == kNone) return;
    note_strings(open, close, way != ".update(" && way != ".__ior__(");
    if (way != ".update(") return;
    for (std::string_view part : lines.parts(text_.substr(open, close - open))) {
      const std::string_view name = first_word(part);
      const std::string_view sign = trimmed(part.substr(name.size()));
      if (!name.empty() && sign.starts_with('=')) note(name_hash(name));
    }
    return;
  }
  if (rest.starts_with("|=")) {
    const size_t line_end = std::min(text_.find('\n', at), text_.size());
    const size_t open = text_.find('{', at);
    if (open == kNone || open > line_end) return;
    note_strings(open, lines.find_outside(open + 1, text_.size(), '}'), false);
  } else {  // `patch.dict(sys.modules, {…})`, `setitem(sys.modules, "…", o)`
    if (!rest.empty() && quote(rest.front())) at = skip(text_, at + 1);
    if (at == text_.size() || text_[at] != ',') return;
    const size_t close = lines.find_outside(at, text_.size(), ')');
    if (close != kNone) note_strings(at, close, false);
  }
}

}  // namespace refit::python
