// A call's arguments edited where they stand. Entry point: Realiser::edit_call.
#include <algorithm>

#include "rewriter/python/edit/alignment.hpp"
#include "rewriter/python/edit/realiser.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

std::vector<Realiser::Slot> Realiser::slots(TSNode list) const {
  std::vector<Slot> out;
  const Value& root = g_[change_.root];
  const auto& places = unit_.arguments.at({change_.function, change_.root});
  for (TSNode a : children_of(list)) {
    Slot slot;
    slot.node = a;
    for (const auto& place : places) {
      if (!ts_node_eq(place.node, a)) continue;
      const std::string& parameter = parameters_of(root)[place.parameter].name;
      for (size_t i = 0; i < change_.arguments.size(); ++i) {
        if (!change_.arguments[i].kept.empty() && change_.arguments[i].kept == parameter) {
          slot.target = &change_.arguments[i];
          slot.position = i;
        }
      }
    }
    out.push_back(slot);
  }
  return out;
}

Expected<void> Realiser::edit_call() {
  const Value& root = g_[change_.root];
  TSNode call = unit_.nodes[root.syntax];
  TSNode list = field(call, "arguments");
  if (!comments_in(unit_.tree, unit_.text(), range_of(field(call, "function"))).empty()) {
    return failure("a comment stands inside the callee's name; move it out");
  }
  auto done = out_.edits.add({range_of(field(call, "function")), callee_});
  if (!done) return done;
  std::vector<Slot> slots = this->slots(list);
  const Operation* target = catalogue_.find(change_.callee);
  size_t kept = 0;
  bool keywords_only = false;
  done = name_slots(slots, target, kept, keywords_only);
  if (!done) return done;
  for (size_t i = 0; i < slots.size();) {
    if (slots[i].target != nullptr) {
      ++i;
      continue;
    }
    size_t j = i;
    while (j + 1 < slots.size() && slots[j + 1].target == nullptr) ++j;
    done = remove_arguments(list, i == 0 ? TSNode{} : slots[i - 1].node, slots[i].node,
                            slots[j].node, j + 1 < slots.size() ? slots[j + 1].node : TSNode{});
    if (!done) return done;
    i = j + 1;
  }
  const std::vector<std::string> added = added_arguments(target, kept, keywords_only);
  done = add_arguments(list, slots, added);
  if (!done) return done;
  for (const Edit& edit : realigned(text_, list, wider(text_, call, callee_))) {
    EditSet one;
    (void)one.add(edit);
    if (!inner_.conflicts(one)) (void)out_.edits.add(edit);  // else the line has its edit
  }
  out_.after = edited(root.range);
  bool broken = out_.after.find('\n') != std::string::npos;
  if (broken || out_.after.size() <= root.range.size() || !too_long(root.range, out_.after) ||
      !may_break()) {
    return {};
  }
  std::vector<std::string> arguments;
  for (const Slot& slot : slots) {
    if (slot.target == nullptr) continue;
    TSNode value = is(slot.node, "keyword_argument") ? field(slot.node, "value") : slot.node;
    arguments.push_back(named(slot.name, edited(range_of(value))));
    out_.copied.push_back(range_of(value));
  }
  arguments.insert(arguments.end(), added.begin(), added.end());
  return write(root.range, "", arguments);
}

Expected<void> Realiser::name_slots(std::vector<Slot>& slots, const Operation* target, size_t& kept,
                                    bool& keywords_only) {
  for (Slot& slot : slots) {
    if (slot.target == nullptr) continue;
    std::string name = slot.target->keyword;
    if (name.empty() && target != nullptr && slot.position < target->parameters.size()) {
      name = target->parameters[slot.position].name;
    }
    if (is(slot.node, "keyword_argument")) {
      keywords_only = true;
      slot.name = name;
      TSNode key = field(slot.node, "name");
      if (text_of(text_, key) != name) {
        auto done = out_.edits.add({range_of(key), name});
        if (!done) return done;
      }
    } else if (keywords_only || !slot.target->keyword.empty() || slot.position != kept) {
      if (slot.target->fallback) {  // nobody wrote its name, and it says nothing
        slot.target = nullptr;
        continue;
      }
      keywords_only = true;
      slot.name = name;
      uint32_t at = ts_node_start_byte(slot.node);
      auto done = out_.edits.add({{at, at}, name + "="});
      if (!done) return done;
    }
    ++kept;
  }
  return {};
}

std::vector<std::string> Realiser::added_arguments(const Operation* target, size_t kept,
                                                   bool keywords_only) const {
  std::vector<std::string> added;  // by name where one before it has its name
  for (size_t i = 0; i < change_.arguments.size(); ++i) {
    const NewArgument& a = change_.arguments[i];
    if (!a.kept.empty()) continue;
    bool by_name = (keywords_only || i != kept) && target != nullptr;
    bool bare = a.keyword.empty() && by_name && i < target->parameters.size();
    added.push_back(named(bare ? target->parameters[i].name : a.keyword, a.text));
    keywords_only = keywords_only || bare || !a.keyword.empty();
    ++kept;
  }
  return added;
}

Expected<void> Realiser::add_arguments(TSNode list, const std::vector<Slot>& slots,
                                       const std::vector<std::string>& added) {
  std::string extra;
  TSNode last{};
  for (const Slot& slot : slots) {
    if (slot.target != nullptr) last = slot.node;
  }
  const bool below = aligned(text_, list);
  bool own_line = present(last) && begins_line(text_, ts_node_start_byte(last)) &&
                  (below || !one_line(text_, ts_node_end_byte(last), ts_node_end_byte(list))) &&
                  !one_line(text_, ts_node_start_byte(list), ts_node_start_byte(last));
  if (added.empty()) return {};
  std::string indent;
  if (own_line) {
    indent = indentation(text_, ts_node_start_byte(last));
    const int shift = below ? wider(text_, ts_node_parent(list), callee_) : 0;
    indent.resize(static_cast<size_t>(std::max(0, static_cast<int>(indent.size()) + shift)), ' ');
  }
  if (own_line) {
    // A comment behind the last argument is about that one: what is added goes below it.
    const uint32_t end = ts_node_end_byte(last);
    const ByteRange rest{end, line_of(text_, end).end};
    const std::string_view tail = text_.substr(end, rest.size());
    const size_t hash = tail.find('#');
    const std::string_view before =
        hash == std::string_view::npos ? std::string_view{} : trimmed(tail.substr(0, hash));
    if (hash != std::string_view::npos && (before.empty() || before == ",") &&
        !comments_in(unit_.tree, unit_.text(), rest).empty()) {
      const std::string comma = before.empty() ? "" : ",";
      if (before.empty()) {
        auto done = out_.edits.add({{end, end}, ","});
        if (!done) return done;
      }
      for (const std::string& text : added) extra += newline() + indent + text + ",";
      if (comma.empty()) extra.pop_back();
      const auto to = end + static_cast<uint32_t>(tail.find_last_not_of("\r\n") + 1);
      return out_.edits.add({{to, to}, extra});
    }
  }
  for (const std::string& text : added) {
    if (!present(last)) {
      extra += (extra.empty() ? "" : ", ") + text;
    } else if (own_line) {
      extra += "," + newline() + indent + text;
    } else {
      extra += ", " + text;
    }
  }
  uint32_t at = present(last) ? ts_node_end_byte(last) : ts_node_start_byte(list) + 1;
  return out_.edits.add({{at, at}, extra});
}

Expected<void> Realiser::remove_arguments(TSNode list, TSNode previous, TSNode first, TSNode last,
                                          TSNode next) {
  uint32_t begin = ts_node_start_byte(first), end = ts_node_end_byte(last);
  // The comma after the last one, if there is one.
  uint32_t comma_end = end;
  for (TSNode child : all_children_of(list)) {
    if (text_of(text_, child) == "," && ts_node_start_byte(child) >= end &&
        (!present(next) || ts_node_start_byte(child) < ts_node_start_byte(next))) {
      comma_end = ts_node_end_byte(child);
      break;
    }
  }
  ByteRange first_line = line_of(text_, begin), last_line = line_of(text_, comma_end);
  std::string_view tail = text_.substr(comma_end, last_line.end - comma_end);
  size_t hash = tail.find('#');
  bool own = begins_line(text_, begin) &&
             blank(hash == std::string_view::npos ? tail : tail.substr(0, hash)) &&
             (comma_end > end || !present(next)) && last_line.end > comma_end;
  if (own && (comma_end > end || present(previous))) {
    ByteRange range{first_line.begin, last_line.end};
    std::string kept;
    for (const std::string& comment : comments_in(unit_.tree, unit_.text(), range)) {
      kept += std::string(indentation(text_, begin)) + comment + newline();
    }
    return out_.edits.add({range, kept});
  }
  if (present(next)) {
    uint32_t to = ts_node_start_byte(next);
    auto between = comments_in(unit_.tree, unit_.text(), {begin, to});
    if (!between.empty()) {
      std::string kept;
      for (const std::string& comment : between) {
        kept += comment + newline() + std::string(indentation(text_, to));
      }
      return out_.edits.add({{begin, to}, kept});
    }
    if (comments_in(unit_.tree, unit_.text(), {comma_end, to}).empty() &&
        text_.substr(begin, to - begin).find('\n') == std::string_view::npos) {
      return out_.edits.add({{begin, to}, ""});
    }
    uint32_t stop = comma_end;
    while (stop < to && text_[stop] == ' ') ++stop;
    if (!begins_line(text_, begin) && stop < to && (text_[stop] == '\n' || text_[stop] == '\r')) {
      while (begin > 0 && text_[begin - 1] == ' ') --begin;  // no blank at the line's end
    }
    return out_.edits.add({{begin, stop}, ""});
  }
  if (present(previous)) {
    uint32_t from = ts_node_end_byte(previous);
    std::string kept;
    for (const std::string& comment : comments_in(unit_.tree, unit_.text(), {from, end})) {
      kept += "  " + comment + newline() + std::string(indentation(text_, begin));
    }
    // A comma that stood behind the last one would stand alone where a comment follows another.
    if (!kept.empty()) return out_.edits.add({{from, comma_end}, "," + kept});
    return out_.edits.add({{from, end}, ""});
  }
  return out_.edits.add({{begin, comma_end}, ""});
}

}  // namespace refit::python
