// See beyond_grammar.hpp: the indentation stack of Python's own tokenizer, and the order that its
// compiler asks of arguments.
#include "rewriter/python/syntax/beyond_grammar.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

size_t unexpected_indentation(std::string_view text) {
  return unexpected_indentation(text, 0, text.size());
}

size_t unexpected_indentation(std::string_view text, size_t from, size_t until) {
  const Lines lines(text);
  std::vector<size_t> open{0};
  constexpr size_t kNone = std::string_view::npos;
  size_t header = kNone;  // the line before, where it opens a block
  for (size_t at = from; at < text.size();) {
    size_t indent = 0, begin = at;
    for (; begin < text.size() && blank(text[begin]); ++begin) {
      indent = text[begin] == '\f' ? 0 : text[begin] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
    }
    size_t code_end = 0;
    size_t next = begin < text.size() ? lines.logical_line(begin, &code_end) : text.size();
    if (next == std::string_view::npos) return next;
    std::string_view code = trimmed(text.substr(begin, std::max(code_end, begin) - begin));
    at = next;
    if (code.empty()) continue;
    if (header != kNone && indent <= open.back()) return header;  // an empty block
    if (indent == 0 && begin > until) return kNone;
    if (indent > open.back()) {
      if (header == kNone) return begin;
      open.push_back(indent);
    } else {
      while (indent < open.back()) open.pop_back();
      if (indent != open.back()) return begin;
    }
    header = code.back() == ':' ? begin : kNone;
  }
  return header;
}

size_t misplaced_argument(TSNode root, std::string_view text) {
  size_t found = std::string_view::npos;
  walk_tree(root, [&](TSNode node) {
    if (found != std::string_view::npos) return false;
    if (!is(node, "argument_list")) return true;
    std::set<std::string_view> names;
    bool spread = false;
    for (TSNode argument : children_of(node)) {
      const NodeKind type = type_of(argument);
      const bool by_name = type == "keyword_argument";
      const bool wrong = by_name ? !names.insert(text_of(text, field(argument, "name"))).second
                         : type == "list_splat"
                             ? spread
                             : type != "dictionary_splat" && (spread || !names.empty());
      if (wrong) {
        found = ts_node_start_byte(argument);
        return false;
      }
      spread = spread || type == "dictionary_splat";
    }
    return true;
  });
  return found;
}

size_t quote_in_field(TSNode root, std::string_view text) {
  struct Open {
    uint32_t end;
    char quote;
  };
  std::vector<Open> open;  // strings around the node
  size_t found = std::string_view::npos;
  walk_tree(root, [&](TSNode node) {
    if (found != std::string_view::npos) return false;
    if (!is(node, "string")) return true;
    while (!open.empty() && ts_node_start_byte(node) >= open.back().end) open.pop_back();
    const std::string_view string = text_of(text, node);
    for (const Open& around : open) {
      const size_t quote = around.quote == 0 ? std::string_view::npos : string.find(around.quote);
      if (quote == std::string_view::npos) continue;
      found = ts_node_start_byte(node) + quote;
      return false;
    }
    open.push_back({ts_node_end_byte(node), single_quote(string)});
    return true;
  });
  return found;
}

namespace {

// Stars that are no product's, before anything but a name; those of strings and comments too.
std::vector<uint32_t> prefix_stars(std::string_view text) {
  std::vector<uint32_t> stars;
  for (size_t at = text.find('*'); at != std::string_view::npos; at = text.find('*', at + 1)) {
    const std::string_view before = trimmed(text.substr(0, at));
    const std::string_view behind = trimmed(text.substr(at + 1));
    if (before.empty() || behind.empty()) continue;
    const std::string_view word = word_before(before, before.size());
    const bool prefix = word == "return" || word == "yield" || word == "in" ||
                        std::string_view(",=[").find(before.back()) != std::string_view::npos;
    if (prefix && behind.front() != '*') stars.push_back(static_cast<uint32_t>(at));
  }
  return stars;
}

// Whether what stands there with its sign is a member of a list without brackets, or of a
// subscript.
bool in_open_list(TSNode root, uint32_t at) {
  TSNode node = ts_node_named_descendant_for_byte_range(root, at, at + 1);
  if (!is(node, "unary_operator") || ts_node_start_byte(node) != at) return false;
  while (true) {
    const TSNode parent = ts_node_parent(node);
    if (is(parent, "expression_list") || is(parent, "subscript")) return true;
    if (!present(parent) || ts_node_start_byte(parent) != at) return false;
    node = parent;
  }
}

}  // namespace

std::optional<ReadPast> read_past_stars(std::string_view text) {
  std::vector<uint32_t> stars = prefix_stars(text);
  if (stars.empty()) return std::nullopt;
  std::string read(text);
  for (uint32_t star : stars) read[star] = '~';
  Tree tree(read);
  if (std::erase_if(stars, [&](uint32_t star) {
        if (!tree.empty() && in_open_list(tree.root(), star)) return false;
        read[star] = '*';
        return true;
      }) != 0) {
    tree = Tree(read);
  }
  if (stars.empty() || tree.empty() || ts_node_has_error(tree.root())) return std::nullopt;
  return ReadPast{std::move(tree), std::move(stars)};
}

}  // namespace refit::python
