// What goes from a text while its operand stays: chains of transposes and copies, parts of a
// result. Entry points: Realiser::forward_all, take_parts.
#include <algorithm>

#include "rewriter/python/edit/realiser.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

Expected<void> Realiser::forward_all() {
  std::map<const void*, ValueId> nodes;
  std::set<const void*> inside;
  for (ValueId id : change_.forwarded) {
    if (g_[id].syntax == kNone) {
      return failure("the expression to take out has no text of its own");
    }
    TSNode node = unit_.nodes[g_[id].syntax];
    nodes[node.id] = id;
    TSNode inner = inner_operand(id);
    if (!present(inner)) return failure("the operand to keep has no text of its own");
    inside.insert(inner.id);
  }
  for (ValueId id : change_.forwarded) {
    if (inside.contains(unit_.nodes[g_[id].syntax].id)) continue;
    auto done = forward(id, nodes);
    if (!done) return done;
  }
  for (const auto& [statement, parts] : unpacked_) {
    if (parts.all == 0 || parts.own != parts.all) continue;
    out_.dead.insert(statement);
    out_.edits.erase_inside(g_.statements[statement].range);
  }
  return {};
}

Expected<void> Realiser::forward(ValueId id, const std::map<const void*, ValueId>& nodes) {
  TSNode node = unit_.nodes[g_[id].syntax];
  std::vector<std::pair<ByteRange, ByteRange>> steps;  // what is kept, of what
  TSNode kept = node;
  for (auto at = nodes.find(kept.id); at != nodes.end(); at = nodes.find(kept.id)) {
    TSNode inner = inner_operand(at->second);
    steps.emplace_back(range_of(inner), range_of(kept));
    kept = inner;
  }
  if (g_[id].statement != kNone) {
    switch (names_itself(unit_, node, kept, &unpacked_[g_[id].statement])) {
      case NamesItself::no:
        break;
      case NamesItself::whole:
        out_.dead.insert(g_[id].statement);
        return {};
      case NamesItself::turns:
        return take_out_turns(unit_, node, out_.edits);
    }
  }
  bool chain = std::ranges::all_of(
      steps, [](const auto& step) { return step.first.begin == step.second.begin; });
  if (chain) return cut(range_of(kept), range_of(node));
  for (const auto& [in, outer] : steps) {
    if (!comments_in(unit_.tree, unit_.text(), {outer.begin, in.begin}).empty() ||
        !comments_in(unit_.tree, unit_.text(), {in.end, outer.end}).empty()) {
      return failure("a comment stands inside the transpose that would go; move it out");
    }
    // Only what surrounds the operand goes, so that edits inside it still apply.
    if (outer.begin != in.begin) {
      auto done = out_.edits.add({{outer.begin, in.begin}, ""});
      if (!done) return done;
    }
    auto done = out_.edits.add({{in.end, outer.end}, ""});
    if (!done) return done;
  }
  return {};
}

Expected<void> Realiser::cut(ByteRange in, ByteRange outer) {
  auto inside = comments_in(unit_.tree, unit_.text(), {in.end, outer.end});
  ByteRange first = line_of(text_, in.end), last = line_of(text_, outer.end);
  std::string_view tail = text_.substr(outer.end, last.end - outer.end);
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == '\r')) tail.remove_suffix(1);
  size_t hash = tail.find('#');
  std::string_view code = tail.substr(0, hash);
  bool only_closes = code.find_first_not_of(" \t,;)]}") == std::string_view::npos;
  bool beside = hash != std::string_view::npos && only_closes;
  std::string_view indent = indentation(text_, outer.end);
  bool own_line = first.begin != last.begin && text_[last.begin + indent.size()] == '.';
  if (inside.empty() && !(beside && own_line)) return out_.edits.add({{in.end, outer.end}, ""});
  if (!only_closes) {
    above_.insert(above_.end(), inside.begin(), inside.end());
    return out_.edits.add({{in.end, outer.end}, ""});
  }
  while (!code.empty() && code.back() == ' ') code.remove_suffix(1);
  std::string kept(code);
  std::string_view behind = text_.substr(in.end, first.end - in.end);
  size_t next = 0;
  if (!inside.empty() && begins_with_comment(behind)) kept += "  " + inside[next++];
  auto line = [&](const std::string& comment) {
    kept += newline() + std::string(indent) + comment;
  };
  for (; next < inside.size(); ++next) line(inside[next]);
  uint32_t end = outer.end + static_cast<uint32_t>(code.size());
  if (beside) {
    std::string comment(tail.substr(hash));
    if (own_line) {
      line(comment);
    } else {
      kept += "  " + comment;
    }
    end = outer.end + static_cast<uint32_t>(tail.size());
  }
  return out_.edits.add({{in.end, end}, kept});
}

bool Realiser::begins_with_comment(std::string_view text) {
  size_t at = text.find_first_not_of(" \t");
  return at != std::string_view::npos && text[at] == '#';
}

Expected<void> Realiser::take_parts() {
  bool unpacked = false;
  for (ValueId id : change_.parts) {
    const Value& v = g_[id];
    if (v.kind == Kind::index && v.syntax != kNone) {
      TSNode node = unit_.nodes[v.syntax];
      TSNode whole = field(node, "value");
      ByteRange tail{ts_node_end_byte(whole), ts_node_end_byte(node)};
      if (!comments_in(unit_.tree, unit_.text(), tail).empty()) {
        return failure("a comment stands inside the index that would go; move it out");
      }
      auto done = out_.edits.add({tail, ""});
      if (!done) return done;
      continue;
    }
    if (unpacked) continue;
    unpacked = true;
    TSNode assignment = ts_node_parent(unit_.nodes[g_[change_.root].syntax]);
    while (is(assignment, "parenthesized_expression")) assignment = ts_node_parent(assignment);
    TSNode left = is(assignment, "assignment") ? field(assignment, "left") : TSNode{};
    if (!present(left)) return failure("the result is taken apart somewhere else");
    auto names = children_of(left);
    if (v.index < 0 || static_cast<size_t>(v.index) >= names.size() ||
        !comments_in(unit_.tree, unit_.text(), range_of(left)).empty()) {
      return failure("the names that the result is taken apart into cannot be edited");
    }
    auto done = out_.edits.add(
        {range_of(left), std::string(text_of(text_, names[static_cast<size_t>(v.index)]))});
    if (!done) return done;
  }
  return {};
}

TSNode Realiser::inner_operand(ValueId id) const {
  TSNode node = unit_.nodes[g_[id].syntax];
  if (!is(node, "call")) return TSNode{};
  TSNode function = without_parentheses(field(node, "function"));
  auto list = children_of(field(node, "arguments"));
  if (is(function, "attribute")) {
    // A method's receiver, unless the object is a module: then it is the first argument.
    auto places = unit_.arguments.find({change_.function, id});
    bool receiver =
        places == unit_.arguments.end() ||
        std::ranges::none_of(places->second, [](const auto& a) { return a.parameter == 0; });
    if (receiver) return field(function, "object");
  }
  return list.empty() ? TSNode{} : list.front();
}

}  // namespace refit::python
