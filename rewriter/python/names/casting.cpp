// Classes of the project that merely cast: they compute as their base does, in float32, and give
// the type of what they were given. Entry point: Project::casting.
#include <algorithm>
#include <map>

#include "rewriter/python/names/outline.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kOperand = "$x";  // what `forward` is given, in texts of this file

// Statements of [begin, end), comments left out; nullopt where one cannot be told from the next.
std::optional<std::vector<std::string_view>> statements_in(std::string_view text, size_t begin,
                                                           size_t end) {
  const Lines lines(text);
  std::vector<std::string_view> out;
  while (begin < end) {
    if (space(text[begin])) {
      ++begin;
      continue;
    }
    size_t code_end = 0;
    size_t next = lines.logical_line(begin, &code_end);
    if (next == std::string_view::npos) return std::nullopt;
    std::string_view code = trimmed(text.substr(begin, std::min(code_end, end) - begin));
    if (!code.empty()) out.push_back(code);
    begin = std::max(next, begin + 1);
  }
  return out;
}

// One string and nothing else.
bool is_remark(std::string_view statement) {
  size_t quote = statement.find_first_not_of("rRuUbB");
  if (quote == std::string_view::npos || (statement[quote] != '"' && statement[quote] != '\'')) {
    return false;
  }
  return Lines(statement).string_end(quote, 0) == statement.size();
}

// An expression without blanks, with what its names stand for.
std::string expanded(std::string_view expression,
                     const std::map<std::string_view, std::string>& of) {
  std::string out;
  for (size_t at = 0; at < expression.size();) {
    if (!name_char(expression[at])) {
      if (!space(expression[at]) && expression[at] != '\\') out += expression[at];
      ++at;
      continue;
    }
    std::string_view word = first_word(expression.substr(at));
    at += word.size();
    auto known = out.ends_with('.') ? of.end() : of.find(word);
    bool keyword = trimmed(expression.substr(at)).starts_with("=");
    out += known == of.end() || keyword ? std::string(word) : known->second;
  }
  return out;
}

// The names between the brackets of a header without defaults and stars.
std::vector<std::string_view> plain_parameters(std::string_view header) {
  size_t open = header.find('(');
  size_t close = header.rfind(')', header.rfind("->"));
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  std::string_view list = header.substr(open + 1, close - open - 1);
  if (list.find_first_of("*=#") != std::string_view::npos) return {};
  std::vector<std::string_view> out;
  for (std::string_view part : Lines(list).parts(list)) {
    if (!part.empty()) out.push_back(first_word(part));
  }
  return out;
}

// What `forward` returns, in terms of its operand; "" where it does more than that.
std::string returned(std::string_view text, const OutlinedDefinition& forward) {
  auto parameters = plain_parameters(text.substr(forward.header, forward.body - forward.header));
  auto body = statements_in(text, forward.body, forward.end);
  if (parameters.size() != 2 || parameters[0] != "self" || !body) return "";
  std::map<std::string_view, std::string> names{{parameters[1], std::string(kOperand)}};
  std::vector<std::string> assigned;
  for (size_t i = 0; i < body->size(); ++i) {
    std::string_view statement = (*body)[i];
    if (i == 0 && is_remark(statement)) continue;
    if (statement.find_first_of("#;\"'") != std::string_view::npos) return "";
    std::string_view word = first_word(statement);
    std::string_view rest = trimmed(statement.substr(word.size()));
    if (word == "return") {
      if (i + 1 != body->size()) return "";
      const std::string result = expanded(rest, names);
      // What is assigned and not read may have done something.
      bool all = std::all_of(assigned.begin(), assigned.end(), [&](const std::string& value) {
        return value == "$x.dtype" || result.find(value) != std::string::npos;
      });
      return all ? result : "";
    }
    if (!rest.starts_with("=") || rest.starts_with("==") || word == "self") return "";
    assigned.push_back(expanded(rest.substr(1), names));
    names[word] = assigned.back();
  }
  return "";
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// `$x.float()` and its like.
bool widens(std::string_view text) {
  return one_of(text, {"$x.float()", "$x.to(torch.float32)", "$x.to(dtype=torch.float32)",
                       "$x.type(torch.float32)", "$x.to(torch.float)", "$x.type(torch.float)"});
}

bool narrows(std::string_view text) {
  return one_of(text, {".type_as($x)", ".to($x.dtype)", ".to(dtype=$x.dtype)", ".type($x.dtype)"});
}

// An attribute as it is or cast, with or without `if it is not None`.
bool is_cast_of(std::string_view text, const std::string& plain) {
  const std::string wide = plain + ".float()";
  return text == plain || text == wide || text == wide + "if" + plain + "isnotNoneelseNone" ||
         text == wide + "if" + plain + "elseNone";
}

// The one base of a class that has `forward` and nothing else that a call of its object would meet.
std::optional<std::string_view> base_of(std::string_view text, const Outline& outline,
                                        std::string_view name, const OutlinedDefinition** forward) {
  const OutlinedDefinition* own = nullptr;
  const auto& all = outline.definitions;
  for (const OutlinedDefinition& d : all) {
    if (d.owner != SIZE_MAX || d.name != name) continue;
    if (own != nullptr || !d.is_class || d.begin != d.header) return std::nullopt;
    own = &d;
  }
  if (own == nullptr) return std::nullopt;
  size_t at = own->body;
  auto nothing_until = [&](size_t end) {
    auto between = statements_in(text, at, end);
    return between && std::all_of(between->begin(), between->end(), is_remark);
  };
  auto index = static_cast<size_t>(own - all.data());
  for (const OutlinedDefinition& d : all) {
    if (d.owner != index) continue;
    bool plain = !d.is_class && d.begin == d.header && nothing_until(d.begin);
    if (!plain || !one_of(d.name, {"__init__", "forward", "extra_repr"})) return std::nullopt;
    if (d.name == "forward" && *forward != nullptr) return std::nullopt;
    if (d.name == "forward") *forward = &d;
    at = d.end;
  }
  if (*forward == nullptr || !nothing_until(own->end)) return std::nullopt;
  std::string_view header = text.substr(own->header, own->body - own->header);
  if (plain_parameters(header).size() != 1) return std::nullopt;
  size_t open = header.find('(');
  return trimmed(header.substr(open + 1, header.rfind(')') - open - 1));
}

}  // namespace

const Operation* Project::casting(const std::string& qualified, const Catalogue& catalogue) {
  std::call_once(may_cast_once_, [&] {
    for (const auto& operation : catalogue.operations()) {
      const std::string& base = operation->casts.base;
      if (base.empty()) continue;
      for (const Subclass& subclass : subclasses_of("", base.substr(base.rfind('.') + 1))) {
        may_cast_.insert(subclass.name);
      }
    }
  });
  const std::string_view last = std::string_view(qualified).substr(qualified.rfind('.') + 1);
  if (!may_cast_.contains(name_hash(last))) return nullptr;
  {
    std::shared_lock lock(mutex_);
    auto known = casting_.find(qualified);
    if (known != casting_.end()) return known->second;
  }
  const Operation* out = read_casting(qualified, catalogue);
  std::unique_lock lock(mutex_);
  return casting_.emplace(qualified, out).first->second;
}

const Operation* Project::read_casting(const std::string& qualified, const Catalogue& catalogue) {
  size_t dot = qualified.rfind('.');
  if (dot == std::string::npos || !has_module(qualified.substr(0, dot))) return nullptr;
  const std::string home = qualified.substr(0, dot), name = qualified.substr(dot + 1);
  bool package = false;
  auto source = source_of(home, &package);
  auto outlined = source ? outline(source->text(), home, package) : std::nullopt;
  if (!outlined) return nullptr;
  std::string_view text = source->text();
  const OutlinedDefinition* forward = nullptr;
  auto base = base_of(text, *outlined, name, &forward);
  if (!base) return nullptr;
  auto meant = resolve(home + "." + std::string(*base));
  const Operation* like = meant ? catalogue.casting(*meant) : nullptr;
  if (like == nullptr) return nullptr;
  auto names = [&](const std::string& written, std::string_view what) {
    auto resolved = resolve(home + "." + written);
    return resolved && *resolved == what;
  };
  const std::string result = returned(text, *forward);
  bool says_torch = result.find("torch.") != std::string::npos;
  if (says_torch && !names("torch.float32", "torch.float32")) return nullptr;
  size_t bracket = result.find('('), end = result.rfind(").");
  if (end == std::string::npos || !narrows(std::string_view(result).substr(end + 1)))
    return nullptr;
  // The base's own forward, or the function that it is.
  for (const std::string& call : {std::string("super()"), "super(" + name + ",self)"}) {
    const std::string begins = call + ".forward(";
    if (!result.starts_with(begins) || end < begins.size()) continue;
    std::string_view given = std::string_view(result).substr(begins.size(), end - begins.size());
    return widens(given) ? like : nullptr;
  }
  if (bracket >= end || !names(result.substr(0, bracket), like->casts.function)) return nullptr;
  std::string_view list = std::string_view(result).substr(bracket + 1, end - bracket - 1);
  auto given = Lines(list).parts(list);
  const auto& wanted = like->casts.arguments;
  bool casts = given.size() == wanted.size() + 1 && widens(given[0]) &&
               std::equal(given.begin() + 1, given.end(), wanted.begin(), is_cast_of);
  return casts ? like : nullptr;
}

}  // namespace refit::python
