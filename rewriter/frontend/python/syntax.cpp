// Walking tree-sitter trees of Python. See syntax.hpp.
#include "rewriter/frontend/python/syntax.hpp"

#include <algorithm>
#include <cstring>

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
  if (!present(node) || ts_node_child_count(node) == 0) return;  // as half of the nodes of a tree
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

TSSymbol symbol_number(std::string_view name) {
  return ts_language_symbol_for_name(tree_sitter_python(), name.data(),
                                     static_cast<uint32_t>(name.size()), true);
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

constexpr char kFold = '\x01';

const char* read_all(void* payload, uint32_t at, TSPoint, uint32_t* size) {
  const auto& text = *static_cast<const std::string*>(payload);
  *size = at < text.size() ? static_cast<uint32_t>(text.size()) - at : 0;
  return *size == 0 ? "" : text.data() + at;
}

// One code point of UTF-8 (a Source holds nothing else), or a fold, which reads as `0`.
uint32_t decode(const uint8_t* text, uint32_t length, int32_t* code) {
  const uint8_t first = *text;
  if (first == static_cast<uint8_t>(kFold)) {
    uint32_t size = 0;
    std::memcpy(&size, text + 1, sizeof size);
    *code = '0';
    return size;
  }
  if (first < 0x80) {
    *code = first;
    return 1;
  }
  const uint32_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (size > length) {
    *code = -1;
    return 1;
  }
  int32_t value = first & (0x7f >> size);
  for (uint32_t i = 1; i < size; ++i) value = value << 6 | (text[i] & 0x3f);
  *code = value;
  return size;
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
  static const TSSymbol kComment = symbol_number("comment"),
                        kContinuation = symbol_number("line_continuation");
  std::vector<TSNode> out;
  const uint32_t count = present(node) ? ts_node_named_child_count(node) : 0;
  if (count == 0) return out;
  out.reserve(count);
  each_child(node, [&](const TSTreeCursor* cursor) {
    TSNode child = ts_tree_cursor_current_node(cursor);
    if (!ts_node_is_named(child)) return;
    const TSSymbol symbol = ts_node_symbol(child);
    if (symbol != kComment && symbol != kContinuation) out.push_back(child);
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

std::vector<TSNode> children_in(TSNode node, ByteRange range) {
  std::vector<TSNode> out;
  thread_local Cursor reused;
  TSTreeCursor* cursor = reused.at(node);
  if (ts_tree_cursor_goto_first_child_for_byte(cursor, range.begin) < 0) return out;
  do {
    TSNode child = ts_tree_cursor_current_node(cursor);
    if (ts_node_start_byte(child) >= range.end) break;
    out.push_back(child);
  } while (ts_tree_cursor_goto_next_sibling(cursor));
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

// tree-sitter can be told to pass ranges over, but then looks through them all for every token. So
// a fold is one character instead, as wide as the range: a mark, and how many bytes it takes.
Tree::Tree(std::string_view text, const std::vector<ByteRange>& folded) {
  if (folded.empty() || text.find(kFold) != std::string_view::npos) {
    tree_ =
        ts_parser_parse_string(parser(), nullptr, text.data(), static_cast<uint32_t>(text.size()));
    return;
  }
  std::string marked(text);
  for (ByteRange range : folded) {
    const uint32_t size = range.size();
    marked[range.begin] = kFold;
    std::memcpy(marked.data() + range.begin + 1, &size, sizeof size);
  }
  TSInput input{&marked, read_all, TSInputEncodingCustom, decode};
  tree_ = ts_parser_parse(parser(), nullptr, input);
}

Tree::Tree(std::string_view text, const Source& source, Only only) {
  const ByteRange r = only.range;
  const TSRange range{point_of(source, r.begin), point_of(source, r.end), r.begin, r.end};
  ts_parser_set_included_ranges(parser(), &range, 1);
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

Tree::~Tree() { release(); }

void Tree::release() {
  if (tree_ != nullptr) ts_tree_delete(tree_);
  tree_ = nullptr;
}

TSNode Tree::root() const { return ts_tree_root_node(tree_); }

}  // namespace refit::python
