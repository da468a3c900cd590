// Directives are found by clang's lexer, without its preprocessor. See branches.hpp.
#include "rewriter/cpp/branches.hpp"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>

#include <fmt/format.h>

#include <algorithm>

#include "rewriter/cpp/text_parts.hpp"

namespace refit::cpp {

namespace {

constexpr size_t kDepth = 32;  // of conditionals in one another

// A line that begins with `#`, with the lines that a backslash joins to it.
struct Directive {
  std::string name, rest;  // "ifdef", "USE_CUDA"
  ByteRange range;
};

std::vector<Directive> directives(std::string_view text) {
  const std::string buffer(text);  // the lexer wants a zero behind it
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.LineComment = true;
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(1), language, buffer.data(),
                     buffer.data(), buffer.data() + buffer.size());
  std::vector<Directive> out;
  bool open = false;
  clang::Token token;
  for (bool last = false; !last;) {
    last = lexer.LexFromRawLexer(token);
    const auto end = static_cast<uint32_t>(lexer.getBufferLocation() - buffer.data());
    const uint32_t begin = end - token.getLength();
    if (token.is(clang::tok::eof)) break;
    if (token.isAtStartOfLine()) {
      open = token.is(clang::tok::hash);
      if (open) out.push_back({"", "", {begin, end}});
      if (open) continue;
    }
    if (!open) continue;
    Directive& at = out.back();
    at.range.end = end;
    const std::string_view word = text.substr(begin, token.getLength());
    if (at.name.empty()) {
      at.name = word;
    } else {
      if (!at.rest.empty() && token.hasLeadingSpace()) at.rest += ' ';
      at.rest += word;
    }
  }
  return out;
}

bool opens(std::string_view name) { return name == "if" || name == "ifdef" || name == "ifndef"; }

bool goes_on(std::string_view name) {
  return name == "elif" || name == "elifdef" || name == "elifndef" || name == "else";
}

std::string asked(const Directive& directive) {
  if (directive.name.ends_with("ifndef")) return fmt::format("!defined({})", directive.rest);
  if (directive.name.ends_with("ifdef")) return fmt::format("defined({})", directive.rest);
  return directive.rest;
}

std::string negated(const std::string& condition) {
  const auto word = [](char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  const auto plain = [&](std::string_view text) {
    if (text.starts_with("defined(") && text.ends_with(")")) text = text.substr(8, text.size() - 9);
    return std::ranges::all_of(text, word);
  };
  if (plain(condition)) return "!" + condition;
  if (condition.starts_with("!") && plain(condition.substr(1))) return condition.substr(1);
  return fmt::format("!({})", condition);
}

std::string joined(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty()) return a + b;
  const auto part = [](const std::string& text) {
    return text.find("||") == std::string::npos ? text : fmt::format("({})", text);
  };
  return part(a) + " && " + part(b);
}

void blank_out(std::string& text, ByteRange range) {
  for (uint32_t at = range.begin; at < range.end; ++at) {
    if (text[at] != '\n' && text[at] != '\r') text[at] = ' ';
  }
}

}  // namespace

Branches::Branches(std::string_view text, const std::vector<ByteRange>& inactive) : text_(text) {
  if (text.find("#") != std::string_view::npos) read(inactive);
}

void Branches::read(const std::vector<ByteRange>& inactive) {
  struct Open {
    size_t conditional;
    std::string before;  // what the branches so far ask for, negated
  };
  std::vector<Open> stack;
  // A place of `all_`, or nothing where the text has no `#if` for it.
  const auto within = [&]() -> std::vector<size_t>* {
    return stack.empty() ? &outer_ : &all_[stack.back().conditional].branches.back().own;
  };
  size_t deeper = 0;  // open conditionals that are not followed
  for (const Directive& directive : directives(text_)) {
    if (opens(directive.name) && stack.size() >= kDepth) ++deeper;
    if (deeper > 0) {
      if (directive.name == "endif") --deeper;
      continue;
    }
    const ByteRange line{line_of(text_, directive.range.begin).begin,
                         line_of(text_, directive.range.end).end};
    const std::string condition = asked(directive);
    if (opens(directive.name)) {
      within()->push_back(all_.size());
      stack.push_back({all_.size(), negated(condition)});
      all_.push_back({{{line, {line.end, line.end}, condition, condition == "0", false, {}}}, {}});
    } else if (goes_on(directive.name) && !stack.empty()) {
      Open& open = stack.back();
      auto& branches = all_[open.conditional].branches;
      branches.back().body.end = line.begin;
      branches.push_back({line,
                          {line.end, line.end},
                          joined(open.before, condition),
                          condition == "0",
                          false,
                          {}});
      if (!condition.empty()) open.before = joined(open.before, negated(condition));
    } else if (directive.name == "endif" && !stack.empty()) {
      all_[stack.back().conditional].branches.back().body.end = line.begin;
      all_[stack.back().conditional].end = line;
      stack.pop_back();
    }
  }
  // What is skipped begins at a directive, so that all of it lies in a branch that is not.
  for (Conditional& conditional : all_) {
    for (Conditional::Branch& branch : conditional.branches) {
      branch.active = std::ranges::all_of(inactive, [&](ByteRange range) {
        return !range.overlaps(branch.body) || branch.body.contains(range);
      });
    }
  }
}

void Branches::skipped_in(const std::vector<size_t>& these, const std::string& outer, bool left_out,
                          std::vector<Skipped>& out) const {
  for (const size_t index : these) {
    for (const Conditional::Branch& branch : all_[index].branches) {
      if (branch.never) continue;
      const bool left = left_out || !branch.active;
      const std::string condition = left ? joined(outer, branch.condition) : "";
      if (left && branch.body.size() != 0) out.push_back({branch.body, condition});
      skipped_in(branch.own, condition, left, out);
    }
  }
}

std::vector<ByteRange> Branches::bodies() const {
  std::vector<ByteRange> out;
  for (const Conditional& conditional : all_) {
    for (const Conditional::Branch& branch : conditional.branches) {
      if (!branch.never) out.push_back(branch.body);
    }
  }
  return out;
}

bool Branches::choose_headers() const {
  return std::ranges::any_of(all_, [&](const Conditional& conditional) {
    return std::ranges::count_if(conditional.branches, [&](const Conditional::Branch& branch) {
             const ByteRange body = branch.body;
             return !branch.never &&
                    text_.substr(body.begin, body.size()).find("include") != std::string_view::npos;
           }) > 1;
  });
}

std::vector<Skipped> Branches::skipped() const {
  std::vector<Skipped> out;
  skipped_in(outer_, "", false, out);
  return out;
}

size_t Branches::readings_of(const Conditional::Branch& branch, bool left_out) const {
  if (branch.never) return 0;
  const bool left = left_out || !branch.active;
  size_t inside = left ? 1 : 0;
  for (const size_t index : branch.own) inside = std::max(inside, readings_of(index, left));
  return inside;
}

size_t Branches::readings_of(size_t index, bool left_out) const {
  size_t all = 0;
  for (const auto& branch : all_[index].branches) all += readings_of(branch, left_out);
  return all;
}

size_t Branches::readings() const {
  size_t most = 0;
  for (const size_t index : outer_) most = std::max(most, readings_of(index, false));
  return most;
}

void Branches::choose(size_t index, bool left_out, size_t which, std::string& text) const {
  // The branch whose turn it is; where they have all had theirs, the last.
  const Conditional& conditional = all_[index];
  const Conditional::Branch* chosen = nullptr;
  for (const Conditional::Branch& branch : conditional.branches) {
    const size_t count = readings_of(branch, left_out);
    if (count == 0) continue;
    chosen = &branch;
    if (which < count) break;
    which -= count;
  }
  if (chosen == nullptr) return;
  const bool left = left_out || !chosen->active;
  if (left) {
    for (const Conditional::Branch& branch : conditional.branches) {
      blank_out(text, branch.directive);
      if (&branch != chosen) blank_out(text, branch.body);
    }
    blank_out(text, conditional.end);
  }
  for (const size_t inside : chosen->own) choose(inside, left, which, text);
}

std::string Branches::reading(size_t which) const {
  std::string text(text_);
  for (const size_t index : outer_) choose(index, false, which, text);
  return text;
}

}  // namespace refit::cpp
