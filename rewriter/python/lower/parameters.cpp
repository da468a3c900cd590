// A function's parameters as values, and what annotation and default say of each. Entry point:
// FunctionLowering::parameter.
#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

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

// How many items a tuple of that annotation has, `tuple[Tensor, Tensor]`; 0 where it is none, or
// may have any number.
int items_of_tuple(std::string_view text) {
  text = without_none(text);
  const size_t open = text.find('[');
  if (open == std::string_view::npos || !text.ends_with(']')) return 0;
  const std::string_view name = trimmed(text.substr(0, open));
  if (name != "tuple" && name != "Tuple" && name != "typing.Tuple") return 0;
  const std::string_view inside = trimmed(text.substr(open + 1, text.size() - open - 2));
  if (inside.empty() || inside.ends_with("...") || inside.ends_with(',')) return 0;
  int items = 1, depth = 0;
  for (const char c : inside) {
    depth += static_cast<int>(c == '[' || c == '(') - static_cast<int>(c == ']' || c == ')');
    if (depth < 0) return 0;
    items += static_cast<int>(c == ',' && depth == 0);
  }
  return items;
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

void FunctionLowering::parameter(TSNode node) {
  TSNode name = node;
  if (is(node, "default_parameter") || is(node, "typed_default_parameter")) {
    name = field(node, "name");
  } else if (is(node, "typed_parameter")) {
    auto inside = children_of(node);
    if (inside.empty()) return;
    name = inside.front();
  }
  // What `*values: T` says is said of each, not of the tuple.
  bool several = is(name, "list_splat_pattern") || is(name, "dictionary_splat_pattern");
  if (several) {
    auto inside = children_of(name);
    if (inside.empty()) return;
    name = inside.front();
  }
  if (!is(name, "identifier")) return;
  scope_->locals.emplace(text(name));
  Value value;
  value.kind = Kind::parameter;
  value.text = text(name);
  // A number by its default or its annotation.
  TSNode fallback = field(node, "value");
  if (present(fallback) && (is(fallback, "float") || is(fallback, "integer"))) {
    value.literal.kind = Literal::Kind::real;
  }
  TSNode annotation = several ? TSNode{} : field(node, "type");
  if (present(annotation) && !(present(fallback) && is(fallback, "none")) &&
      (text(annotation) == "float" || text(annotation) == "int")) {
    value.literal.kind = Literal::Kind::real;
  } else if (auto declared = present(annotation) ? declared_class(annotation) : std::nullopt) {
    value.literal.kind = Literal::Kind::symbol;
    value.literal.text = std::move(*declared);
  }
  if (present(annotation)) value.count = items_of_tuple(text(annotation));
  ValueId id = add(std::move(value), name);
  bind(text(name), id);
  // An object of a class of this file.
  if (present(annotation)) {
    std::string_view written = text(annotation);
    if (written.size() > 2 && (written.front() == '"' || written.front() == '\'')) {
      written = written.substr(1, written.size() - 2);
    }
    unit_.annotated.emplace(std::pair{index_, id}, unit_.module + "." + std::string(written));
  }
}

}  // namespace refit::python
