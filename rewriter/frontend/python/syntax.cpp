// Walking tree-sitter trees of Python. See syntax.hpp.
#include "rewriter/frontend/python/syntax.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <tree_sitter/api.h>

#include "rewriter/frontend/python/lr_pile.hpp"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace refit::python {

namespace {

// Calls visit(child) at each direct child, in order.
template <typename Visit>
void each_child(TSNode node, Visit visit) {
  if (!present(node)) return;
  const NodeData* end = node.get() + node->extent;
  for (const NodeData* at = node.get() + 1; at < end; at += at->extent) visit(TSNode(at));
}

// Of a node and what is inside it, the last that begins at or before a place, or the node.
const NodeData* last_before(TSNode node, uint32_t place) {
  const NodeData* first = node.get();
  return std::upper_bound(first + 1, first + first->extent, place,
                          [](uint32_t at, const NodeData& n) { return at < n.begin; }) -
         1;
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

TSSymbol symbol_number(std::string_view name) {
  return ts_language_symbol_for_name(tree_sitter_python(), name.data(),
                                     static_cast<uint32_t>(name.size()), true);
}

// The grammar's numbers of its fields, found by the numbers of their names.
class Fields {
 public:
  Fields() {
    const TSLanguage* language = tree_sitter_python();
    for (uint32_t i = 1; i <= ts_language_field_count(language); ++i) {
      const uint32_t name =
          name_number(ts_language_field_name_for_id(language, static_cast<TSFieldId>(i)));
      Entry& at = entries_[place(name)];
      if (at.id == 0) at = {name, static_cast<uint8_t>(i)};
    }
  }
  uint8_t id(uint32_t name) const { return entries_[place(name)].id; }

 private:
  struct Entry {
    uint32_t name = 0;
    uint8_t id = 0;  // 0: none is here
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

const char* read_all(void* payload, uint32_t at, TSPoint, uint32_t* size) {
  const auto& text = *static_cast<const std::string_view*>(payload);
  *size = at < text.size() ? static_cast<uint32_t>(text.size()) - at : 0;
  return *size == 0 ? "" : text.data() + at;
}

uint32_t decode_bytes(const uint8_t* text, uint32_t length, int32_t* code) {
  return decode(reinterpret_cast<const char*>(text), length, Folded::yes, code);
}

std::vector<NodeData> parse(std::string_view text, Folded folded = Folded::no) {
  auto clean = parse_clean(text, folded);
  return clean ? std::move(*clean) : parse_any(text, folded);
}

}  // namespace

std::vector<NodeData> parse_any(std::string_view text, Folded folded) {
  TSInput input{&text, read_all,
                folded == Folded::yes ? TSInputEncodingCustom : TSInputEncodingUTF8, decode_bytes};
  TSTree* tree = ts_parser_parse(parser(), nullptr, input);
  std::vector<NodeData> out;
  std::vector<uint32_t> path;  // the nodes that are open
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
  bool down = true;
  while (true) {
    if (down) {
      const auto node = ts_tree_cursor_current_node(&cursor);
      NodeData data;
      data.begin = ts_node_start_byte(node);
      data.end = ts_node_end_byte(node);
      data.above = path.empty() ? 0 : static_cast<uint32_t>(out.size()) - path.back();
      data.kind = ts_node_symbol(node);
      data.field = static_cast<uint8_t>(ts_tree_cursor_current_field_id(&cursor));
      data.named = ts_node_is_named(node);
      data.missing = ts_node_is_missing(node);
      data.has_error = ts_node_has_error(node);
      path.push_back(static_cast<uint32_t>(out.size()));
      out.push_back(data);
      if (ts_tree_cursor_goto_first_child(&cursor)) continue;
    }
    out[path.back()].extent = static_cast<uint32_t>(out.size()) - path.back();
    path.pop_back();
    down = ts_tree_cursor_goto_next_sibling(&cursor);
    if (!down && !ts_tree_cursor_goto_parent(&cursor)) break;
  }
  ts_tree_cursor_delete(&cursor);
  ts_tree_delete(tree);
  return out;
}

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

uint8_t FieldName::id() const { return kFields.id(number_); }

void NodeList::spill(TSNode node) {
  if (many_.empty()) many_.assign(few_.begin(), few_.end());
  many_.push_back(node);
  ++size_;
}

uint32_t ts_node_named_child_count(TSNode node) {
  uint32_t count = 0;
  each_child(node, [&](TSNode child) { count += child->named; });
  return count;
}

TSNode ts_node_descendant_for_byte_range(TSNode node, uint32_t begin, uint32_t end) {
  const NodeData* at = last_before(node, begin);
  while (at != node.get() && (at->end < end || (at->end == begin && at->begin < begin))) {
    at -= at->above;
  }
  return TSNode(at);
}

TSNode field(TSNode node, FieldName name) {
  if (!present(node)) return {};
  const uint8_t wanted = name.id();
  if (wanted == 0) return {};
  const NodeData* end = node.get() + node->extent;
  for (const NodeData* at = node.get() + 1; at < end; at += at->extent) {
    if (at->field == wanted) return TSNode(at);
  }
  return {};
}

NodeList children_of(TSNode node) {
  NodeList out;
  each_child(node, [&](TSNode child) {
    if (child->named && !is(child, "comment") && !is(child, "line_continuation")) {
      out.push_back(child);
    }
  });
  return out;
}

NodeList all_children_of(TSNode node) {
  NodeList out;
  each_child(node, [&](TSNode child) { out.push_back(child); });
  return out;
}

std::vector<TSNode> children_in(TSNode node, ByteRange range) {
  std::vector<TSNode> out;
  if (node->extent == 1) return out;
  const NodeData* at = last_before(node, range.begin);
  while (at != node.get() && at - at->above != node.get()) at -= at->above;
  if (at == node.get()) ++at;
  for (; at < node.get() + node->extent && at->begin < range.end; at += at->extent) {
    if (at->end > range.begin) out.emplace_back(at);
  }
  return out;
}

NodeList fields_of(TSNode node, FieldName name) {
  NodeList out;
  const uint8_t wanted = name.id();
  if (wanted == 0) return out;
  each_child(node, [&](TSNode child) {
    if (child->field == wanted && !is(child, "comment")) out.push_back(child);
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

Tree::Tree(std::string_view text) : nodes_(parse(text)) {}

// tree-sitter can be told to pass ranges over, but then looks through them all for every token. So
// a fold is one character instead, as wide as the range: a mark, and how many bytes it takes.
Tree::Tree(std::string_view text, const std::vector<ByteRange>& folded) {
  if (folded.empty() || text.find(kFold) != std::string_view::npos) {
    nodes_ = parse(text);
    return;
  }
  std::string marked(text);
  for (ByteRange range : folded) {
    const uint32_t size = range.size();
    marked[range.begin] = kFold;
    std::memcpy(marked.data() + range.begin + 1, &size, sizeof size);
  }
  nodes_ = parse(marked, Folded::yes);
}

namespace {

// Puts known rows of statements in place of the folds that stand for them, which were read as
// statements of one number.
class Putting {
 public:
  Putting(const std::vector<NodeData>& nodes, const std::vector<ByteRange>& folded,
          const std::vector<Tree::Known>& known)
      : nodes_(nodes), next_fold_(folded.begin()), folds_end_(folded.end()), known_(known) {}

  // Nothing where one of them, or a block to be folded in one, is not to be found.
  std::optional<std::vector<NodeData>> run() {
    size_t size = nodes_.size();
    for (const Tree::Known& k : known_) size += k.nodes;
    out_.reserve(size);
    std::vector<uint32_t> place(nodes_.size());  // of each node among the new ones
    auto next = known_.begin();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const NodeData& node = nodes_[i];
      place[i] = static_cast<uint32_t>(out_.size());
      const uint32_t above = place[i - node.above];
      if (next == known_.end() || node.begin != next->range.begin || node.kind != kStatement) {
        add(node, above, 0);
        continue;
      }
      const uint16_t around = nodes_[i - node.above].kind;
      if (node.end != next->range.end || node.extent != 2 ||
          (around != kBlock && around != kModule)) {
        return std::nullopt;
      }
      if (!copy(*next++, above)) return std::nullopt;
      ++i;  // the number
    }
    if (next != known_.end()) return std::nullopt;
    for (size_t i = out_.size(); --i > 0;) out_[i - out_[i].above].extent += out_[i].extent;
    return std::vector<NodeData>(out_.data(), out_.data() + out_.size());
  }

 private:
  // Under the node at `above`; how many places it takes is counted in the end.
  void add(NodeData node, uint32_t above, uint32_t shift) {
    node.begin += shift;
    node.end += shift;
    node.above = static_cast<uint32_t>(out_.size()) - above;
    node.extent = 1;
    out_.push_back(node);
  }

  bool copy(const Tree::Known& known, uint32_t parent) {
    const uint32_t shift = known.range.begin - known.first->begin;
    if (place_.size() < known.nodes) place_.resize(known.nodes);
    while (next_fold_ != folds_end_ && next_fold_->begin < known.range.begin) ++next_fold_;
    for (uint32_t i = 0; i < known.nodes;) {
      const NodeData& node = known.first[i];
      const auto here = static_cast<uint32_t>(out_.size());
      place_[i] = here;
      add(node, node.above > i ? parent : place_[i - node.above], shift);
      const ByteRange range{node.begin + shift, node.end + shift};
      if (node.kind != kBlock || next_fold_ == folds_end_ || range != *next_fold_) {
        ++i;
        continue;
      }
      ++next_fold_;
      NodeData inside = node;
      inside.field = 0;
      inside.kind = kStatement;
      add(inside, here, shift);
      inside.kind = kInteger;
      add(inside, here + 1, shift);
      i += node.extent;
    }
    return next_fold_ == folds_end_ || next_fold_->begin >= known.range.end;
  }

  static inline const TSSymbol kBlock = symbol_number("block"), kModule = symbol_number("module"),
                               kStatement = symbol_number("expression_statement"),
                               kInteger = symbol_number("integer");
  const std::vector<NodeData>& nodes_;
  std::vector<ByteRange>::const_iterator next_fold_, folds_end_;
  const std::vector<Tree::Known>& known_;
  Pile<NodeData> out_;
  std::vector<uint32_t> place_;  // of each of a row's nodes among the new ones
};

}  // namespace

Tree::Tree(std::string_view text, const std::vector<ByteRange>& folded,
           const std::vector<Known>& known) {
  if (!known.empty() && text.find(kFold) == std::string_view::npos) {
    std::vector<ByteRange> all;
    all.reserve(folded.size() + known.size());
    auto fold = folded.begin();
    for (const Known& k : known) {
      while (fold != folded.end() && fold->begin < k.range.begin) all.push_back(*fold++);
      while (fold != folded.end() && fold->begin < k.range.end) ++fold;
      all.push_back(k.range);
    }
    all.insert(all.end(), fold, folded.end());
    const Tree around(text, all);
    if (!around.nodes_.front().has_error) {
      if (auto nodes = Putting(around.nodes_, folded, known).run()) {
        nodes_ = std::move(*nodes);
        return;
      }
    }
  }
  nodes_ = Tree(text, folded).nodes_;
}

Tree::Tree(std::string_view text, Only only)
    : nodes_(parse(text.substr(only.range.begin, only.range.size()))) {
  for (NodeData& node : nodes_) {
    node.begin += only.range.begin;
    node.end += only.range.begin;
  }
}

}  // namespace refit::python
