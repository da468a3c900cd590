// See quotes.hpp.
#include "rewriter/python/edit/quotes.hpp"

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

Quoted quoted_around(const PythonUnit& unit, TSNode expression) {
  Quoted out;
  for (TSNode at = expression; present(at); at = ts_node_parent(at)) {
    if (is(at, "interpolation")) {
      const uint32_t end = ts_node_end_byte(field(at, "expression"));
      const std::string_view behind = unit.text().substr(end, ts_node_end_byte(at) - end);
      const size_t sign = behind.find_first_not_of(" \t\r\n");
      out.shown = out.shown || (sign != std::string_view::npos && behind[sign] == '=');
    }
    if (!is(at, "string")) continue;
    if (out.range.size() == 0) out.range = range_of(at);
    const char quote = single_quote(text_of(unit.text(), at));
    if (quote != 0 && out.quotes.find(quote) == std::string::npos) out.quotes += quote;
  }
  return out;
}

bool take_quotes(const Quoted& quoted, NewArgument& argument) {
  std::string kinds;           // of quotes that are not copied from there
  std::vector<size_t> places;  // where they stand
  auto copy = argument.copies.begin();
  for (size_t at = 0; at < argument.text.size(); ++at) {
    if (copy != argument.copies.end() && copy->at == at) {
      const ByteRange from = (copy++)->from;
      if (quoted.range.contains(from) && from.size() > 0) {
        at += from.size() - 1;
        continue;
      }
    }
    const char c = argument.text[at];
    if (c == '\\' || (c == '\n' && !quoted.quotes.empty())) return false;
    const std::string_view rest = std::string_view(argument.text).substr(at);
    if (rest.starts_with("\"\"\"") || rest.starts_with("'''")) return false;
    if (c != '"' && c != '\'') continue;
    if (kinds.find(c) == std::string::npos) kinds += c;
    places.push_back(at);
  }
  if (kinds.find_first_of(quoted.quotes) == std::string::npos) return true;
  if (kinds.size() > 1 || quoted.quotes.size() > 1) return false;
  for (size_t at : places) argument.text[at] = kinds.front() == '"' ? '\'' : '"';
  return true;
}

}  // namespace refit::python
