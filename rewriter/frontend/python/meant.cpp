// See meant.hpp. Names are looked at as lowering resolves them (names.cpp), short of what only a
// parser sees.
#include "rewriter/frontend/python/meant.hpp"

#include <algorithm>

#include "rewriter/frontend/python/lines.hpp"
#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

thread_local const Meant* current = nullptr;

std::string_view last_component(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// Calls visit(at) for each place in [begin, end) where the word stands as a whole, until it gives
// true; whether it did.
template <typename Visit>
bool any_word(std::string_view text, size_t begin, size_t end, std::string_view word, Visit visit) {
  const std::string_view before = text.substr(0, end);
  for (size_t at = word.empty() ? std::string_view::npos : find_text(before, word, begin);
       at != std::string_view::npos; at = find_text(before, word, at + word.size())) {
    const size_t next = at + word.size();
    if ((at > 0 && name_char(text[at - 1])) || (next < text.size() && name_char(text[next]))) {
      continue;
    }
    if (visit(at)) return true;
  }
  return false;
}

// Whether ` as NAME` follows, which gives what is imported the name that the code reads.
bool renamed_at(std::string_view text, size_t end) {
  while (end < text.size() && (space(text[end]) || text[end] == '\\')) ++end;
  return first_word(text.substr(end)) == "as";
}

bool dotted_on(std::string_view text, size_t end) {
  while (end < text.size() && blank(text[end])) ++end;
  return end < text.size() && text[end] == '.';
}

}  // namespace

Meant::Scope::Scope(const Meant& meant) : before_(current) { current = &meant; }
Meant::Scope::~Scope() { current = before_; }

const Meant* Meant::here(std::string_view part, size_t* at) {
  if (current == nullptr) return nullptr;
  const std::less_equal<> not_behind;
  const std::string_view whole = current->text_;
  if (!not_behind(whole.data(), part.data()) ||
      !not_behind(part.data() + part.size(), whole.data() + whole.size())) {
    return nullptr;
  }
  *at += static_cast<size_t>(part.data() - whole.data());
  return current;
}

// The function of the module or of a class that a place stands in, or the class.
const OutlinedDefinition* Meant::around(size_t at) const {
  const auto& all = outline_.definitions;
  auto next =
      std::upper_bound(all.begin(), all.end(), at,
                       [](size_t place, const OutlinedDefinition& d) { return place < d.begin; });
  if (next == all.begin()) return nullptr;
  auto i = static_cast<size_t>(next - all.begin()) - 1;
  while (at >= all[i].end) {
    i = all[i].owner;
    if (i == SIZE_MAX) return nullptr;
  }
  return &all[i];
}

bool Meant::in_remark(size_t at) const {
  auto remark = std::upper_bound(outline_.remarks.begin(), outline_.remarks.end(), at,
                                 [](size_t place, ByteRange r) { return place < r.begin; });
  return remark != outline_.remarks.begin() && std::prev(remark)->end > at;
}

// Whether a definition may give a name of the module a meaning of its own: what does has no dot
// behind it.
bool Meant::bound_in(const OutlinedDefinition& definition, std::string_view name) const {
  auto [known, fresh] = bound_in_.try_emplace({&definition, name}, false);
  if (!fresh) return known->second;
  known->second = any_word(text_, definition.begin, definition.end, name, [&](size_t at) {
    if (at > 0 && text_[at - 1] == '.') return false;
    return !dotted_on(text_, at + name.size()) && !in_remark(at) && !in_comment(text_, at);
  });
  return known->second;
}

bool Meant::imported_inside(std::string_view name) const {
  if (!inside_) {
    inside_.emplace();
    const Lines lines(text_);
    any_word(text_, 0, text_.size(), "import", [&](size_t at) {
      const OutlinedDefinition* home = around(at);
      const size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
      size_t line = newline == std::string_view::npos ? 0 : newline + 1;
      if (home == nullptr) return false;
      size_t code_end = 0;
      const size_t next = lines.logical_line(line, &code_end);
      const size_t end = next == std::string_view::npos ? text_.size() : code_end;
      while (line < end) {
        const std::string_view word = first_word(text_.substr(line, end - line));
        if (!word.empty()) inside_->insert(word);
        line += std::max<size_t>(word.size(), 1);
      }
      return false;
    });
  }
  return inside_->contains(name);
}

Meant::Meaning Meant::qualified(const std::string& name) const {
  auto meaning = resolving_.name(name);
  return meaning ? Meaning{true, resolving_.operation(*meaning)} : Meaning{};
}

Meant::Meaning Meant::of(std::string_view dotted) const {
  auto [known, fresh] = told_.try_emplace(dotted);
  if (!fresh) return known->second;
  const std::string_view first = dotted.substr(0, dotted.find('.'));
  auto found = outline_.module.names.bindings.find(first);
  if (found == outline_.module.names.bindings.end()) return {};
  std::optional<std::string> meaning;
  bool imported = false;
  for (const Binding& b : found->second) {
    if (b.kind == Binding::Kind::none) continue;  // a probe
    const bool defined = b.kind == Binding::Kind::function || b.kind == Binding::Kind::class_;
    imported = imported || b.kind == Binding::Kind::import;
    if ((!defined && b.kind != Binding::Kind::import) || (meaning && *meaning != b.qualified)) {
      return {};
    }
    meaning = b.qualified;
  }
  if (!meaning || resolving_.replaced(first, imported)) return {};
  const std::string whole = *meaning + std::string(dotted.substr(first.size()));
  meaning = resolving_.name(*meaning);
  for (size_t at = first.size(); meaning && at < dotted.size();) {
    const size_t end = std::min(dotted.find('.', at + 1), dotted.size());
    meaning = resolving_.name(*meaning + std::string(dotted.substr(at, end - at)));
    at = end;
  }
  if (!meaning) return told_[dotted] = {false, nullptr, resolving_.own(whole)};
  return told_[dotted] = {true, resolving_.operation(*meaning)};
}

// Whether some function is given a module, or names one anew: what stands for a part of the
// operation's names and has no dot behind it.
bool Meant::hands_on(std::string_view word) const {
  auto [known, fresh] = handed_on_.try_emplace(word, false);
  if (!fresh) return known->second;
  known->second = any_word(text_, 0, text_.size(), word, [&](size_t at) {
    if (dotted_on(text_, at + word.size()) || in_remark(at) || in_comment(text_, at)) return false;
    const size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
    const size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view begins = first_word(text_.substr(line));
    return begins != "import" && begins != "from";
  });
  return known->second;
}

// Whether a name that is not the module's may stand for a module that has the operation.
bool Meant::may_be_module(std::string_view name, const Operation& operation) const {
  if (imported_inside(name)) return true;
  auto handed_on = [&](const std::string& qualified) {
    for (const auto& [local, bindings] : outline_.module.names.bindings) {
      for (const Binding& b : bindings) {
        const bool has = !b.qualified.empty() && qualified.starts_with(b.qualified + ".");
        if (has && hands_on(local)) return true;
      }
    }
    const std::string_view whole = qualified;
    for (size_t dot = whole.find('.'); dot != std::string_view::npos;) {
      const size_t next = whole.find('.', dot + 1);
      if (next == std::string_view::npos) break;
      if (hands_on(whole.substr(dot + 1, next - dot - 1))) return true;
      dot = next;
    }
    return false;
  };
  return handed_on(operation.id) ||
         std::any_of(operation.names.begin(), operation.names.end(), handed_on);
}

bool Meant::may_name(size_t at, size_t size, const Operation& operation) const {
  if (!outline_.module.names.stars.empty()) return true;  // one of them may bind what it reads
  const std::string_view word = text_.substr(at, size);
  const bool method =
      std::any_of(operation.methods.begin(), operation.methods.end(),
                  [&](const std::string& name) { return last_component(name) == word; });
  size_t dot = at;
  while (dot > 0 && (space(text_[dot - 1]) || text_[dot - 1] == '\\')) --dot;
  if (dot == 0 || text_[dot - 1] != '.') {  // by itself
    if (imported_inside(word) || renamed_at(text_, at + size)) return true;
    if (!bound(word)) {
      return std::any_of(operation.names.begin(), operation.names.end(),
                         [&](const std::string& n) { return n.starts_with("builtins."); }) ||
             operation.id.starts_with("builtins.");
    }
    const Meaning meaning = of(word);
    return !meaning.known || meaning.operation == &operation;
  }
  if (dot != at) return true;
  size_t begin = --dot;
  while (begin > 0 && (name_char(text_[begin - 1]) || text_[begin - 1] == '.')) --begin;
  const std::string_view chain = text_.substr(begin, dot - begin);
  if (chain.empty() || chain.front() == '.') return true;
  size_t outer = begin;  // `torch. nn.GELU`: the chain goes on before a blank
  while (outer > 0 && (space(text_[outer - 1]) || text_[outer - 1] == '\\')) --outer;
  if (outer > 0 && text_[outer - 1] == '.') return true;
  const std::string_view head = chain.substr(0, chain.find('.'));
  const OutlinedDefinition* home = around(at);
  const bool own = !bound(head) || (home != nullptr && bound_in(*home, head));
  if (own) return method || may_be_module(head, operation);
  const Meaning meaning = of(text_.substr(begin, at + size - begin));
  return !meaning.known || meaning.operation == &operation;
}

}  // namespace refit::python
