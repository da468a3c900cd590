// Names, fields and parents of nodes, from the productions that made them. See lr_tree.hpp.
#include "rewriter/frontend/python/lr_tree.hpp"

#include <algorithm>

#include "rewriter/frontend/python/lr_input.hpp"

namespace refit::python {

namespace {

// What the grammar says of a symbol, and of a production: whether children have other names or are
// fields.
struct Grammar {
  struct Symbol {
    uint16_t kind;
    bool named, visible;
  };
  std::vector<Symbol> symbols;
  std::vector<bool> plain;  // by production: it says nothing of its children

  explicit Grammar(const TSLanguage& language) {
    for (uint32_t s = 0; s < language.symbol_count + language.alias_count; ++s) {
      symbols.push_back({language.public_symbol_map[s], language.symbol_metadata[s].named,
                         language.symbol_metadata[s].visible});
    }
    for (uint32_t p = 0; p < language.production_id_count; ++p) {
      const TSSymbol* aliases =
          language.alias_sequences + size_t{p} * language.max_alias_sequence_length;
      const bool renames = std::any_of(aliases, aliases + language.max_alias_sequence_length,
                                       [](TSSymbol alias) { return alias != 0; });
      plain.push_back(language.field_map_slices[p].length == 0 && (p == 0 || !renames));
    }
  }
};

}  // namespace

std::vector<NodeData> visible_nodes(const RuleTree& root, const std::vector<RuleTree>& trees,
                                    const std::vector<uint32_t>& children) {
  const TSLanguage& language = *tree_sitter_python();
  static const Grammar kGrammar(language);
  struct Step {
    const RuleTree* tree;
    const uint32_t* child;  // the next
    uint32_t structural;    // its number without extras
    uint32_t node;          // the visible node that children go under
    uint8_t field;          // of a hidden one
    bool visible;
    bool plain;  // its production says nothing of its children
  };
  std::vector<NodeData> out;
  out.reserve(trees.size());
  auto add = [&](const RuleTree& tree, TSSymbol symbol, uint8_t field, uint32_t parent) {
    NodeData node;
    node.begin = tree.begin;
    node.end = tree.end;
    const auto number = static_cast<uint32_t>(out.size());
    node.above = number - parent;
    node.kind = kGrammar.symbols[symbol].kind;
    node.field = field;
    node.named = kGrammar.symbols[symbol].named;
    out.push_back(node);
    return number;
  };
  std::vector<Step> path;
  auto enter = [&](const RuleTree& tree, uint32_t node, uint8_t field, bool visible) {
    const bool plain = tree.production < kGrammar.plain.size() && kGrammar.plain[tree.production];
    path.push_back({&tree, children.data() + tree.first, 0, node, field, visible, plain});
  };
  enter(root, add(root, root.symbol, 0, 0), 0, true);
  while (!path.empty()) {
    Step& step = path.back();
    const uint32_t* const end = children.data() + step.tree->first + step.tree->count;
    const RuleTree* inner = nullptr;  // whose children come before the others
    uint32_t node = step.node;
    uint8_t field = 0;
    bool visible = false;
    while (step.child != end && inner == nullptr) {
      const RuleTree& child = trees[*step.child++];
      TSSymbol symbol = child.symbol;
      field = 0;
      if (!child.extra) {
        if (!step.plain) {
          const uint32_t production = step.tree->production, place = step.structural;
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
        }
        ++step.structural;
        if (field == 0 && !step.visible) field = step.field;
      }
      visible = symbol != child.symbol || kGrammar.symbols[symbol].visible;
      if (visible) node = add(child, symbol, field, step.node);
      if (child.count != 0) inner = &child;
    }
    if (inner != nullptr) {
      enter(*inner, visible ? node : step.node, visible ? uint8_t{0} : field, visible);
      continue;
    }
    if (step.visible) out[step.node].extent = static_cast<uint32_t>(out.size()) - step.node;
    path.pop_back();
  }
  return out;
}

}  // namespace refit::python
