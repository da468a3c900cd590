// Thin helpers over tree-sitter nodes of the Python grammar.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include <tree_sitter/api.h>

#include "rewriter/text/edit.hpp"
#include "rewriter/text/source.hpp"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace refit::python {

inline ByteRange range_of(TSNode node) {
  return {ts_node_start_byte(node), ts_node_end_byte(node)};
}
// The grammar's name of a node's kind.
std::string_view type_of(TSNode node);
inline bool is(TSNode node, std::string_view type) {
  return !ts_node_is_null(node) && type_of(node) == type;
}
inline bool present(TSNode node) { return !ts_node_is_null(node); }
TSNode field(TSNode node, std::string_view name);
// Named children without comments, in order; one walk, linear in their number.
std::vector<TSNode> children_of(TSNode node);
// All children, named or not, comments included.
std::vector<TSNode> all_children_of(TSNode node);
// Those of them that reach into a range, without a walk over the others.
std::vector<TSNode> children_in(TSNode node, ByteRange range);
// The fields named `name`, in order.
std::vector<TSNode> fields_of(TSNode node, std::string_view name);
inline std::string_view text_of(std::string_view source, TSNode node) {
  return source.substr(ts_node_start_byte(node), ts_node_end_byte(node) - ts_node_start_byte(node));
}
// `(x)` is `x`.
TSNode without_parentheses(TSNode node);
// Statements of a block or module.
std::vector<TSNode> statements_of(TSNode block);

class Tree {
 public:
  explicit Tree(std::string_view text);
  // The tree of `before`'s text after `edits`; what they do not touch is not parsed again.
  Tree(std::string_view text, const Tree& before, const Source& old_source, const EditSet& edits);
  // The tree of a text in which some ranges, of kFoldable bytes at least and in order, are each
  // taken for a `0`. Rows below one are too small. Falls back on the whole text where it holds the
  // byte by which a fold is told.
  static constexpr uint32_t kFoldable = 8;
  Tree(std::string_view text, const std::vector<ByteRange>& folded);
  // The tree of one definition of a text, with the places that it has there.
  struct Only {
    ByteRange range;
  };
  Tree(std::string_view text, const Source& source, Only only);
  Tree(Tree&& other) noexcept : tree_(std::exchange(other.tree_, nullptr)) {}
  ~Tree();
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  Tree& operator=(Tree&&) = delete;
  TSNode root() const;
  bool released() const { return tree_ == nullptr; }
  void release();

 private:
  TSTree* tree_ = nullptr;
};

}  // namespace refit::python
