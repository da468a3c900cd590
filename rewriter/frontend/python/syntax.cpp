// Walking tree-sitter trees of Python. See syntax.hpp.
#include "rewriter/frontend/python/syntax.hpp"

#include <algorithm>

namespace refit::python {

namespace {

// One cursor a thread, its memory used again: a walk asks for the children of every node.
class Cursor {
 public:
  Cursor() = default;
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (made_) ts_tree_cursor_delete(&cursor_);
  }
  TSTreeCursor* at(TSNode node) {
    if (made_) {
      ts_tree_cursor_reset(&cursor_, node);
    } else {
      cursor_ = ts_tree_cursor_new(node);
      made_ = true;
    }
    return &cursor_;
  }

 private:
  TSTreeCursor cursor_{};
  bool made_ = false;
};

// Calls visit(cursor) at each direct child, linear in their number.
template <typename Visit>
void each_child(TSNode node, Visit visit) {
  thread_local Cursor reused;
  TSTreeCursor* cursor = reused.at(node);
  if (ts_tree_cursor_goto_first_child(cursor)) {
    do {
      visit(cursor);
    } while (ts_tree_cursor_goto_next_sibling(cursor));
  }
}

struct Parser {
  TSParser* parser = ts_parser_new();
  Parser() { ts_parser_set_language(parser, tree_sitter_python()); }
  ~Parser() { ts_parser_delete(parser); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
};

TSParser* parser() {
  thread_local Parser reused;
  return reused.parser;
}

// Names of the grammar's kinds by number, with their lengths.
const std::vector<std::string_view>& kinds() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> out;
    const TSLanguage* language = tree_sitter_python();
    for (uint32_t i = 0; i < ts_language_symbol_count(language); ++i) {
      out.emplace_back(ts_language_symbol_name(language, static_cast<TSSymbol>(i)));
    }
    return out;
  }();
  return kNames;
}

TSFieldId field_number(std::string_view name) {
  static const std::vector<std::string_view> kFields = [] {
    std::vector<std::string_view> out{""};
    const TSLanguage* language = tree_sitter_python();
    for (uint32_t i = 1; i <= ts_language_field_count(language); ++i) {
      out.emplace_back(ts_language_field_name_for_id(language, static_cast<TSFieldId>(i)));
    }
    return out;
  }();
  for (size_t i = 1; i < kFields.size(); ++i) {
    if (kFields[i] == name) return static_cast<TSFieldId>(i);
  }
  return 0;
}

TSPoint point_of(const Source& source, uint32_t offset) {
  uint32_t line = source.position(offset).line;
  return {line - 1, offset - source.line_begin(line)};
}

}  // namespace

std::string_view type_of(TSNode node) {
  TSSymbol symbol = ts_node_symbol(node);
  return symbol < kinds().size() ? kinds()[symbol] : std::string_view(ts_node_type(node));
}

TSNode field(TSNode node, std::string_view name) {
  return ts_node_child_by_field_id(node, field_number(name));
}

std::vector<TSNode> children_of(TSNode node) {
  std::vector<TSNode> out;
  each_child(node, [&](const TSTreeCursor* cursor) {
    TSNode child = ts_tree_cursor_current_node(cursor);
    if (ts_node_is_named(child) && !is(child, "comment") && !is(child, "line_continuation")) {
      out.push_back(child);
    }
  });
  return out;
}

std::vector<TSNode> all_children_of(TSNode node) {
  std::vector<TSNode> out;
  each_child(node, [&](const TSTreeCursor* cursor) {
    out.push_back(ts_tree_cursor_current_node(cursor));
  });
  return out;
}

std::vector<TSNode> fields_of(TSNode node, std::string_view name) {
  std::vector<TSNode> out;
  TSFieldId wanted = field_number(name);
  each_child(node, [&](const TSTreeCursor* cursor) {
    if (wanted == 0 || ts_tree_cursor_current_field_id(cursor) != wanted) return;
    TSNode child = ts_tree_cursor_current_node(cursor);
    if (!is(child, "comment")) out.push_back(child);
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

Tree::Tree(std::string_view text)
    : tree_(ts_parser_parse_string(parser(), nullptr, text.data(),
                                   static_cast<uint32_t>(text.size()))) {}

Tree::Tree(std::string_view text, const Source& source, const std::vector<ByteRange>& passed_over) {
  std::vector<TSRange> ranges;
  uint32_t at = 0;
  auto take = [&](uint32_t end) {
    if (end > at) ranges.push_back({point_of(source, at), point_of(source, end), at, end});
  };
  for (ByteRange range : passed_over) {
    take(range.begin);
    at = range.end;
  }
  take(static_cast<uint32_t>(text.size()));
  ts_parser_set_included_ranges(parser(), ranges.data(), static_cast<uint32_t>(ranges.size()));
  tree_ =
      ts_parser_parse_string(parser(), nullptr, text.data(), static_cast<uint32_t>(text.size()));
  ts_parser_set_included_ranges(parser(), nullptr, 0);
}

Tree::Tree(std::string_view text, const Tree& before, const Source& old_source,
           const EditSet& edits) {
  TSTree* old_tree = ts_tree_copy(before.tree_);
  std::vector<Edit> ordered(edits.edits().begin(), edits.edits().end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const Edit& a, const Edit& b) {
    return a.range.begin > b.range.begin;  // from the end, so that offsets before it stay
  });
  for (const Edit& edit : ordered) {
    TSInputEdit change;
    change.start_byte = edit.range.begin;
    change.old_end_byte = edit.range.end;
    change.new_end_byte = edit.range.begin + static_cast<uint32_t>(edit.replacement.size());
    change.start_point = point_of(old_source, edit.range.begin);
    change.old_end_point = point_of(old_source, edit.range.end);
    change.new_end_point = change.start_point;
    for (char c : edit.replacement) {
      if (c == '\n') {
        ++change.new_end_point.row;
        change.new_end_point.column = 0;
      } else {
        ++change.new_end_point.column;
      }
    }
    ts_tree_edit(old_tree, &change);
  }
  tree_ =
      ts_parser_parse_string(parser(), old_tree, text.data(), static_cast<uint32_t>(text.size()));
  ts_tree_delete(old_tree);
}

Tree::~Tree() {
  if (tree_ != nullptr) ts_tree_delete(tree_);
}

TSNode Tree::root() const { return ts_tree_root_node(tree_); }

}  // namespace refit::python
