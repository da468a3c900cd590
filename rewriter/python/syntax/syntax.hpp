// Thin helpers over tree-sitter's trees of the Python grammar: kinds and fields by their names,
// children without comments, walks, and the tree of a text.
#pragma once

#include <tree_sitter/api.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "rewriter/text/edit.hpp"
#include "rewriter/text/source.hpp"

// Two nodes are the same where they are one node of one tree.
inline bool operator==(TSNode a, TSNode b) { return ts_node_eq(a, b); }

namespace refit::python {

inline bool present(TSNode node) { return node.id != nullptr; }
inline ByteRange range_of(TSNode node) {
  return {ts_node_start_byte(node), ts_node_end_byte(node)};
}

// What a name of the grammar is told by: a number that none of its other names has.
constexpr uint32_t name_number(std::string_view name) {
  uint32_t number = 2166136261U;  // FNV-1a
  for (char c : name) number = (number ^ static_cast<uint8_t>(c)) * 16777619U;
  return number;
}

// The grammar's name of a kind of node. Code writes the name; only its number is compared.
class NodeKind {
 public:
  consteval NodeKind(const char* name) : number_(name_number(name)) {}
  constexpr explicit NodeKind(uint32_t number) : number_(number) {}
  friend constexpr auto operator<=>(NodeKind, NodeKind) = default;

 private:
  uint32_t number_;
};

// The grammar's name of a field of a node.
class FieldName {
 public:
  consteval FieldName(const char* name) : number_(name_number(name)) {}
  constexpr explicit FieldName(std::string_view name) : number_(name_number(name)) {}
  // The grammar's number of it; 0: it has no such field.
  TSFieldId id() const;

 private:
  uint32_t number_;
};

// The grammar's kinds by their symbols; the last stands for every symbol beyond them: a mistake.
inline constexpr uint16_t kNoKind = 511;
struct KindNames {
  std::array<std::string_view, kNoKind + 1> names;
  std::array<uint32_t, kNoKind + 1> numbers;
  KindNames();
};
extern const KindNames kKindNames;
// A node that is not there has no kind, since ts_node_symbol reads it.
inline uint16_t kind_index(TSNode node) {
  return present(node) ? std::min(ts_node_symbol(node), kNoKind) : kNoKind;
}
inline NodeKind type_of(TSNode node) { return NodeKind(kKindNames.numbers[kind_index(node)]); }
inline std::string_view type_name(TSNode node) { return kKindNames.names[kind_index(node)]; }
inline bool is(TSNode node, NodeKind type) { return present(node) && type_of(node) == type; }
TSNode field(TSNode node, FieldName name);

using NodeList = std::vector<TSNode>;

// Named children without comments and line continuations, in order; linear in their number.
NodeList children_of(TSNode node);
// Puts them at the end of a list.
void push_children(TSNode node, std::vector<TSNode>& list);
// All children, named or not, comments included.
NodeList all_children_of(TSNode node);
// Those of them that reach into a range, without a walk over the others.
NodeList children_in(TSNode node, ByteRange range);
// The fields named `name`, in order.
NodeList fields_of(TSNode node, FieldName name);
inline std::string_view text_of(std::string_view source, TSNode node) {
  const ByteRange range = range_of(node);
  return source.substr(range.begin, range.size());
}
// `(x)` is `x`.
TSNode without_parentheses(TSNode node);
// Statements of a block or module.
NodeList statements_of(TSNode block);
// Whether a statement may stand somewhere below a node of this kind.
bool holds_statements(NodeKind kind);

// A tree-sitter cursor that is freed with its scope.
class Cursor {
 public:
  explicit Cursor(TSNode node) : cursor_(ts_tree_cursor_new(node)) {}
  ~Cursor() { ts_tree_cursor_delete(&cursor_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  TSNode node() const { return ts_tree_cursor_current_node(&cursor_); }
  bool first_child() { return ts_tree_cursor_goto_first_child(&cursor_); }
  bool next_sibling() { return ts_tree_cursor_goto_next_sibling(&cursor_); }
  bool parent() { return ts_tree_cursor_goto_parent(&cursor_); }

 private:
  TSTreeCursor cursor_;
};

// Visits a node and what is inside it, named or not, in the order of the text. `visit(node)` says
// whether to look inside that node.
template <typename Visit>
void walk_tree(TSNode root, Visit visit) {
  if (!present(root)) return;
  Cursor at(root);
  size_t depth = 0;
  while (true) {
    if (visit(at.node()) && at.first_child()) {
      ++depth;
      continue;
    }
    while (depth > 0 && !at.next_sibling()) {
      at.parent();
      --depth;
    }
    if (depth == 0) return;
  }
}

// The tree of a text, or none.
class Tree {
 public:
  explicit Tree(std::string_view text);
  // The tree of a part of a text, with the places that it has there.
  Tree(std::string_view text, ByteRange part);
  // The tree of a text that edits made of another one. What the edits left as it was is taken from
  // the other text's tree where the grammar allows it; the tree is the one that the text alone has.
  Tree(std::string_view text, const Tree& before, std::string_view text_before,
       const EditSet& edits);
  TSNode root() const { return ts_tree_root_node(tree_.get()); }
  bool empty() const { return tree_ == nullptr; }
  void release() { tree_.reset(); }

 private:
  struct Delete {
    void operator()(TSTree* tree) const { ts_tree_delete(tree); }
  };
  std::unique_ptr<TSTree, Delete> tree_;
};

}  // namespace refit::python
