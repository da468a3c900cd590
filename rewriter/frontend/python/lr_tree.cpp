// Names, fields and parents of nodes, from the productions that made them. See lr_tree.hpp.
#include "rewriter/frontend/python/lr_tree.hpp"

#include "rewriter/frontend/python/lr_input.hpp"

namespace refit::python {

std::vector<NodeData> visible_nodes(const RuleTree& root, const std::vector<RuleTree>& trees,
                                    const std::vector<uint32_t>& children) {
  const TSLanguage& language = *tree_sitter_python();
  struct Step {
    const RuleTree* tree;
    uint32_t child;       // the next
    uint32_t structural;  // its number without extras
    uint32_t node;        // the visible node that children go under
    uint8_t field;        // of a hidden one
    bool visible;
  };
  std::vector<NodeData> out;
  out.reserve(trees.size());
  auto add = [&](const RuleTree& tree, TSSymbol symbol, uint8_t field, uint32_t parent) {
    NodeData node;
    node.begin = tree.begin;
    node.end = tree.end;
    const auto number = static_cast<uint32_t>(out.size());
    node.above = number - parent;
    node.kind = language.public_symbol_map[symbol];
    node.field = field;
    node.named = language.symbol_metadata[symbol].named;
    out.push_back(node);
    return number;
  };
  std::vector<Step> path;
  path.push_back({&root, 0, 0, add(root, root.symbol, 0, 0), 0, true});
  while (!path.empty()) {
    Step& step = path.back();
    if (step.child == step.tree->count) {
      if (step.visible) {
        out[step.node].extent = static_cast<uint32_t>(out.size()) - step.node;
      }
      path.pop_back();
      continue;
    }
    const RuleTree& child = trees[children[step.tree->first + step.child++]];
    TSSymbol symbol = child.symbol;
    uint8_t field = 0;
    if (!child.extra) {
      const uint32_t production = step.tree->production, place = step.structural++;
      if (production != 0) {
        const TSSymbol alias =
            language.alias_sequences[production * language.max_alias_sequence_length + place];
        if (alias != 0) symbol = alias;
      }
      const TSMapSlice slice = language.field_map_slices[production];
      for (uint32_t i = slice.index; i < uint32_t{slice.index} + slice.length; ++i) {
        const TSFieldMapEntry& entry = language.field_map_entries[i];
        if (!entry.inherited && entry.child_index == place) {
          field = static_cast<uint8_t>(entry.field_id);
          break;
        }
      }
      if (field == 0 && !step.visible) field = step.field;
    }
    const bool visible = symbol != child.symbol || language.symbol_metadata[symbol].visible;
    if (!visible) {
      if (child.count != 0) {
        const uint32_t node = step.node;
        path.push_back({&child, 0, 0, node, field, false});
      }
      continue;
    }
    const uint32_t node = add(child, symbol, field, step.node);
    if (child.count != 0) path.push_back({&child, 0, 0, node, 0, true});
  }
  return out;
}

}  // namespace refit::python
