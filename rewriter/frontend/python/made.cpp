// See made.hpp. A text that cannot be made out counts as one of the classes.
#include "rewriter/frontend/python/made.hpp"

#include <algorithm>

namespace refit::python {

namespace {

std::string_view last_component(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Past blanks, line ends, their backslashes and comments.
size_t past_space(std::string_view text, size_t at) {
  while (at < text.size()) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (space(text[at]) || text[at] == '\\') {
      ++at;
    } else {
      break;
    }
  }
  return at;
}

bool assigns(std::string_view text, size_t at) {
  return at < text.size() && text[at] == '=' && !text.substr(at).starts_with("==");
}

}  // namespace

bool is_builtin(std::string_view name) {
  static constexpr std::string_view kNames[] = {"abs", "all",   "any",   "max", "min",
                                                "pow", "range", "round", "sum"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

MadeAttributes::MadeAttributes(std::string_view text, const Outline& outline,
                               const std::vector<std::string>& classes, const ResolveName& resolve)
    : text_(text), outline_(outline), classes_(classes), resolve_(resolve), lines_(text) {
  note_stores();
  note_class_bodies();
}

void MadeAttributes::note_stores() {
  constexpr std::string_view kSelf = "self";
  for (size_t at = text_.find(kSelf); at != std::string_view::npos; at = text_.find(kSelf, at)) {
    size_t word = at;
    at += kSelf.size();
    if (word > 0 && name_char(text_[word - 1])) continue;
    size_t dot = past_space(text_, at);
    if (dot >= text_.size() || text_[dot] != '.') continue;
    size_t begin = past_space(text_, dot + 1);
    std::string_view name = first_word(text_.substr(begin));
    size_t after = past_space(text_, begin + name.size());
    if (!assigns(text_, after) && !(after < text_.size() && text_[after] == ':')) continue;
    size_t code_end = 0;
    // Inside brackets, where that fails, no attribute is assigned to alone.
    if (lines_.logical_line(after, &code_end) == std::string_view::npos) continue;
    if (makes_one(text_.substr(after, code_end - after))) names_.insert(name);
  }
}

// `norm = LayerNorm(8)` among a class's own statements.
void MadeAttributes::note_class_bodies() {
  const auto& definitions = outline_.definitions;
  for (size_t c = 0; c < definitions.size(); ++c) {
    if (!definitions[c].is_class) continue;
    size_t at = definitions[c].body;
    auto statements = [&](size_t end) {
      while (at < end) {
        size_t code_end = 0;
        size_t begin = past_space(text_, at);
        size_t next = begin < end ? lines_.logical_line(begin, &code_end) : end;
        if (next == std::string_view::npos || begin >= end) return;
        std::string_view code = text_.substr(begin, code_end - begin);
        if (makes_one(code)) {
          for (size_t n = 0; n < code.size();) {
            std::string_view name = first_word(code.substr(n));
            if (!name.empty()) names_.insert(name);
            n += std::max<size_t>(name.size(), 1);
          }
        }
        at = next;
      }
    };
    for (size_t m = c + 1; m < definitions.size() && definitions[m].begin < definitions[c].end;
         ++m) {
      if (definitions[m].owner != c) continue;
      statements(definitions[m].begin);
      at = definitions[m].end;
    }
    statements(definitions[c].end);
  }
}

bool MadeAttributes::makes_one(std::string_view code) {
  for (size_t at = 0; at < code.size();) {
    if (!name_char(code[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < code.size() && (name_char(code[end]) || code[end] == '.')) ++end;
    size_t next = past_space(code, end);
    if (next < code.size() && code[next] == '(' && may_be_one(code.substr(at, end - at))) {
      return true;
    }
    at = end;
  }
  return false;
}

bool MadeAttributes::is_one(std::string_view qualified) const {
  return std::find(classes_.begin(), classes_.end(), last_component(qualified)) != classes_.end();
}

bool MadeAttributes::may_be_one(std::string_view dotted) {
  if (is_one(dotted) || imported_inside()) return true;
  auto [at, fresh] = told_.try_emplace(dotted, false);
  if (fresh) at->second = means_one(dotted);
  return at->second;
}

bool MadeAttributes::means_one(std::string_view dotted) const {
  std::string_view first = dotted.substr(0, dotted.find('.'));
  auto found = outline_.module.names.bindings.find(first);
  if (found == outline_.module.names.bindings.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Binding& binding) {
    // A class of the file may compute as one of them.
    const std::string head = binding.kind == Binding::Kind::import
                                 ? binding.qualified
                                 : outline_.module.name + "." + std::string(first);
    auto meant = resolve_(head + std::string(dotted.substr(first.size())));
    return meant && is_one(*meant);
  });
}

// Whether an import of a function may bring one of the classes under another name.
bool MadeAttributes::imported_inside() {
  if (imported_inside_) return *imported_inside_;
  std::unordered_set<std::string_view> outside;
  for (const auto& [name, bindings] : outline_.module.names.bindings) {
    for (const Binding& binding : bindings) outside.insert(binding.qualified);
  }
  const auto& all = outline_.module.inner_imports;
  imported_inside_ = std::any_of(all.begin(), all.end(), [&](const std::string& qualified) {
    if (is_one(qualified)) {
      std::string renamed = std::string(last_component(qualified)) + " as ";
      return text_.find(renamed) != std::string_view::npos;
    }
    if (outside.contains(qualified)) return false;
    auto meant = resolve_(qualified);
    return meant && is_one(*meant);
  });
  return *imported_inside_;
}

bool MadeAttributes::read_in(std::string_view part) const {
  if (names_.empty()) return false;
  for (size_t at = part.find('.'); at != std::string_view::npos; at = part.find('.', at)) {
    size_t begin = past_space(part, ++at);
    std::string_view name = first_word(part.substr(begin));
    if (name.empty() || !names_.contains(name)) continue;
    size_t after = past_space(part, begin + name.size());
    bool further = after < part.size() && part[after] == '.';  // an attribute of it
    if (!further && !assigns(part, after)) return true;
  }
  return false;
}

}  // namespace refit::python
