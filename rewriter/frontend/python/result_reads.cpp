// See result_reads.hpp.
#include "rewriter/frontend/python/result_reads.hpp"

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
    const size_t end = call_end(at + function.size());
    if (end == kNone) return false;
    if (read_by_view(end)) return true;
    size_t begin = at;
    while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
    const size_t far = begin - std::min(begin, kFar);
    const std::string_view line = trimmed(line_before(text_.substr(far), begin - far));
    return line == "return" ? given_on(at, asked) : kept_and_viewed(line, end, asked);
  });
}

// Where a word stands in code, from a place on; `until` where it does not.
size_t ResultReads::next(std::string_view word, size_t from, size_t until) const {
  const std::string_view part = text_.substr(0, until);
  for (size_t at = find_text(part, word, from); at != kNone; at = find_text(part, word, at + 1)) {
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

// Whether what ends at a place is read by `.view`, be it behind methods that keep its strides.
bool ResultReads::read_by_view(size_t end) const {
  while (true) {
    const size_t dot = skip(end);
    if (dot >= text_.size() || text_[dot] != '.') return false;
    const std::string_view method = first_word(text_.substr(dot + 1));
    if (method == "view" || method == "view_as") return true;
    end = call_end(dot + 1 + method.size());
    const bool keeps =
        std::find(std::begin(kKeeping), std::end(kKeeping), method) != std::end(kKeeping);
    if (!keeps || end == kNone) return false;
  }
}

// `NAME =` before a call that ends at a place: whether that name is read so.
bool ResultReads::kept_and_viewed(std::string_view before, size_t end, Asked& asked) {
  if (!before.ends_with('=')) return false;
  const std::string_view name = trimmed(before.substr(0, before.size() - 1));
  if (name.empty() || first_word(name) != name) return false;
  const size_t far = std::min(text_.size(), end + kFar);
  // What stands in the next definition reads no name of this one; nested ones are rare.
  size_t last = far;
  for (size_t def = next("def", end, far); def < far; def = next("def", def + 1, far)) {
    if (!begins_definition(def)) continue;
    last = def;
    break;
  }
  const bool cut = last == far && far < text_.size();
  bool over = false;  // the name means something else
  for (size_t at = next(name, end, last); at < last; at = next(name, at + 1, last)) {
    const size_t behind = at + name.size(), follows = skip(behind);
    if (at > 0 && text_[at - 1] == '.') continue;
    const std::string_view line = trimmed(line_before(text_.substr(end), at - end));
    const bool assigned = follows + 1 < text_.size() && text_[follows] == '=' &&
                          text_[follows + 1] != '=' && line.empty();
    if (assigned) {
      size_t code_end = 0;
      last = std::min(last, lines_.logical_line(at, &code_end));
      over = true;
      continue;
    }
    if (read_by_view(behind)) return true;
    const bool whole = follows >= text_.size() || text_[follows] != '.';
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
