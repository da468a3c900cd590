// Any attribute of `self` that stands before the last `=` of its line may be a target, and so may
// one in a line that binds otherwise. See own_stores.hpp.
#include "rewriter/frontend/python/own_stores.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kSelf = "self";

class Reader {
 public:
  Reader(std::string_view text, const Outline& outline, const OutlinedDefinition& method)
      : text_(text),
        lines_(text),
        method_(method),
        all_(outline.lines_in(method.begin, method.end)) {}

  OwnStores run() {
    note_targets();
    for (std::string_view word : {"setattr", "add_module", "register_"}) note_by_name(word);
    return std::move(out_);
  }

 private:
  // Past blanks and line ends; what a comment stands before is not told.
  size_t past_space(size_t at) {
    while (at < method_.end && (space(text_[at]) || text_[at] == '\\')) ++at;
    if (at < method_.end && text_[at] == '#') out_.any = true;
    return at;
  }

  void note_targets() {
    auto line = all_.begin();
    size_t targets_end = 0;  // of that line, once it is known
    const std::string_view body = text_.substr(0, method_.end);
    for (size_t at = find_text(body, kSelf, method_.begin); at != std::string_view::npos;
         at = find_text(body, kSelf, at + kSelf.size())) {
      if (line == all_.end() || at >= line->end) {
        while (line != all_.end() && at >= line->end) ++line;
        if (line == all_.end()) return;
        targets_end = 0;
      }
      const size_t end = at + kSelf.size();
      if (at < line->begin || (at > 0 && name_char(text_[at - 1])) || end >= method_.end ||
          name_char(text_[end])) {
        continue;
      }
      if (targets_end == 0) targets_end = end_of_targets(*line);
      if (at >= targets_end) continue;
      const size_t dot = past_space(end);
      if (dot >= method_.end || text_[dot] != '.') continue;
      const size_t name = past_space(dot + 1);
      out_.names.push_back(first_word(body.substr(name)));
    }
  }

  // Where what a logical line may bind ends: all of it where it says how in words.
  size_t end_of_targets(ByteRange line) const {
    const std::string_view code = text_.substr(line.begin, line.size());
    const std::string_view head = first_word(code);
    if (head == "for" || head == "async" || code.find(":=") != std::string_view::npos ||
        says(code, "as") || says(code, "del")) {
      return line.end;
    }
    size_t out = line.begin;
    for (size_t at = lines_.find_outside(line.begin, line.end, '='); at != std::string_view::npos;
         at = lines_.find_outside(at + 1, line.end, '=')) {
      const char before = at > line.begin ? text_[at - 1] : ' ';
      if (at + 1 < line.end && text_[at + 1] == '=') {
        ++at;
      } else if (before != '!' && (std::string_view("<>").find(before) == std::string_view::npos ||
                                   (at > line.begin + 1 && text_[at - 2] == before))) {
        out = at;  // of `<<=`, too
      }
    }
    return out;
  }

  static bool says(std::string_view code, std::string_view word) {
    for (size_t at = find_text(code, word); at != std::string_view::npos;
         at = find_text(code, word, at + 1)) {
      const size_t end = at + word.size();
      if ((at == 0 || !name_char(code[at - 1])) && (end == code.size() || !name_char(code[end]))) {
        return true;
      }
    }
    return false;
  }

  // `setattr(self, "norm", …)`, `self.add_module("norm", …)`, `self.register_buffer("scale", …)`.
  void note_by_name(std::string_view word) {
    static constexpr std::string_view kKinds[] = {"buffer", "module", "parameter"};
    const std::string_view body = text_.substr(0, method_.end);
    for (size_t at = find_text(body, word, method_.begin); at != std::string_view::npos;
         at = find_text(body, word, at + 1)) {
      size_t end = at + word.size();
      const bool free = word == "setattr";
      if (word == "register_") {
        const std::string_view kind = first_word(body.substr(end));
        if (std::ranges::find(kKinds, kind) == std::end(kKinds)) continue;
        end += kind.size();
      }
      while (free && end < body.size() && text_[end] == '_') ++end;  // `object.__setattr__`
      size_t next = past_space(end);
      if (next >= body.size() || text_[next] != '(') continue;
      next = past_space(next + 1);
      if (free) {  // of whom
        if (first_word(body.substr(next)) != kSelf) continue;
        next = past_space(next + kSelf.size());
        if (next >= body.size() || text_[next] != ',') continue;
        next = past_space(next + 1);
      }
      note_literal(body, next);
    }
  }

  void note_literal(std::string_view body, size_t at) {
    const char quote = at < body.size() ? body[at] : ' ';
    const size_t end = quote == '"' || quote == '\'' ? body.find(quote, at + 1) : body.npos;
    const size_t next = end == body.npos ? body.size() : past_space(end + 1);
    if (next >= body.size() || (body[next] != ',' && body[next] != ')')) {
      out_.any = true;
      return;
    }
    const std::string_view name = body.substr(at + 1, end - at - 1);
    if (!std::ranges::all_of(name, name_char)) out_.any = true;
    out_.names.push_back(name);
  }

  std::string_view text_;
  Lines lines_;
  const OutlinedDefinition& method_;
  std::span<const ByteRange> all_;
  OwnStores out_;
};

}  // namespace

OwnStores own_stores(std::string_view text, const Outline& outline,
                     const OutlinedDefinition& method) {
  return Reader(text, outline, method).run();
}

}  // namespace refit::python
