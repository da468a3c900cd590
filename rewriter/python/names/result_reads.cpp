// See result_reads.hpp.
#include "rewriter/python/names/result_reads.hpp"

#include <algorithm>
#include <iterator>

#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr size_t kNone = std::string_view::npos;
constexpr size_t kFar = 1 << 16;  // bytes to either side of a call that are looked through

// Methods whose result lies as their object does.
constexpr std::string_view kKeeping[] = {"add", "bfloat16", "div", "double", "float",  "half",
                                         "mul", "sub",      "to",  "type",   "type_as"};

}  // namespace

ResultReads::ResultReads(std::string_view text) : text_(text), lines_(text) {
  each_word(text, [&](size_t begin, size_t end) {
    size_t open = end;
    while (open < text.size() && blank(text[open])) ++open;
    if (open == text.size() || text[open] != '(') return;
    called_[text.substr(begin, end - begin)].push_back(static_cast<uint32_t>(begin));
  });
}

bool ResultReads::viewed(std::string_view function) {
  const auto calls = called_.find(function);
  if (calls == called_.end()) return false;
  const auto [known, fresh] = known_.emplace(calls->first, false);
  Asked asked;
  if (fresh) known->second = viewed(function, asked);
  return known->second;
}

bool ResultReads::viewed(std::string_view function, Asked& asked) {
  const auto calls = called_.find(function);
  if (calls == called_.end() || !asked.insert(function).second) return false;
  return std::any_of(calls->second.begin(), calls->second.end(), [&](size_t at) {
    if (in_comment(text_, at)) return false;
    size_t before = at;
    while (before > 0 && blank(text_[before - 1])) --before;
    if (word_before(text_, before) == "def") return false;
    const size_t close = call_end(at + function.size());
    if (close == kNone) return false;
    const auto [end, read] = tail(close);
    size_t begin = at;
    while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
    const size_t far = begin - std::min(begin, kFar);
    const std::string_view line = trimmed(line_before(text_.substr(far), begin - far));
    if (line.starts_with(">>>") || line.starts_with("...")) return false;  // of a docstring
    if (read) return true;
    // Whole, or one of several: anything else makes another value of it.
    size_t next = end;
    while (next < text_.size() && blank(text_[next])) ++next;
    const char behind = next < text_.size() ? text_[next] : '\n';
    if (std::string_view("\r\n;#,").find(behind) == std::string_view::npos) return false;
    if (line == "return") return behind != ',' && given_on(at, asked);
    const size_t equals = line.find('=');
    return equals != kNone && kept_and_viewed(line.substr(0, equals), end, asked);
  });
}

// Where a word stands in code, from a place on; `until` where it does not.
size_t ResultReads::next(std::string_view word, size_t from, size_t until) const {
  const std::string_view part = text_.substr(0, until);
  for (size_t at = part.find(word, from); at != kNone; at = part.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool whole =
        (at == 0 || !name_char(text_[at - 1])) && (end == text_.size() || !name_char(text_[end]));
    if (whole && !in_comment(text_, at)) return at;
  }
  return until;
}

size_t ResultReads::skip(size_t at) const {
  while (at < text_.size() && (space(text_[at]) || text_[at] == '\\')) ++at;
  return at;
}

// Behind the bracket that closes a call whose arguments begin at a place; npos where none do.
size_t ResultReads::call_end(size_t at) const {
  while (at < text_.size() && blank(text_[at])) ++at;
  if (at >= text_.size() || text_[at] != '(') return kNone;
  const size_t close = lines_.find_outside(at + 1, std::min(text_.size(), at + kFar), ')');
  return close == kNone ? kNone : close + 1;
}

// Behind the methods that keep the strides of what ends at a place; whether `.view` follows.
ResultReads::Tail ResultReads::tail(size_t end) const {
  while (true) {
    const size_t dot = skip(end);
    if (dot >= text_.size() || text_[dot] != '.') return {end, false};
    const std::string_view method = first_word(text_.substr(dot + 1));
    if (method == "view" || method == "view_as") return {end, true};
    const size_t close = call_end(dot + 1 + method.size());
    const bool keeps =
        std::find(std::begin(kKeeping), std::end(kKeeping), method) != std::end(kKeeping);
    if (!keeps || close == kNone) return {dot, false};
    end = close;
  }
}

// Whether a name is a target where it stands: of an assignment, alone or with others, of `with` or
// `for`.
bool ResultReads::assigned(size_t at, size_t end) const {
  const size_t far = std::min(text_.size(), at + kFar);
  const std::string_view behind = text_.substr(at, far - at);
  const std::string_view rest = behind.substr(0, behind.find_first_of("\r\n"));
  const size_t begin = at - line_before(text_.substr(end), at - end).size();
  const std::string_view before = trimmed(text_.substr(begin, at - begin));
  if (before == "for" || before.ends_with(" as")) return true;
  const size_t equals = rest.find('=');
  if (equals == kNone || rest.substr(equals + 1).starts_with('=')) return false;
  const std::string_view targets = text_.substr(begin, at + equals - begin);
  return std::all_of(targets.begin(), targets.end(), [](char c) {
    return name_char(c) || blank(c) || std::string_view(",*().").find(c) != kNone;
  });
}

// `NAME = `, `A, B = ` or `NAME: type = ` before a call that ends at a place.
bool ResultReads::kept_and_viewed(std::string_view targets, size_t end, Asked& asked) {
  targets = trimmed(targets.substr(0, targets.find(':')));
  while (!targets.empty()) {
    const size_t comma = targets.find(',');
    const std::string_view name = trimmed(targets.substr(0, comma));
    if (!name.empty() && first_word(name) == name && name_viewed(name, end, asked)) return true;
    targets = comma == kNone ? std::string_view{} : targets.substr(comma + 1);
  }
  return false;
}

// Whether a name that holds the result behind a place is read so, until it means something else.
bool ResultReads::name_viewed(std::string_view name, size_t end, Asked& asked) {
  const size_t far = std::min(text_.size(), end + kFar);
  // What stands in the next definition reads no name of this one; nested ones are rare.
  size_t last = far;
  for (size_t def = next("def", end, far); def < far; def = next("def", def + 1, far)) {
    if (!begins_definition(def)) continue;
    last = def;
    break;
  }
  const bool cut = last == far && far < text_.size();
  bool over = false;
  for (size_t at = next(name, end, last); at < last; at = next(name, at + 1, last)) {
    if (at > 0 && text_[at - 1] == '.') continue;
    if (assigned(at, end)) {
      size_t code_end = 0;
      last = std::min(last, lines_.logical_line(at, &code_end));
      over = true;
      continue;
    }
    const auto [behind, read] = tail(at + name.size());
    if (read) return true;
    const size_t follows = skip(behind);
    const bool whole = follows >= text_.size() || text_[follows] != '.';
    const std::string_view line = trimmed(line_before(text_.substr(end), at - end));
    if (whole && line == "return" && given_on(at, asked)) return true;
  }
  return cut && !over;
}

// What stands at a place is given by its function: what reads what that gives.
bool ResultReads::given_on(size_t at, Asked& asked) {
  const size_t deep = indentation(at), far = at - std::min(at, kFar);
  const std::string_view part = text_.substr(far, at - far);
  for (size_t def = part.rfind("def "); def != kNone;
       def = def == 0 ? kNone : part.rfind("def ", def - 1)) {
    if (begins_definition(far + def) && indentation(far + def) < deep) {
      return viewed(first_word(trimmed(part.substr(def + 4))), asked);
    }
  }
  return far > 0;
}

size_t ResultReads::indentation(size_t at) const {
  const size_t far = at - std::min(at, kFar);
  const std::string_view before = line_before(text_.substr(far), at - far);
  return static_cast<size_t>(std::find_if_not(before.begin(), before.end(), blank) -
                             before.begin());
}

bool ResultReads::begins_definition(size_t def) const {
  const size_t far = def - std::min(def, kFar);
  const std::string_view before = trimmed(line_before(text_.substr(far), def - far));
  return before.empty() || before == "async";
}

}  // namespace refit::python
