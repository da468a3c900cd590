// See alignment.hpp.
#include "rewriter/python/edit/alignment.hpp"

#include <algorithm>

#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

uint32_t column_of(std::string_view text, uint32_t at) { return at - line_of(text, at).begin; }

bool in_string(TSNode list, uint32_t at) {
  for (TSNode node = ts_node_descendant_for_byte_range(list, at, at); present(node);
       node = ts_node_parent(node)) {
    if (is(node, "string") && ts_node_start_byte(node) < at) return true;
    if (ts_node_eq(node, list)) return false;
  }
  return false;
}

}  // namespace

bool aligned(std::string_view text, TSNode list) {
  auto arguments = children_of(list);
  if (arguments.empty()) return false;
  const uint32_t first = ts_node_start_byte(arguments.front());
  if (!one_line(text, ts_node_start_byte(list), first)) return false;
  const uint32_t column = column_of(text, first);
  return std::ranges::any_of(arguments, [&](TSNode argument) {
    const uint32_t here = ts_node_start_byte(argument);
    return !one_line(text, first, here) && column_of(text, here) == column &&
           begins_line(text, here);
  });
}

std::vector<Edit> realigned(std::string_view text, TSNode list, int wider) {
  std::vector<Edit> out;
  if (wider == 0 || !aligned(text, list)) return out;
  const uint32_t column = column_of(text, ts_node_start_byte(children_of(list).front()));
  const uint32_t end = ts_node_end_byte(list);
  for (uint32_t at = line_of(text, ts_node_start_byte(list)).end; at < end;
       at = line_of(text, at).end) {
    std::string_view indent = indentation(text, at);
    if (indent.size() < column || indent.find('\t') != std::string_view::npos ||
        in_string(list, at)) {
      continue;
    }
    if (wider < 0) {
      out.push_back({{at, at + static_cast<uint32_t>(-wider)}, ""});
    } else {
      out.push_back({{at, at}, std::string(static_cast<size_t>(wider), ' ')});
    }
  }
  return out;
}

int wider(std::string_view text, TSNode call, std::string_view callee) {
  TSNode now = field(call, "function");
  if (!one_line(text, ts_node_start_byte(now), ts_node_end_byte(now))) return 0;
  return static_cast<int>(callee.size()) - static_cast<int>(range_of(now).size());
}

}  // namespace refit::python
