// See result_reads.hpp.
#include "rewriter/frontend/python/result_reads.hpp"

#include <algorithm>
#include <iterator>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr size_t kNone = std::string_view::npos;

// Methods whose result lies as their object does.
constexpr std::string_view kKeeping[] = {"add", "bfloat16", "div", "double", "float",  "half",
                                         "mul", "sub",      "to",  "type",   "type_as"};

class ResultReads {
 public:
  explicit ResultReads(std::string_view text) : text_(text), lines_(text) {}

  bool viewed(std::string_view function, int calls) const {
    for (size_t at = next(function, 0); at != kNone; at = next(function, at + 1)) {
      const size_t end = call_end(at + function.size());
      if (end == kNone || word_before(text_, skip_back(at)) == "def") continue;
      if (read_by_view(end)) return true;
      size_t begin = at;
      while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
      const std::string_view before = trimmed(line_before(text_, begin));
      if (before == "return" ? given_on(at, calls) : kept_and_viewed(before, end, calls))
        return true;
    }
    return false;
  }

 private:
  // Where a word stands in code, from a place on.
  size_t next(std::string_view word, size_t from) const {
    for (size_t at = find_text(text_, word, from); at != kNone;
         at = find_text(text_, word, at + 1)) {
      const size_t end = at + word.size();
      const bool whole =
          (at == 0 || !name_char(text_[at - 1])) && (end == text_.size() || !name_char(text_[end]));
      if (whole && !in_comment(text_, at)) return at;
    }
    return kNone;
  }

  size_t skip_back(size_t at) const {
    while (at > 0 && blank(text_[at - 1])) --at;
    return at;
  }

  size_t skip(size_t at) const {
    while (at < text_.size() && (space(text_[at]) || text_[at] == '\\')) ++at;
    return at;
  }

  // Behind the bracket that closes a call whose arguments begin at a place; npos where none do.
  size_t call_end(size_t at) const {
    while (at < text_.size() && blank(text_[at])) ++at;
    if (at >= text_.size() || text_[at] != '(') return kNone;
    const size_t close = lines_.find_outside(at + 1, text_.size(), ')');
    return close == kNone ? kNone : close + 1;
  }

  // Whether what ends at a place is read by `.view`, be it behind methods that keep its strides.
  bool read_by_view(size_t end) const {
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
  bool kept_and_viewed(std::string_view before, size_t end, int calls) const {
    if (!before.ends_with('=')) return false;
    const std::string_view name = trimmed(before.substr(0, before.size() - 1));
    if (name.empty() || first_word(name) != name) return false;
    const size_t far = function_end(end);
    size_t last = far;  // where the name means something else
    for (size_t at = next(name, end); at < last; at = next(name, at + 1)) {
      const size_t behind = at + name.size(), follows = skip(behind);
      if (at > 0 && text_[at - 1] == '.') continue;
      const bool assigned = follows + 1 < text_.size() && text_[follows] == '=' &&
                            text_[follows + 1] != '=' && trimmed(line_before(text_, at)).empty();
      if (assigned) {
        size_t code_end = 0;
        last = std::min(far, lines_.logical_line(at, &code_end));
        continue;
      }
      if (read_by_view(behind)) return true;
      const bool whole = follows >= text_.size() || text_[follows] != '.';
      if (whole && trimmed(line_before(text_, at)) == "return" && given_on(at, calls)) return true;
    }
    return false;
  }

  // What stands at a place is given by its function.
  bool given_on(size_t at, int calls) const {
    if (calls == 0) return false;
    const size_t deep = indentation(at);
    for (size_t def = text_.rfind("def ", at); def != kNone && def > 0;
         def = text_.rfind("def ", def - 1)) {
      const std::string_view before = trimmed(line_before(text_, def));
      if ((!before.empty() && before != "async") || indentation(def) >= deep) continue;
      return viewed(first_word(trimmed(text_.substr(def + 4))), calls - 1);
    }
    return false;
  }

  size_t indentation(size_t at) const {
    const std::string_view before = line_before(text_, at);
    return static_cast<size_t>(std::find_if_not(before.begin(), before.end(), blank) -
                               before.begin());
  }

  // Where the next definition begins; what stands in one is no reader of a name outside it.
  size_t function_end(size_t at) const {
    for (size_t def = text_.find("def ", at); def != kNone; def = text_.find("def ", def + 1)) {
      const std::string_view before = trimmed(line_before(text_, def));
      if (before.empty() || before == "async") return def;
    }
    return text_.size();
  }

  std::string_view text_;
  Lines lines_;
};

}  // namespace

bool result_viewed(std::string_view text, std::string_view function, int calls) {
  return ResultReads(text).viewed(function, calls);
}

}  // namespace refit::python
