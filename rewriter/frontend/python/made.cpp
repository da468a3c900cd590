// See made.hpp. A text that cannot be made out counts as one of the classes.
#include "rewriter/frontend/python/made.hpp"

#include <algorithm>

#include "rewriter/text/byte_scan.hpp"

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

MadeAttributes::MadeAttributes(std::string_view text, const Outline& outline, const Meant& meant)
    : text_(text), outline_(outline), meant_(meant) {
  note_stores();
  note_class_bodies();
}

void MadeAttributes::note_stores() {
  constexpr std::string_view kSelf = "self";
  for (size_t at = find_text(text_, kSelf); at != std::string_view::npos;
       at = find_text(text_, kSelf, at)) {
    size_t word = at;
    at += kSelf.size();
    if (word > 0 && name_char(text_[word - 1])) continue;
    size_t dot = past_space(text_, at);
    if (dot >= text_.size() || text_[dot] != '.') continue;
    size_t begin = past_space(text_, dot + 1);
    std::string_view name = first_word(text_.substr(begin));
    size_t after = past_space(text_, begin + name.size());
    if (!assigns(text_, after) && !(after < text_.size() && text_[after] == ':')) continue;
    const size_t end = outline_.line_end(after);
    if (end > 0) note_calls(text_.substr(after, end - after), {name});
  }
}

// `norm = LayerNorm(8)` among a class's own statements.
void MadeAttributes::note_class_bodies() {
  auto is_remark = [&](ByteRange line) {
    return std::binary_search(outline_.remarks.begin(), outline_.remarks.end(), line,
                              [](ByteRange a, ByteRange b) { return a.begin < b.begin; });
  };
  const auto& definitions = outline_.definitions;
  for (size_t c = 0; c < definitions.size(); ++c) {
    if (!definitions[c].is_class) continue;
    uint32_t at = definitions[c].body;
    auto statements = [&](uint32_t end) {
      if (at >= end) return;
      for (ByteRange line : outline_.lines_in(at, end)) {
        if (is_remark(line)) continue;
        const std::string_view code = text_.substr(line.begin, line.size());
        if (code.find('(') == std::string_view::npos) continue;
        std::vector<std::string_view> names;
        for (size_t n = 0; n < code.size();) {
          std::string_view name = first_word(code.substr(n));
          if (!name.empty()) names.push_back(name);
          n += std::max<size_t>(name.size(), 1);
        }
        note_calls(code, names);
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

// What a text calls may be what one of the attributes is given.
void MadeAttributes::note_calls(std::string_view code,
                                const std::vector<std::string_view>& attributes) {
  std::vector<uint32_t> called;
  for (size_t at = 0; at < code.size();) {
    if (!name_char(code[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < code.size() && (name_char(code[end]) || code[end] == '.')) ++end;
    size_t next = past_space(code, end);
    if (next < code.size() && code[next] == '(') {
      auto [known, fresh] =
          numbers_.try_emplace(code.substr(at, end - at), static_cast<uint32_t>(calls_.size()));
      if (fresh) calls_.push_back(known->first);
      called.push_back(known->second);
    }
    at = end;
  }
  if (called.empty()) return;
  const auto here = static_cast<uint32_t>(called_in_.size());
  called_in_.push_back(std::move(called));
  for (std::string_view attribute : attributes) {
    auto& given = given_in_[attribute];
    if (given.empty() || given.back() != here) given.push_back(here);
  }
}

namespace {

bool is_one(std::string_view qualified, const std::vector<std::string>& classes) {
  return std::find(classes.begin(), classes.end(), last_component(qualified)) != classes.end();
}

bool is_among(const Operation* operation, const std::vector<std::string>& classes) {
  return operation != nullptr &&
         std::find(classes.begin(), classes.end(), operation->id) != classes.end();
}

}  // namespace

// A name that is not the module's alone is told by its last component.
bool MadeAttributes::means_one(std::string_view dotted,
                               const std::vector<std::string>& classes) const {
  const std::string_view first = dotted.substr(0, dotted.find('.'));
  auto found = outline_.module.names.bindings.find(first);
  if (found == outline_.module.names.bindings.end()) return is_one(dotted, classes);
  if (is_one(dotted, classes) && meant_.imported_inside(first)) return true;
  const Meant::Meaning meaning = meant_.of(dotted);
  if (meaning.known) return is_among(meaning.operation, classes);
  if (meaning.own) return false;  // as class_facts.hpp sees it
  return is_one(dotted, classes) ||
         std::any_of(found->second.begin(), found->second.end(),
                     [&](const Binding& b) { return is_one(b.qualified, classes); });
}

// Whether an import of a function may bring one of the classes under another name.
bool MadeAttributes::renamed_inside(const std::vector<std::string>& classes) const {
  std::unordered_set<std::string_view> outside;
  for (const auto& [name, bindings] : outline_.module.names.bindings) {
    for (const Binding& binding : bindings) outside.insert(binding.qualified);
  }
  const auto& all = outline_.module.inner_imports;
  return std::any_of(all.begin(), all.end(), [&](const std::string& qualified) {
    if (is_one(qualified, classes)) {
      std::string renamed = std::string(last_component(qualified)) + " as ";
      return text_.find(renamed) != std::string_view::npos;
    }
    return !outside.contains(qualified) && is_among(meant_.qualified(qualified).operation, classes);
  });
}

// Nearly always what is called there tells; where a class may have been renamed inside, any may.
bool MadeAttributes::may_give(std::string_view attribute, Classes& classes) const {
  auto given = given_in_.find(attribute);
  if (given == given_in_.end()) return false;
  auto [known, fresh] = classes.gives_.try_emplace(attribute, false);
  if (!fresh) return known->second;
  classes.meant_.resize(calls_.size());
  for (uint32_t text : given->second) {
    for (uint32_t call : called_in_[text]) {
      std::optional<bool>& meant = classes.meant_[call];
      if (!meant) meant = means_one(calls_[call], classes.names_);
      if (*meant) return known->second = true;
    }
  }
  if (!classes.renamed_) classes.renamed_ = renamed_inside(classes.names_);
  return known->second = *classes.renamed_;
}

bool MadeAttributes::read_in(Classes& classes, std::string_view part) const {
  for (size_t at = part.find('.'); at != std::string_view::npos; at = part.find('.', at)) {
    size_t begin = past_space(part, ++at);
    std::string_view name = first_word(part.substr(begin));
    if (name.empty() || given_in_.find(name) == given_in_.end()) continue;
    size_t after = past_space(part, begin + name.size());
    bool further = after < part.size() && part[after] == '.';  // an attribute of it
    if (!further && !assigns(part, after) && may_give(name, classes)) return true;
  }
  return false;
}

}  // namespace refit::python
