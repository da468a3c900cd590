// See reuse.hpp. A body parses by its own lines, its header's indentation and the place of its
// header in blocks that are parsed again: with the text from the header's line on as it was, its
// tree is what it was, moved.
#include "rewriter/frontend/python/reuse.hpp"

#include <algorithm>

namespace refit::python {

namespace {

// The block of a function that takes exactly these bytes, was parsed and holds together.
const NodeData* block_at(const PythonUnit& unit, ByteRange body) {
  auto unseen = std::lower_bound(unit.unseen.begin(), unit.unseen.end(), body.begin,
                                 [](const Unseen& u, uint32_t at) { return u.body.end <= at; });
  if (unseen != unit.unseen.end() && unseen->body.begin < body.end) return nullptr;
  TSNode at = ts_node_descendant_for_byte_range(unit.tree.root(), body.begin, body.end);
  while (present(at) && range_of(at) == body) {
    if (is(at, "block")) {
      return is(ts_node_parent(at), "function_definition") ? at.get() : nullptr;
    }
    at = ts_node_parent(at);
  }
  return nullptr;
}

}  // namespace

std::vector<Tree::Known> unchanged_bodies(std::string_view text, const Outline& outline,
                                          const Focus& focus, const std::vector<Unseen>& unseen) {
  std::vector<Tree::Known> out;
  if (focus.before == nullptr || focus.origins == nullptr) return out;
  const auto& before = static_cast<const PythonUnit&>(*focus.before);
  if (before.tree.empty() || ts_node_has_error(before.tree.root())) return out;
  const std::string_view old_text = before.text();
  auto next = unseen.begin();
  for (const OutlinedDefinition& d : outline.definitions) {
    if (d.is_class || d.body + Tree::kFoldable > d.end) continue;
    while (next != unseen.end() && next->body.end <= d.body) ++next;
    if (next != unseen.end() && next->body.begin < d.end) continue;
    const size_t line_end = text.rfind('\n', d.header);
    const auto line =
        line_end == std::string_view::npos ? uint32_t{0} : static_cast<uint32_t>(line_end + 1);
    const uint32_t old_line = focus.origins->before(line), old_body = old_line + (d.body - line);
    const size_t size = d.end - line;
    if (old_line + size > old_text.size() ||
        old_text.substr(old_line, size) != text.substr(line, size)) {
      continue;
    }
    const NodeData* block = block_at(before, {old_body, old_body + (d.end - d.body)});
    if (block != nullptr) out.push_back({{d.body, d.end}, block});
  }
  return out;
}

}  // namespace refit::python
