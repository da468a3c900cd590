// Thin helpers over tree-sitter nodes of the Python grammar.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "rewriter/frontend/python/lr_parser.hpp"
#include "rewriter/text/edit.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

// A place in a Tree, which outlives it; or none.
class TSNode {
 public:
  TSNode() = default;
  explicit TSNode(const NodeData* at) : at_(at) {}
  const NodeData* operator->() const { return at_; }
  const NodeData* get() const { return at_; }
  friend bool operator==(TSNode, TSNode) = default;

 private:
  const NodeData* at_ = nullptr;
};

inline bool present(TSNode node) { return node.get() != nullptr; }
inline bool ts_node_is_null(TSNode node) { return !present(node); }
inline bool ts_node_eq(TSNode a, TSNode b) { return a == b; }
inline uint32_t ts_node_start_byte(TSNode node) { return node->begin; }
inline uint32_t ts_node_end_byte(TSNode node) { return node->end; }
inline bool ts_node_is_named(TSNode node) { return node->named; }
inline bool ts_node_is_missing(TSNode node) { return node->missing; }
inline bool ts_node_has_error(TSNode node) { return node->has_error; }
// None above the root.
inline TSNode ts_node_parent(TSNode node) {
  return node->above == 0 ? TSNode() : TSNode(node.get() - node->above);
}
uint32_t ts_node_named_child_count(TSNode node);
// The smallest node that holds a range.
TSNode ts_node_descendant_for_byte_range(TSNode node, uint32_t begin, uint32_t end);

inline ByteRange range_of(TSNode node) { return {node->begin, node->end}; }

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
  uint8_t id() const;

 private:
  uint32_t number_;
};

// Names of the grammar's kinds by number; the last stands for what is none of them, a mistake.
inline constexpr uint16_t kNoKind = 511;
struct KindNames {
  std::array<std::string_view, kNoKind + 1> names;
  std::array<uint32_t, kNoKind + 1> numbers;
  KindNames();
};
extern const KindNames kKindNames;
inline NodeKind type_of(TSNode node) {
  return NodeKind(kKindNames.numbers[std::min(node->kind, kNoKind)]);
}
inline std::string_view type_name(TSNode node) {
  return kKindNames.names[std::min(node->kind, kNoKind)];
}
inline bool is(TSNode node, NodeKind type) { return present(node) && type_of(node) == type; }
TSNode field(TSNode node, FieldName name);

// Nodes in order; few of them take no memory of their own.
class NodeList {
 public:
  using value_type = TSNode;
  void push_back(TSNode node) {
    if (size_ < kFew) {
      few_[size_++] = node;
    } else {
      spill(node);
    }
  }
  const TSNode* begin() const { return size_ <= kFew ? few_.data() : many_.data(); }
  const TSNode* end() const { return begin() + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  TSNode operator[](size_t i) const { return begin()[i]; }
  TSNode front() const { return *begin(); }
  TSNode back() const { return end()[-1]; }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  operator std::vector<TSNode>() const { return {begin(), end()}; }

 private:
  static constexpr size_t kFew = 8;
  void spill(TSNode node);
  size_t size_ = 0;
  std::array<TSNode, kFew> few_;
  std::vector<TSNode> many_;  // all of them, where they are more than few
};

// Named children without comments, in order; one walk, linear in their number.
NodeList children_of(TSNode node);
// All children, named or not, comments included.
NodeList all_children_of(TSNode node);
// Those of them that reach into a range, without a walk over the others.
std::vector<TSNode> children_in(TSNode node, ByteRange range);
// The fields named `name`, in order.
NodeList fields_of(TSNode node, FieldName name);
inline std::string_view text_of(std::string_view source, TSNode node) {
  return source.substr(node->begin, node->end - node->begin);
}
// `(x)` is `x`.
TSNode without_parentheses(TSNode node);
// Statements of a block or module.
NodeList statements_of(TSNode block);

// What tree-sitter's own parser makes of a text, mistakes and all.
std::vector<NodeData> parse_any(std::string_view text, Folded folded);

class Tree {
 public:
  explicit Tree(std::string_view text);
  // The tree of a text in which some ranges, of kFoldable bytes at least and in order, are each
  // taken for a `0`. Falls back on the whole text where it holds the byte by which a fold is told.
  static constexpr uint32_t kFoldable = 8;
  Tree(std::string_view text, const std::vector<ByteRange>& folded);
  // The same for a text of which some statements are known, rows of them in one block that take
  // whole lines, in order: the trees of the same bytes in another text are put in their place. A
  // folded range is apart from them or is a block in one of them.
  struct Known {
    ByteRange range;        // of a row, kFoldable bytes at least
    const NodeData* first;  // statement's tree in that text
    uint32_t nodes;         // that the row takes, what stands between its statements among them
  };
  Tree(std::string_view text, const std::vector<ByteRange>& folded,
       const std::vector<Known>& known);
  // The tree of one definition of a text, with the places that it has there.
  struct Only {
    ByteRange range;
  };
  Tree(std::string_view text, Only only);
  Tree(Tree&& other) noexcept : nodes_(std::move(other.nodes_)) {}
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree& operator=(Tree&&) = delete;
  TSNode root() const { return TSNode(nodes_.data()); }
  bool empty() const { return nodes_.empty(); }
  void release() { nodes_ = {}; }

 private:
  std::vector<NodeData> nodes_;
};

}  // namespace refit::python
