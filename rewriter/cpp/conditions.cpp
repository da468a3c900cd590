// What the preprocessor skipped of a file, and whether a change could matter to it. Entry point:
// clear_of_conditions.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/cpp/frontend.hpp"

namespace refit::cpp {

namespace {

bool mentions(std::string_view text, const std::set<std::string_view>& names) {
  const auto letter = [&](size_t at) {
    return isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && letter(end)) ++end;
    if (end > at && names.contains(text.substr(at, end - at))) return true;
    at = std::max(end, at + 1);
  }
  return false;
}

}  // namespace

Expected<void> clear_of_conditions(const CppUnit& unit, const Change& change,
                                   const std::set<StatementId>& dead) {
  if (unit.inactive.empty()) return {};
  const Graph& g = unit.functions[change.function].graph;
  const std::vector<Local>& locals = unit.texts[change.function].locals;
  ByteRange parts = g[change.root].range;
  std::set<std::string_view> gone, changed;  // names
  const auto spread = [&](ByteRange more) {
    if (more.size() == 0) return;
    parts = {std::min(parts.begin, more.begin), std::max(parts.end, more.end)};
  };
  for (StatementId id : dead) {
    spread(g.statements[id].range);
    for (DefinitionId d : g.statements[id].definitions) {
      gone.insert(locals[g.definitions[d].name].identifier);
    }
  }
  // Whatever is made of a transpose that goes has another layout.
  for (ValueId id : change.forwarded) spread(g[id].range);
  if (!change.forwarded.empty()) {
    for (const Local& local : locals) changed.insert(local.identifier);
  }
  for (const ByteRange& skipped : unit.inactive) {
    const bool between = skipped.begin < parts.end && parts.begin < skipped.end;
    // A name that goes may get its value there, too: in the other branch of one condition.
    const std::string_view text = unit.source().slice(skipped);
    const bool reads =
        (unit.functions[change.function].range.contains(skipped) && mentions(text, gone)) ||
        (skipped.begin >= parts.begin && mentions(text, changed));
    if (!between && !reads) continue;
    return failure(fmt::format(
        "the code that the preprocessor leaves out behind line {} may need what would go; make the "
        "condition enclose the whole computation",
        unit.source().position(skipped.begin).line));
  }
  return {};
}

}  // namespace refit::cpp
