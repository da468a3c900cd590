// parse_signature: splits a parameter list at its top-level commas, then reads each part.
#include "rewriter/rule/signature.hpp"

#include <llvm/ADT/StringRef.h>

#include <string>

#include "rewriter/rule/template_text.hpp"

namespace refit {
namespace {

std::string_view trim(std::string_view text) { return llvm::StringRef(text).trim(" \t\r\n"); }

// The parts between commas that stand outside brackets and quotes.
Expected<std::vector<std::string_view>> split(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') {
        ++i;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  if (depth != 0 || quote != '\0') {
    return failure("expected every bracket and quote of the signature to be closed");
  }
  const std::string_view last = trim(text.substr(begin));
  if (!last.empty()) parts.push_back(last);  // a trailing comma is allowed
  return parts;
}

}  // namespace

Expected<std::vector<Parameter>> parse_signature(std::string_view text) {
  const std::string_view whole = trim(text);
  if (whole.size() < 2 || whole.front() != '(' || whole.back() != ')') {
    return failure("expected a signature in parentheses such as `(input, dim=-1)`, found `" +
                   std::string(whole) + "`");
  }
  auto parts = split(whole.substr(1, whole.size() - 2));
  if (!parts) return tl::unexpected(parts.error());

  std::vector<Parameter> parameters;
  bool keyword_only = false;
  bool defaulted = false;
  bool star_needs_name = false;
  for (const std::string_view part : *parts) {
    if (!parameters.empty() && parameters.back().variadic_keyword) {
      return failure("expected nothing after `**" + parameters.back().name + "`, found `" +
                     std::string(part) + "`");
    }
    if (part == "/") {
      if (parameters.empty() || keyword_only || parameters.front().positional_only) {
        return failure("expected `/` once, after a parameter and before `*`");
      }
      for (Parameter& parameter : parameters) parameter.positional_only = true;
      continue;
    }
    Parameter parameter;
    std::string_view name = part.substr(0, part.find('='));
    const bool has_default = name.size() < part.size();
    name = trim(name);
    if (name.starts_with("**")) {
      parameter.variadic_keyword = true;
      name.remove_prefix(2);
    } else if (name.starts_with("*")) {
      if (keyword_only) return failure("expected `*` once, found `" + std::string(part) + "`");
      keyword_only = true;
      if (name == "*" && !has_default) {
        star_needs_name = true;
        continue;
      }
      parameter.variadic = true;
      name.remove_prefix(1);
    } else {
      parameter.keyword_only = keyword_only;
    }
    if (!is_identifier(name)) {
      return failure("expected a parameter's name, found `" + std::string(part) + "`");
    }
    if (star_needs_name && parameter.variadic_keyword) {
      return failure("expected a named parameter after `*`, found `" + std::string(part) + "`");
    }
    star_needs_name = false;
    parameter.name = name;
    if (std::ranges::any_of(parameters,
                            [&](const Parameter& other) { return other.name == parameter.name; })) {
      return failure("expected distinct parameters, found `" + parameter.name + "` twice");
    }
    if (has_default) {
      if (parameter.variadic || parameter.variadic_keyword) {
        return failure("expected no default for `" + std::string(part) + "`");
      }
      auto value = parse_literal(part.substr(part.find('=') + 1));
      if (!value) {
        return failure("default of `" + parameter.name + "`: " + value.error().message);
      }
      parameter.default_value = std::move(*value);
    } else if (defaulted && !keyword_only && !parameter.variadic_keyword) {
      return failure("expected a default for `" + parameter.name +
                     "`, which follows a parameter that has one");
    }
    defaulted = defaulted || has_default;
    parameters.push_back(std::move(parameter));
  }
  if (star_needs_name) return failure("expected a named parameter after `*`");
  return parameters;
}

}  // namespace refit
