// A new call that gives several values: `h, y = residual_norm(…)` in the place of the statement
// that gave the last of them its name, or, where that stands inside another expression, in a
// statement of its own before it.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/python/edit/realiser.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

// What evaluates all its parts, whatever they are.
constexpr NodeKind kEvaluated[] = {
    "call",           "argument_list", "keyword_argument",     "binary_operator",
    "attribute",      "subscript",     "unary_operator",       "parenthesized_expression",
    "assignment",     "tuple",         "augmented_assignment", "list",
    "expression_list"};

// The statement that evaluates an expression once, whenever it runs; null where it may not.
TSNode statement_evaluating(TSNode node) {
  while (present(node) && std::ranges::find(kEvaluated, type_of(node)) != std::end(kEvaluated)) {
    node = ts_node_parent(node);
  }
  return is(node, "expression_statement") || is(node, "return_statement") ? node : TSNode{};
}

}  // namespace

bool Realiser::only_names_root() const {
  const Value& root = g_[change_.root];
  const Statement& s = g_.statements[root.statement];
  if (s.kind != StatementKind::assign || s.definitions.size() != 1) return false;
  const Definition& d = g_.definitions[s.definitions[0]];
  if (d.value != change_.root || s.range.end < root.range.end) return false;
  // Behind the name there is a sign, and brackets perhaps.
  std::string_view before = text_.substr(s.range.begin, root.range.begin - s.range.begin);
  const std::string& name = g_.names[d.name];
  if (!before.starts_with(name)) return false;
  before.remove_prefix(name.size());
  const bool plain =
      std::ranges::all_of(before, [](char c) { return space(c) || c == '=' || c == '('; });
  std::string_view after = text_.substr(root.range.end, s.range.end - root.range.end);
  return plain && std::ranges::count(before, '=') == 1 &&
         std::ranges::all_of(after, [](char c) { return space(c) || c == ')'; });
}

std::string Realiser::names_of_results(const std::string& own) const {
  std::string out;
  for (const Change::Result& result : change_.results) {
    const std::string other = result.fresh ? new_name(result) : result.name;
    out += (out.empty() ? "" : ", ") + (result.value == change_.root ? own : other);
  }
  return out;
}

std::string Realiser::new_name(const Change::Result& result) const {
  const std::string_view function = unit_.source().slice(unit_.functions[change_.function].range);
  auto taken = [&](const std::string& name) {
    return g_.name_index(name).has_value() || function.find(name) != std::string_view::npos;
  };
  std::string name = result.name;
  for (int number = 2; taken(name); ++number) name = fmt::format("{}_{}", result.name, number);
  return name;
}

Expected<void> Realiser::read_by_name() {
  for (const Change::Result& result : change_.results) {
    const Value& v = g_[result.value];
    if (!result.fresh || result.value == change_.root) continue;
    const TSNode node = v.syntax == kNone ? TSNode{} : unit_.nodes[v.syntax];
    if (!present(node) || !present(statement_evaluating(node))) {
      return failure("it is not evaluated whenever its statement runs");
    }
    auto done = out_.edits.add({v.range, new_name(result)});
    if (!done) return done;
  }
  return {};
}

Expected<void> Realiser::write_before(const std::vector<std::string>& arguments) {
  const Value& root = g_[change_.root];
  const TSNode node = root.syntax == kNone ? TSNode{} : unit_.nodes[root.syntax];
  const TSNode statement = present(node) ? statement_evaluating(node) : TSNode{};
  if (!present(statement)) return failure("it is not evaluated whenever its statement runs");
  const ByteRange whole = range_of(statement);
  if (!begins_line(text_, whole.begin)) return failure("its statement does not begin a line");
  const auto result = std::ranges::find(change_.results, change_.root, &Change::Result::value);
  const std::string own = new_name(*result);
  const std::string one = call_text(whole, names_of_results(own) + " = ", arguments, true);
  const std::string indent(indentation(text_, whole.begin));
  std::string added;
  for (const std::string& comment : above_) added += indent + comment + newline();
  above_.clear();
  const ByteRange line = line_of(text_, whole.begin);
  out_.after = one;
  out_.replaced = root.range;
  out_.edits.erase_inside(root.range);
  auto done = out_.edits.add({{line.begin, line.begin}, added + indent + one + newline()});
  if (!done) return done;
  return out_.edits.add({root.range, own});
}

}  // namespace refit::python
