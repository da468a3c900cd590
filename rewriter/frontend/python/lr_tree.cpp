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
  // What a production says of a child, by its place without extras.
  struct Said {
    TSSymbol alias = 0;  // its name, where that is another than its own
    uint8_t field = 0;
  };
  std::vector<Symbol> symbols;
  std::vector<char> plain;  // by production: it says nothing of its children
  std::vector<Said> said;   // by production and place
  size_t width = 0;

  explicit Grammar(const TSLanguage& language) {
    for (uint32_t s = 0; s < language.symbol_count + language.alias_count; ++s) {
      symbols.push_back({language.public_symbol_map[s], language.symbol_metadata[s].named,
                         language.symbol_metadata[s].visible});
    }
    width = language.max_alias_sequence_length;
    for (uint32_t p = 0; p < language.production_id_count; ++p) {
      const TSMapSlice slice = language.field_map_slices[p];
      for (uint32_t i = slice.index; i < uint32_t{slice.index} + slice.length; ++i) {
        width = std::max<size_t>(width, language.field_map_entries[i].child_index + size_t{1});
      }
    }
    said.resize(width * language.production_id_count);
    for (uint32_t p = 0; p < language.production_id_count; ++p) {
      Said* const children = said.data() + p * width;
      if (p != 0) {
        for (uint32_t i = 0; i < language.max_alias_sequence_length; ++i) {
          children[i].alias =
              language.alias_sequences[size_t{p} * language.max_alias_sequence_length + i];
        }
      }
      const TSMapSlice slice = language.field_map_slices[p];
      for (uint32_t i = slice.index; i < uint32_t{slice.index} + slice.length; ++i) {
        const TSFieldMapEntry& entry = language.field_map_entries[i];
        Said& child = children[entry.child_index];
        if (!entry.inherited && child.field == 0) {
          child.field = static_cast<uint8_t>(entry.field_id);
        }
      }
      plain.push_back(std::all_of(children, children + width, [](const Said& child) {
        return child.alias == 0 && child.field == 0;
      }));
    }
  }
};

// The nodes, to be put at the end of a row.
template <typename Row>
void put_visible(const RuleTree& root, const Pile<RuleTree>& trees, const Pile<uint32_t>& children,
                 Row& out) {
  static const Grammar kGrammar(*tree_sitter_python());
  struct Step {
    const uint32_t* child;  // the next
    const uint32_t* end;
    const Grammar::Said* said;  // of the children, by place; null: nothing
    uint32_t structural;        // the number of the next without extras
    uint32_t node;              // the visible node that children go under
    uint8_t field;              // of a hidden one
    bool visible;
  };
  const auto add = [&](const RuleTree& tree, const Grammar::Symbol& symbol, uint8_t field,
                       uint32_t parent) {
    const auto number = static_cast<uint32_t>(out.size());
    NodeData node;
    node.begin = tree.begin;
    node.end = tree.end;
    node.above = number - parent;
    node.kind = symbol.kind;
    node.field = field;
    node.named = symbol.named;
    out.push_back(node);
    return number;
  };
  const auto enter = [&](const RuleTree& tree, uint32_t node, uint8_t field, bool visible) {
    const bool plain = tree.production >= kGrammar.plain.size() || kGrammar.plain[tree.production];
    const uint32_t* const first = children.data() + tree.first;
    return Step{first,
                first + tree.count,
                plain ? nullptr : kGrammar.said.data() + tree.production * kGrammar.width,
                0,
                node,
                field,
                visible};
  };
  std::vector<Step> path;  // whose other children come later
  Step step = enter(root, add(root, kGrammar.symbols[root.symbol], 0, 0), 0, true);
  while (true) {
    if (step.child == step.end) {
      if (path.empty()) break;
      step = path.back();
      path.pop_back();
      continue;
    }
    const RuleTree& child = trees[*step.child++];
    TSSymbol symbol = child.symbol;
    uint8_t field = 0;
    if (!child.extra) {
      if (step.said != nullptr) {
        const Grammar::Said& said = step.said[step.structural];
        if (said.alias != 0) symbol = said.alias;
        field = said.field;
      }
      ++step.structural;
      if (field == 0 && !step.visible) field = step.field;
    }
    const Grammar::Symbol& name = kGrammar.symbols[symbol];
    const bool visible = symbol != child.symbol || name.visible;
    const uint32_t node = visible ? add(child, name, field, step.node) : step.node;
    if (child.count == 0) continue;
    if (step.child != step.end) path.push_back(step);
    step = enter(child, node, visible ? uint8_t{0} : field, visible);
  }
  for (size_t i = out.size(); --i > 0;) out[i - out[i].above].extent += out[i].extent;
}

}  // namespace

std::vector<NodeData> visible_nodes(const RuleTree& root, const Pile<RuleTree>& trees,
                                    const Pile<uint32_t>& children) {
  constexpr size_t kKept = size_t{1} << 16;  // trees for whose nodes room may stay
  if (trees.size() > kKept) {
    std::vector<NodeData> out;
    out.reserve(trees.size());
    put_visible(root, trees, children, out);
    return out;
  }
  thread_local Pile<NodeData> kept;
  kept.clear();
  kept.reserve(trees.size() + 1);
  put_visible(root, trees, children, kept);
  return {kept.data(), kept.data() + kept.size()};
}

}  // namespace refit::python
