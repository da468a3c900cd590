// holes and calls: one left-to-right scan each, with strings skipped.
#include "rewriter/rule/template_text.hpp"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace refit {
namespace {

bool is_name_start(char c) { return llvm::isAlpha(c) || c == '_'; }
bool is_name(char c) { return llvm::isAlnum(c) || c == '_'; }

// The offset after the string literal that starts at `at`.
size_t skip_string(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size() && text[at] != quote) at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

size_t skip_space(std::string_view text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t')) ++at;
  return at;
}

std::string_view name_at(std::string_view text, size_t at, bool dotted) {
  size_t end = at;
  while (end < text.size() && (is_name(text[end]) || (dotted && text[end] == '.'))) ++end;
  return text.substr(at, end - at);
}

// The keywords of the call whose `(` stands at `open`.
std::vector<std::string> keywords_of(std::string_view text, size_t open) {
  std::vector<std::string> keywords;
  int depth = 0;
  bool argument_starts = false;
  for (size_t i = open; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = skip_string(text, i);
      argument_starts = false;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      argument_starts = ++depth == 1;
    } else if (c == ')' || c == ']' || c == '}') {
      if (--depth == 0) break;
    } else if (c == ',' && depth == 1) {
      argument_starts = true;
    } else if (argument_starts && is_name_start(c)) {
      const std::string_view name = name_at(text, i, false);
      const size_t after = skip_space(text, i + name.size());
      if (after < text.size() && text[after] == '=' && text.substr(after, 2) != "==") {
        keywords.emplace_back(name);
      }
      argument_starts = false;
      i += name.size();
      continue;
    } else if (c != ' ' && c != '\n' && c != '\t') {
      argument_starts = false;
    }
    ++i;
  }
  return keywords;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) && std::ranges::all_of(text, is_name);
}

std::vector<std::string> holes(std::string_view text) {
  std::vector<std::string> names;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"' || text[i] == '\'') {
      i = skip_string(text, i);
    } else if (text[i] == '$') {
      std::string_view name = name_at(text, i + 1, false);
      if (!name.empty() && !is_name_start(name[0])) name = {};
      if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
      i += 1 + name.size();
    } else {
      ++i;
    }
  }
  return names;
}

std::vector<TemplateCall> calls(std::string_view text) {
  std::vector<TemplateCall> found;
  char before = ' ';  // the last character that is not a space
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = skip_string(text, i);
      before = c;
      continue;
    }
    if (!is_name_start(c)) {
      if (c != ' ' && c != '\n' && c != '\t') before = c;
      ++i;
      continue;
    }
    const std::string_view name = name_at(text, i, true);
    const size_t after = skip_space(text, i + name.size());
    if (before != '$' && before != '.' && name.find('.') != std::string_view::npos &&
        after < text.size() && text[after] == '(') {
      found.push_back({std::string(name), keywords_of(text, after)});
    }
    before = 'a';
    i += name.size();
  }
  return found;
}

}  // namespace refit
