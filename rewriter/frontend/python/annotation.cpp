// What a parameter's annotation says of it. Entry point: FunctionLowering::declared_class.
#include "rewriter/frontend/python/lowering.hpp"

namespace refit::python {

namespace {

std::string_view trimmed(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? "" : text.substr(first, last - first + 1);
}

// `Optional[T]`, `T | None` and `None | T` without the None; a quoted annotation without quotes.
std::string_view without_none(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front()) {
    text = trimmed(text.substr(1, text.size() - 2));
  }
  for (std::string_view opening : {"Optional[", "typing.Optional["}) {
    if (text.starts_with(opening) && text.ends_with("]")) {
      return trimmed(text.substr(opening.size(), text.size() - opening.size() - 1));
    }
  }
  size_t bar = text.find('|');
  if (bar == std::string_view::npos) return text;
  std::string_view left = trimmed(text.substr(0, bar)), right = trimmed(text.substr(bar + 1));
  if (right == "None") return left;
  return left == "None" ? right : text;
}

}  // namespace

std::optional<std::string> FunctionLowering::declared_class(TSNode annotation) {
  std::string_view name = without_none(text(annotation));
  bool dotted = !name.empty() && name.find_first_of("[](){}|,\"' \t\r\n") == std::string_view::npos;
  if (!dotted) return std::nullopt;
  size_t dot = std::min(name.find('.'), name.size());
  std::string why;
  auto head = symbol_of(name.substr(0, dot), &why);
  if (!head) return std::nullopt;
  return context_.project.resolve(*head + std::string(name.substr(dot)));
}

}  // namespace refit::python
