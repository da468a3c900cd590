// See attribute_reads.hpp.
#include "rewriter/python/names/attribute_reads.hpp"

#include <algorithm>
#include <functional>

#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr size_t kFar = 2000;  // bytes of a line to either side; a longer one may say anything
constexpr std::string_view kAny = "*";  // among the names that hold a module

uint64_t hash_of(std::string_view word) { return std::hash<std::string_view>{}(word); }

bool quote(char c) { return c == '\'' || c == '"'; }

// Where the dot stands behind which a word is; npos where it is behind none.
size_t dot_before(std::string_view text, size_t at) {
  while (at > 0 && space(text[at - 1])) --at;
  return at > 0 && text[at - 1] == '.' ? at - 1 : std::string_view::npos;
}

// Whether a word is all that stands between two quotes.
bool quoted(std::string_view text, size_t begin, size_t end) {
  return begin > 0 && quote(text[begin - 1]) && end < text.size() && text[end] == text[begin - 1];
}

// Calls `found` with the places of a word that are none of a comment, until one is what is looked
// for.
template <typename Found>
bool any_place(std::string_view text, std::string_view word, Found found) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool whole =
        (at == 0 || !name_char(text[at - 1])) && (end == text.size() || !name_char(text[end]));
    if (whole && !in_comment(text, at) && found(at)) return true;
  }
  return false;
}

}  // namespace

AttributeWords::AttributeWords(std::string_view text) {
  each_word(text, [&](size_t begin, size_t end) {
    if (quoted(text, begin, end) || dot_before(text, begin) != std::string_view::npos) {
      hashes_.push_back(hash_of(text.substr(begin, end - begin)));
    }
  });
  std::sort(hashes_.begin(), hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  hashes_.shrink_to_fit();
}

bool AttributeWords::may_read(std::string_view name) const {
  return std::binary_search(hashes_.begin(), hashes_.end(), hash_of(name));
}

bool AttributeReads::any(std::string_view name) {
  return any_place(text_, name, [&](size_t at) {
    if (at > 0 && quote(text_[at - 1])) {
      const std::string_view line = line_around(at);
      return quoted(text_, at, at + name.size()) && (line.size() >= kFar || names_module(line));
    }
    const size_t dot = dot_before(text_, at);
    if (dot == std::string_view::npos) return false;
    constexpr std::string_view kBetween = " \t\r\n\\)]'\"";
    size_t base = dot;
    while (base > 0 && kBetween.find(text_[base - 1]) != std::string_view::npos) --base;
    const std::string_view word = word_before(text_, base);
    const bool module = std::find(modules_.begin(), modules_.end(), word) != modules_.end();
    return module || (base == dot && (held().contains(word) || held().contains(kAny)));
  });
}

std::string_view AttributeReads::line_around(size_t at) const {
  const size_t from = at - std::min(at, kFar);
  const size_t begin = at - line_before(text_.substr(from), at - from).size();
  const std::string_view behind = text_.substr(at, kFar);
  return text_.substr(begin, at - begin + std::min(behind.find('\n'), behind.size()));
}

bool AttributeReads::names_module(std::string_view part) const {
  return std::any_of(modules_.begin(), modules_.end(), [&](const std::string& module) {
    return any_place(part, module, [](size_t) { return true; });
  });
}

// The names that some line gives what names the module.
const std::unordered_set<std::string_view>& AttributeReads::held() {
  if (held_) return *held_;
  held_.emplace();
  for (const std::string& module : modules_) {
    any_place(text_, module, [&](size_t at) {
      const size_t from = at - std::min(at, kFar);
      const std::string_view line = line_before(text_.substr(from), at - from);
      if (line.size() == kFar) held_->insert(kAny);
      for (size_t equals = line.find('='); equals != std::string_view::npos;
           equals = line.find('=', equals + 1)) {
        const std::string_view target = trimmed(line.substr(0, equals));
        held_->insert(word_before(target, target.size()));
      }
      return false;
    });
  }
  held_->erase(std::string_view{});
  return *held_;
}

}  // namespace refit::python
