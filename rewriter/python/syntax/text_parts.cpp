// See text_parts.hpp.
#include "rewriter/python/syntax/text_parts.hpp"

#include <algorithm>

#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

bool blank(std::string_view text) {
  return text.find_first_not_of(" \t\f\r\n\\") == std::string_view::npos;
}

ByteRange line_of(std::string_view text, uint32_t at) {
  // The second half of "\r\n" belongs to the line that the first half ends.
  if (at > 0 && at < text.size() && text[at] == '\n' && text[at - 1] == '\r') --at;
  size_t begin = at == 0 ? std::string_view::npos : text.find_last_of("\r\n", at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  size_t end = text.find_first_of("\r\n", at);
  if (end == std::string_view::npos) {
    end = text.size();
  } else {
    end += text.substr(end).starts_with("\r\n") ? 2 : 1;
  }
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

std::string_view indentation(std::string_view text, uint32_t at) {
  ByteRange line = line_of(text, at);
  size_t end = line.begin;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t' || text[end] == '\f')) ++end;
  return text.substr(line.begin, end - line.begin);
}

bool begins_line(std::string_view text, uint32_t at) {
  ByteRange line = line_of(text, at);
  return blank(text.substr(line.begin, at - line.begin));
}

std::vector<std::string> comments_in(const Tree& tree, std::string_view text, ByteRange range) {
  std::vector<std::string> out;
  std::vector<TSNode> work{ts_node_descendant_for_byte_range(tree.root(), range.begin, range.end)};
  std::vector<ByteRange> found;
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    ByteRange r = range_of(node);
    if (!r.overlaps(range)) continue;
    if (is(node, "comment")) {
      if (range.contains(r)) found.push_back(r);
      continue;
    }
    for (TSNode child : children_in(node, range)) work.push_back(child);
  }
  std::sort(found.begin(), found.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (ByteRange r : found) {
    std::string_view comment = text.substr(r.begin, r.size());
    while (!comment.empty() && (comment.back() == '\r' || comment.back() == ' ')) {
      comment.remove_suffix(1);
    }
    out.emplace_back(comment);
  }
  return out;
}

size_t line_limit(std::string_view text) {
  size_t longest = 0, begin = 0;
  each_of_bytes(text, "\n", [&](size_t at) {
    if (at - begin <= 120) longest = std::max(longest, at - begin);
    begin = at + 1;
    return true;
  });
  return std::clamp<size_t>(longest, 88, 120);
}

bool pragma(std::string_view comment) {
  size_t word = comment.find_first_not_of("# \t");
  if (word == std::string_view::npos) return false;
  comment.remove_prefix(word);
  return comment.starts_with("noqa") || comment.starts_with("type:") ||
         comment.starts_with("pylint:") || comment.starts_with("isort:") ||
         comment.starts_with("pyright:");
}

void add_words(std::string_view text, WordsOf which, Words& out) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (!in_word(text[at])) continue;
    size_t begin = at;
    while (at < text.size() && in_word(text[at])) ++at;
    char before = begin == 0 ? ' ' : text[begin - 1];
    bool quoted = begin > 1 && at < text.size() && (text[at] == '"' || text[at] == '\'') &&
                  before == text[at] && text[begin - 2] == '=';
    if (which == WordsOf::all || (before != '.' && !quoted)) {
      out.insert(text.substr(begin, at - begin));
    }
  }
}

bool holds_place(ByteRange range, const std::vector<uint32_t>& places) {
  const auto at = std::lower_bound(places.begin(), places.end(), range.begin);
  return at != places.end() && *at < range.end;
}

std::vector<NameRead> names_read(TSNode root, std::string_view source,
                                 const std::vector<uint32_t>* places) {
  std::vector<NameRead> out;
  std::vector<TSNode> work{root};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    if (places != nullptr && !holds_place(range_of(node), *places)) continue;
    const NodeKind type = type_of(node);
    if (type == "import_statement" || type == "import_from_statement") continue;
    if (type == "identifier") {
      out.push_back({text_of(source, node), range_of(node)});
      continue;
    }
    if (type == "attribute") {
      work.push_back(field(node, "object"));
      continue;
    }
    if (type == "keyword_argument") {
      work.push_back(field(node, "value"));
      continue;
    }
    if (type == "assignment") {
      const TSNode left = field(node, "left");
      if (is(left, "pattern_list") || is(left, "tuple_pattern")) {
        for (TSNode target : children_of(left)) {
          if (!is(target, "identifier")) work.push_back(target);
        }
      } else if (!is(left, "identifier")) {
        work.push_back(left);
      }
      for (FieldName part : {FieldName("type"), FieldName("right")}) {
        TSNode inner = field(node, part);
        if (present(inner)) work.push_back(inner);
      }
      continue;
    }
    push_children(node, work);
  }
  return out;
}

}  // namespace refit::python
