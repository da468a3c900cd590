// Walking tree-sitter trees of Python. See syntax.hpp.
#include "rewriter/frontend/python/syntax.hpp"

#include <memory>

namespace refit::python {

namespace {

// Calls visit(node, field name or nullptr) for each direct child, linear in their number.
template <typename Visit>
void each_child(TSNode node, Visit visit) {
  TSTreeCursor cursor = ts_tree_cursor_new(node);
  if (ts_tree_cursor_goto_first_child(&cursor)) {
    do {
      visit(ts_tree_cursor_current_node(&cursor), ts_tree_cursor_current_field_name(&cursor));
    } while (ts_tree_cursor_goto_next_sibling(&cursor));
  }
  ts_tree_cursor_delete(&cursor);
}

}  // namespace

std::vector<TSNode> children_of(TSNode node) {
  std::vector<TSNode> out;
  each_child(node, [&](TSNode child, const char*) {
    if (ts_node_is_named(child) && !is(child, "comment") && !is(child, "line_continuation")) {
      out.push_back(child);
    }
  });
  return out;
}

std::vector<TSNode> all_children_of(TSNode node) {
  std::vector<TSNode> out;
  each_child(node, [&](TSNode child, const char*) { out.push_back(child); });
  return out;
}

std::vector<TSNode> fields_of(TSNode node, std::string_view name) {
  std::vector<TSNode> out;
  each_child(node, [&](TSNode child, const char* f) {
    if (f != nullptr && name == f && !is(child, "comment")) out.push_back(child);
  });
  return out;
}

TSNode without_parentheses(TSNode node) {
  while (is(node, "parenthesized_expression")) {
    auto inner = children_of(node);
    if (inner.size() != 1) break;
    node = inner.front();
  }
  return node;
}

std::vector<TSNode> statements_of(TSNode block) { return children_of(block); }

Tree::Tree(std::string_view text) {
  std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser(ts_parser_new(), &ts_parser_delete);
  ts_parser_set_language(parser.get(), tree_sitter_python());
  tree_ = ts_parser_parse_string(parser.get(), nullptr, text.data(),
                                 static_cast<uint32_t>(text.size()));
}

Tree::~Tree() { ts_tree_delete(tree_); }

TSNode Tree::root() const { return ts_tree_root_node(tree_); }

}  // namespace refit::python
