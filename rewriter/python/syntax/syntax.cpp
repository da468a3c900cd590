// tree-sitter's trees of Python. See syntax.hpp.
#include "rewriter/python/syntax/syntax.hpp"

#include <optional>
#include <ranges>

extern "C" const TSLanguage* tree_sitter_python(void);

namespace refit::python {

namespace {

struct Parser {
  TSParser* parser = ts_parser_new();
  Parser() { ts_parser_set_language(parser, tree_sitter_python()); }
  ~Parser() { ts_parser_delete(parser); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
};

TSTree* parse(const TSTree* before, std::string_view text, std::optional<ByteRange> part = {}) {
  thread_local const Parser own;
  const TSRange range{
      {0, 0}, {UINT32_MAX, UINT32_MAX}, part ? part->begin : 0, part ? part->end : UINT32_MAX};
  ts_parser_set_included_ranges(own.parser, &range, part ? 1 : 0);
  return ts_parser_parse_string(own.parser, before, text.data(),
                                static_cast<uint32_t>(text.size()));
}

// The grammar's numbers of its fields, found by the numbers of their names.
class Fields {
 public:
  Fields() {
    const TSLanguage* language = tree_sitter_python();
    for (uint32_t i = 1; i <= ts_language_field_count(language); ++i) {
      const auto id = static_cast<TSFieldId>(i);
      const uint32_t name = name_number(ts_language_field_name_for_id(language, id));
      Entry& at = entries_[place(name)];
      if (at.id == 0) at = {name, id};
    }
  }
  TSFieldId id(uint32_t name) const { return entries_[place(name)].id; }

 private:
  struct Entry {
    uint32_t name = 0;
    TSFieldId id = 0;  // 0: none is here
  };
  size_t place(uint32_t name) const {
    size_t at = name % kPlaces;
    while (entries_[at].id != 0 && entries_[at].name != name) at = (at + 1) % kPlaces;
    return at;
  }
  static constexpr size_t kPlaces = 256;  // several times as many as there are fields
  std::array<Entry, kPlaces> entries_{};
};

const Fields kFields;

// One cursor a thread, put at a node: whoever uses it must be done before another is asked for.
TSTreeCursor& cursor_at(TSNode node) {
  struct Owner {
    TSTreeCursor cursor;
    explicit Owner(TSNode first) : cursor(ts_tree_cursor_new(first)) {}
    ~Owner() { ts_tree_cursor_delete(&cursor); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
  };
  thread_local Owner owner(node);
  ts_tree_cursor_reset(&owner.cursor, node);
  return owner.cursor;
}

// Calls visit(child, cursor) at each direct child, in order. `visit` asks for no children itself.
template <typename Visit>
void each_child(TSNode node, Visit visit) {
  if (!present(node)) return;
  TSTreeCursor& cursor = cursor_at(node);
  if (!ts_tree_cursor_goto_first_child(&cursor)) return;
  do {
    visit(ts_tree_cursor_current_node(&cursor), cursor);
  } while (ts_tree_cursor_goto_next_sibling(&cursor));
}

bool counts(TSNode child) {
  return ts_node_is_named(child) && !is(child, "comment") && !is(child, "line_continuation");
}

// Where an offset lies, as tree-sitter counts: lines from 0, bytes of the line before it. Asked for
// ascending offsets of one text.
class Points {
 public:
  explicit Points(std::string_view text) : text_(text) {}
  TSPoint at(uint32_t offset) {
    const size_t end = std::min<size_t>(offset, text_.size());
    for (; at_ < end; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
    return {line_, static_cast<uint32_t>(offset - line_begin_)};
  }

 private:
  std::string_view text_;
  size_t at_ = 0, line_begin_ = 0;
  uint32_t line_ = 0;
};

}  // namespace

const KindNames kKindNames;

KindNames::KindNames() {
  names.fill("ERROR");
  const TSLanguage* language = tree_sitter_python();
  const uint32_t count = std::min<uint32_t>(ts_language_symbol_count(language), kNoKind);
  for (uint32_t i = 0; i < count; ++i) {
    names[i] = ts_language_symbol_name(language, static_cast<TSSymbol>(i));
  }
  std::transform(names.begin(), names.end(), numbers.begin(), name_number);
}

TSFieldId FieldName::id() const { return kFields.id(number_); }

TSNode field(TSNode node, FieldName name) {
  if (!present(node)) return {};
  const TSFieldId wanted = name.id();
  return wanted == 0 ? TSNode{} : ts_node_child_by_field_id(node, wanted);
}

NodeList children_of(TSNode node) {
  NodeList out;
  push_children(node, out);
  return out;
}

void push_children(TSNode node, std::vector<TSNode>& list) {
  each_child(node, [&](TSNode child, const TSTreeCursor&) {
    if (counts(child)) list.push_back(child);
  });
}

NodeList all_children_of(TSNode node) {
  NodeList out;
  each_child(node, [&](TSNode child, const TSTreeCursor&) { out.push_back(child); });
  return out;
}

NodeList children_in(TSNode node, ByteRange range) {
  NodeList out;
  if (!present(node)) return out;
  TSTreeCursor& cursor = cursor_at(node);
  if (ts_tree_cursor_goto_first_child_for_byte(&cursor, range.begin) < 0) return out;
  do {
    const TSNode child = ts_tree_cursor_current_node(&cursor);
    if (ts_node_start_byte(child) >= range.end) break;
    if (ts_node_end_byte(child) > range.begin) out.push_back(child);
  } while (ts_tree_cursor_goto_next_sibling(&cursor));
  return out;
}

NodeList fields_of(TSNode node, FieldName name) {
  NodeList out;
  const TSFieldId wanted = name.id();
  if (wanted == 0) return out;
  each_child(node, [&](TSNode child, const TSTreeCursor& cursor) {
    if (ts_tree_cursor_current_field_id(&cursor) == wanted && !is(child, "comment")) {
      out.push_back(child);
    }
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

NodeList statements_of(TSNode block) { return children_of(block); }

bool holds_statements(NodeKind kind) {
  return kind == "module" || kind == "block" || kind == "ERROR" || kind == "function_definition" ||
         kind == "class_definition" || kind == "decorated_definition" || kind == "if_statement" ||
         kind == "elif_clause" || kind == "else_clause" || kind == "for_statement" ||
         kind == "while_statement" || kind == "with_statement" || kind == "try_statement" ||
         kind == "except_clause" || kind == "except_group_clause" || kind == "finally_clause" ||
         kind == "match_statement" || kind == "case_clause";
}

Tree::Tree(std::string_view text) : tree_(parse(nullptr, text)) {}

Tree::Tree(std::string_view text, ByteRange part)
    : tree_(parse(nullptr, text.substr(0, part.end), part)) {}

Tree::Tree(std::string_view text, const Tree& before, std::string_view text_before,
           const EditSet& edits) {
  if (before.empty()) {
    tree_.reset(parse(nullptr, text));
    return;
  }
  std::vector<TSInputEdit> places;
  Points points(text_before);
  for (const Edit& e : edits.edits()) {
    TSInputEdit place{};
    place.start_byte = e.range.begin;
    place.old_end_byte = e.range.end;
    place.new_end_byte = e.range.begin + static_cast<uint32_t>(e.replacement.size());
    place.start_point = points.at(e.range.begin);
    place.old_end_point = points.at(e.range.end);
    place.new_end_point = place.start_point;
    for (char c : e.replacement) {
      if (c == '\n') {
        place.new_end_point = {place.new_end_point.row + 1, 0};
      } else {
        ++place.new_end_point.column;
      }
    }
    places.push_back(place);
  }
  // From the last to the first, so that the offsets of those before an edit hold.
  const std::unique_ptr<TSTree, Delete> edited(ts_tree_copy(before.tree_.get()));
  for (const TSInputEdit& place : std::views::reverse(places)) ts_tree_edit(edited.get(), &place);
  tree_.reset(parse(edited.get(), text));
}

}  // namespace refit::python
