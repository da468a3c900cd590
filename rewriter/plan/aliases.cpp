// See aliases.hpp.
#include "rewriter/plan/aliases.hpp"

#include <algorithm>

namespace refit {

namespace {

bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view skip_blanks(std::string_view text) {
  size_t at = text.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view{} : text.substr(at);
}

std::string_view leading_word(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && word_char(text[end])) ++end;
  return text.substr(0, end);
}

// `callee as NAME`, or a line `NAME = module.callee`.
std::string alias_at(std::string_view text, size_t at, size_t size) {
  std::string_view behind = text.substr(at + size);
  std::string_view next = skip_blanks(behind);
  if (leading_word(next) == "as" && behind.size() != next.size()) {
    return std::string(leading_word(skip_blanks(next.substr(2))));
  }
  if (!next.empty() && next.front() != '\n' && next.front() != '\r' && next.front() != '#') {
    return "";
  }
  size_t line = text.rfind('\n', at);
  std::string_view head = text.substr(line + 1, at - line - 1);
  std::string_view name = leading_word(head);
  std::string_view value = skip_blanks(head.substr(name.size()));
  if (name.empty() || value.empty() || value.front() != '=') return "";
  value = skip_blanks(value.substr(1));
  bool dotted =
      std::all_of(value.begin(), value.end(), [](char c) { return word_char(c) || c == '.'; });
  return dotted ? std::string(name) : "";
}

}  // namespace

std::vector<Alias> aliases_in(std::string_view text, const std::set<std::string>& callees) {
  std::vector<Alias> out;
  for (const std::string& callee : callees) {
    for (size_t at = text.find(callee); at != std::string_view::npos;
         at = text.find(callee, at + callee.size())) {
      if (at > 0 && word_char(text[at - 1])) continue;
      if (at + callee.size() < text.size() && word_char(text[at + callee.size()])) continue;
      std::string name = alias_at(text, at, callee.size());
      if (!name.empty() && name != callee) out.push_back({std::move(name), callee});
    }
  }
  return out;
}

std::vector<Replacement> replacements_in(std::string_view text,
                                         const std::set<std::string>& callees) {
  std::vector<Replacement> out;
  auto add = [&](const std::string& callee, size_t at, bool lasting) {
    auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
    out.push_back({callee, static_cast<size_t>(std::count(text.begin(), end, '\n')) + 1, lasting});
  };
  for (const std::string& callee : callees) {
    for (size_t at = text.find(callee, 1); at != std::string_view::npos;
         at = text.find(callee, at + 1)) {
      const size_t begin = text.rfind('\n', at) + 1;
      std::string_view head = text.substr(begin, at - begin);
      if (skip_blanks(head).starts_with("#")) continue;  // a comment
      size_t end = at + callee.size();
      char before = text[at - 1], behind = end < text.size() ? text[end] : '\n';
      std::string_view next = skip_blanks(text.substr(end));
      // `nn.GELU.forward = mine`
      if (next.starts_with(".forward")) next = skip_blanks(next.substr(8));
      // An attribute of one's own object is no function of another module.
      bool own = text.substr(0, at - 1).ends_with("self");
      if (before == '.' && !own && next.starts_with("=") && !next.starts_with("==")) {
        add(callee, at, true);
      }
      if (behind != '"' && behind != '\'') continue;
      if (before == behind && head.find("setattr(") != std::string_view::npos) {
        add(callee, at, head.find("monkeypatch.") == std::string_view::npos);
      } else if (head.find("patch(") != std::string_view::npos ||
                 head.find("patch.object(") != std::string_view::npos) {
        add(callee, at, false);
      }
    }
  }
  return out;
}

std::string last_module(std::string_view file) {
  if (file.ends_with("/__init__.py")) file.remove_suffix(12);
  std::string_view name = file.substr(file.rfind('/') + 1);
  return std::string(name.substr(0, name.find('.')));
}

bool hands_on(std::string_view file, std::string_view text) {
  return file.ends_with("__init__.py") || text.find("import *") != std::string_view::npos;
}

std::vector<std::string> mentions_of(const std::string& module) {
  return {module + " import", "import " + module, ", " + module, module + "."};
}

}  // namespace refit
