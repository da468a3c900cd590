// One change as text edits: a call's arguments edited where they stand, an expression replaced,
// dead statements removed with their comments kept. Entry point: change_edits.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rewriter/frontend/python/frontend.hpp"

namespace refit::python {

using graph::Kind;
using graph::kNone;
using graph::Statement;
using graph::StatementId;
using graph::Value;
using graph::ValueId;

namespace {

constexpr size_t kBrief = 48;

bool blank(std::string_view s) {
  return s.find_first_not_of(" \t\f\r\n\\") == std::string_view::npos;
}

// Offsets of the line that holds `at`: its first byte, and one past its line ending.
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

// Comments inside a range, each without its line ending.
std::vector<std::string> comments_in(const PythonUnit& unit, ByteRange range) {
  std::vector<std::string> out;
  std::vector<TSNode> work{
      ts_node_descendant_for_byte_range(unit.tree.root(), range.begin, range.end)};
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
    for (TSNode child : all_children_of(node)) work.push_back(child);
  }
  std::sort(found.begin(), found.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (ByteRange r : found) {
    std::string_view comment = unit.source().slice(r);
    while (!comment.empty() && (comment.back() == '\r' || comment.back() == ' ')) {
      comment.remove_suffix(1);
    }
    out.emplace_back(comment);
  }
  return out;
}

size_t line_limit(std::string_view text) {
  // The width that the file itself keeps to, within reason.
  size_t longest = 0, run = 0;
  for (char c : text) {
    if (c == '\n') {
      if (run <= 120) longest = std::max(longest, run);
      run = 0;
    } else {
      ++run;
    }
  }
  return std::clamp<size_t>(longest, 88, 120);
}

class Realiser {
 public:
  Realiser(const PythonUnit& unit, const Change& change, const Catalogue& catalogue,
           std::string callee)
      : unit_(unit),
        change_(change),
        catalogue_(catalogue),
        callee_(std::move(callee)),
        g_(unit.functions[change.function].graph),
        text_(unit.text()) {}

  Expected<EditSet> run(std::string* after) {
    std::set<StatementId> dead(change_.dead.begin(), change_.dead.end());
    for (ValueId id : change_.forwarded) {
      auto done = forward(id, dead);
      if (!done) return tl::unexpected(done.error());
    }
    for (const auto& [id, replacement] : change_.replaced) {
      auto done = edits_.add({g_[id].range, replacement});
      if (!done) return tl::unexpected(done.error());
    }
    for (const auto& [id, text] : change_.restated) {
      auto done = edits_.add({g_.statements[id].range, text});
      if (!done) return tl::unexpected(done.error());
    }
    Expected<void> done = change_.edit_call ? edit_call() : replace_root(dead);
    if (!done) return tl::unexpected(done.error());
    done = take_parts();
    if (!done) return tl::unexpected(done.error());
    done = remove_dead(dead);
    if (!done) return tl::unexpected(done.error());
    *after = after_;
    return std::move(edits_);
  }

 private:
  // `x.transpose(1, 2)` becomes `x`; `x = x.transpose(1, 2)` goes.
  Expected<void> forward(ValueId id, std::set<StatementId>& dead) {
    const Value& v = g_[id];
    if (v.syntax == kNone) return failure("the expression to take out has no text of its own");
    TSNode node = unit_.nodes[v.syntax];
    TSNode inner = inner_operand(node);
    if (!present(inner)) return failure("the operand to keep has no text of its own");
    std::string kept(text_of(text_, inner));
    TSNode parent = ts_node_parent(node);
    if (is(parent, "assignment") && is(ts_node_parent(parent), "expression_statement") &&
        v.statement != kNone && ts_node_eq(field(parent, "right"), node) &&
        text_of(text_, field(parent, "left")) == kept && !present(field(parent, "type"))) {
      dead.insert(v.statement);
      return {};
    }
    // Only what surrounds the operand goes, so that edits inside it still apply.
    ByteRange outer = range_of(node), in = range_of(inner);
    if (!comments_in(unit_, {in.end, outer.end}).empty() ||
        !comments_in(unit_, {outer.begin, in.begin}).empty()) {
      return failure("a comment stands inside the transpose that would go; move it out");
    }
    if (outer.begin != in.begin) {
      auto done = edits_.add({{outer.begin, in.begin}, ""});
      if (!done) return done;
    }
    return edits_.add({{in.end, outer.end}, ""});
  }

  // The new call gives what used to be one part of its result: `out, _ = f()` becomes `out = f()`
  // and `f()[0]` becomes `f()`.
  Expected<void> take_parts() {
    bool unpacked = false;
    for (ValueId id : change_.parts) {
      const Value& v = g_[id];
      if (v.kind == Kind::index && v.syntax != kNone) {
        TSNode node = unit_.nodes[v.syntax];
        TSNode whole = field(node, "value");
        ByteRange tail{ts_node_end_byte(whole), ts_node_end_byte(node)};
        if (!comments_in(unit_, tail).empty()) {
          return failure("a comment stands inside the index that would go; move it out");
        }
        auto done = edits_.add({tail, ""});
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
          !comments_in(unit_, range_of(left)).empty()) {
        return failure("the names that the result is taken apart into cannot be edited");
      }
      auto done = edits_.add(
          {range_of(left), std::string(text_of(text_, names[static_cast<size_t>(v.index)]))});
      if (!done) return done;
    }
    return {};
  }

  // The text that the first operand of a method or function call has.
  TSNode inner_operand(TSNode node) {
    if (!is(node, "call")) return TSNode{};
    TSNode function = without_parentheses(field(node, "function"));
    if (is(function, "attribute")) {
      TSNode object = field(function, "object");
      // A method's receiver, unless the object is a module: then it is the first argument.
      auto list = children_of(field(node, "arguments"));
      bool receiver = true;
      for (const auto& place : unit_.arguments) {
        if (place.first.first != change_.function) continue;
        const Value& v = g_[place.first.second];
        if (v.syntax == kNone || !ts_node_eq(unit_.nodes[v.syntax], node)) continue;
        for (const auto& a : place.second) receiver = receiver && a.parameter != 0;
      }
      if (receiver) return object;
      return list.empty() ? TSNode{} : list.front();
    }
    auto list = children_of(field(node, "arguments"));
    return list.empty() ? TSNode{} : list.front();
  }

  Expected<void> replace_root(const std::set<StatementId>&) {
    const Value& root = g_[change_.root];
    ByteRange range = root.range;
    std::string prefix;
    if (range.size() == 0) {  // a join: the whole `if` gives one name its value
      if (root.statement == kNone) return failure("the value has no place of its own");
      const Statement& s = g_.statements[root.statement];
      range = s.range;
      for (graph::DefinitionId d : s.definitions) {
        if (g_.definitions[d].value == change_.root) {
          prefix = g_.names[g_.definitions[d].name] + " = ";
        }
      }
      if (prefix.empty()) return failure("the joined value has no name");
    }
    if (root.syntax != kNone && root.range.size() != 0) {
      TSNode outer = ts_node_parent(unit_.nodes[root.syntax]);
      if (is(outer, "parenthesized_expression")) range = range_of(outer);  // a call needs none
    }
    ByteRange line = line_of(text_, range.begin);
    size_t before = range.begin - line.begin;
    size_t behind = line_of(text_, range.end).end - range.end;
    std::string one = prefix + callee_ + "(";
    for (size_t i = 0; i < change_.arguments.size(); ++i) {
      if (i != 0) one += ", ";
      one += argument_text(change_.arguments[i]);
    }
    one += ")";
    bool multiline = one.find('\n') != std::string::npos;
    bool brief = one.size() <= kBrief;  // to break it would not make the line easier to read
    if (!multiline && !brief && before + one.size() + behind > line_limit(text_) + 1) {
      std::string nl(unit_.source().newline());
      std::string indent(indentation(text_, range.begin));
      std::string step = indent.find('\t') != std::string::npos ? "\t" : "    ";
      one = prefix + callee_ + "(" + nl;
      for (const NewArgument& a : change_.arguments) {
        one += indent + step + argument_text(a) + "," + nl;
      }
      one += indent + ")";
    }
    std::string kept;
    for (const std::string& comment : comments_in(unit_, range)) {
      bool inside_argument = false;
      for (const NewArgument& a : change_.arguments) {
        inside_argument = inside_argument || a.text.find(comment) != std::string::npos;
      }
      if (!inside_argument) {
        kept += std::string(indentation(text_, range.begin)) + comment +
                std::string(unit_.source().newline());
      }
    }
    after_ = one;
    if (!kept.empty()) {
      ByteRange first = line_of(text_, statement_begin(root.statement, range.begin));
      auto done = edits_.add({{first.begin, first.begin}, kept});
      if (!done) return done;
    }
    return edits_.add({range, one});
  }

  uint32_t statement_begin(StatementId id, uint32_t fallback) const {
    return id == kNone ? fallback : std::min(fallback, g_.statements[id].range.begin);
  }

  static std::string argument_text(const NewArgument& a) {
    return a.keyword.empty() ? a.text : a.keyword + "=" + a.text;
  }

  Expected<void> edit_call() {
    const Value& root = g_[change_.root];
    TSNode call = unit_.nodes[root.syntax];
    TSNode list = field(call, "arguments");
    if (!comments_in(unit_, range_of(field(call, "function"))).empty()) {
      return failure("a comment stands inside the callee's name; move it out");
    }
    auto done = edits_.add({range_of(field(call, "function")), callee_});
    if (!done) return done;

    struct Slot {
      TSNode node;
      const NewArgument* target = nullptr;
      size_t position = 0;  // of the target among the new arguments
    };
    std::vector<Slot> slots;
    const auto& places = unit_.arguments.at({change_.function, change_.root});
    for (TSNode a : children_of(list)) {
      Slot slot{a};
      for (const auto& place : places) {
        if (!ts_node_eq(place.node, a)) continue;
        const std::string& parameter = graph::parameters_of(root)[place.parameter].name;
        for (size_t i = 0; i < change_.arguments.size(); ++i) {
          if (!change_.arguments[i].kept.empty() && change_.arguments[i].kept == parameter) {
            slot.target = &change_.arguments[i];
            slot.position = i;
          }
        }
      }
      slots.push_back(slot);
    }
    const Operation* target = catalogue_.find(change_.callee);
    size_t kept_so_far = 0;
    bool keywords_only = false;
    for (const Slot& slot : slots) {
      if (slot.target == nullptr) continue;
      std::string name = slot.target->keyword;
      if (name.empty() && target != nullptr && slot.position < target->parameters.size()) {
        name = target->parameters[slot.position].name;
      }
      if (is(slot.node, "keyword_argument")) {
        keywords_only = true;
        TSNode key = field(slot.node, "name");
        if (text_of(text_, key) != name) {
          done = edits_.add({range_of(key), name});
          if (!done) return done;
        }
      } else if (keywords_only || !slot.target->keyword.empty() || slot.position != kept_so_far) {
        keywords_only = true;
        uint32_t at = ts_node_start_byte(slot.node);
        done = edits_.add({{at, at}, name + "="});
        if (!done) return done;
      }
      ++kept_so_far;
    }
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
    std::string extra;
    TSNode last{};
    for (const Slot& slot : slots) {
      if (slot.target != nullptr) last = slot.node;
    }
    bool own_line = present(last) && ts_node_end_point(list).row > ts_node_end_point(last).row &&
                    begins_line(ts_node_start_byte(last)) &&
                    ts_node_start_point(last).row > ts_node_start_point(list).row &&
                    one_a_line(slots.size() > 1, list);
    for (const NewArgument& a : change_.arguments) {
      if (!a.kept.empty()) continue;
      if (!present(last)) {
        if (!extra.empty()) extra += ", ";
        extra += argument_text(a);
      } else if (own_line) {
        extra += "," + std::string(unit_.source().newline()) +
                 std::string(indentation(text_, ts_node_start_byte(last))) + argument_text(a);
      } else {
        extra += ", " + argument_text(a);
      }
    }
    if (!extra.empty()) {
      uint32_t at = present(last) ? ts_node_end_byte(last) : ts_node_start_byte(list) + 1;
      done = edits_.add({{at, at}, extra});
      if (!done) return done;
    }
    // The site's new text, for the report.
    ByteRange range = root.range;
    EditSet local;
    for (const Edit& e : edits_.edits()) {
      if (range.contains(e.range)) {
        auto added =
            local.add({{e.range.begin - range.begin, e.range.end - range.begin}, e.replacement});
        if (!added) return added;
      }
    }
    after_ = local.apply(unit_.source().slice(range));
    return {};
  }

  bool begins_line(uint32_t at) const {
    ByteRange line = line_of(text_, at);
    return blank(text_.substr(line.begin, at - line.begin));
  }

  // Whether every argument stands on a line of its own.
  bool one_a_line(bool several, TSNode list) const {
    if (!several) return true;
    uint32_t row = UINT32_MAX;
    for (TSNode a : children_of(list)) {
      uint32_t here = ts_node_start_point(a).row;
      if (here == row) return false;
      row = here;
    }
    return true;
  }

  Expected<void> remove_arguments(TSNode list, TSNode previous, TSNode first, TSNode last,
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
    bool own = begins_line(begin) &&
               blank(hash == std::string_view::npos ? tail : tail.substr(0, hash)) &&
               (comma_end > end || !present(next)) && last_line.end > comma_end;
    if (own && (comma_end > end || present(previous))) {
      ByteRange range{first_line.begin, last_line.end};
      std::string kept;
      for (const std::string& comment : comments_in(unit_, range)) {
        kept += std::string(indentation(text_, begin)) + comment +
                std::string(unit_.source().newline());
      }
      return edits_.add({range, kept});
    }
    if (present(next)) {
      uint32_t to = ts_node_start_byte(next);
      auto between = comments_in(unit_, {begin, to});
      if (!between.empty()) {
        std::string kept;
        for (const std::string& comment : between) {
          kept +=
              comment + std::string(unit_.source().newline()) + std::string(indentation(text_, to));
        }
        return edits_.add({{begin, to}, kept});
      }
      if (comments_in(unit_, {comma_end, to}).empty() &&
          text_.substr(begin, to - begin).find('\n') == std::string_view::npos) {
        return edits_.add({{begin, to}, ""});
      }
      uint32_t stop = comma_end;
      while (stop < to && text_[stop] == ' ') ++stop;
      if (!begins_line(begin) && stop < to && (text_[stop] == '\n' || text_[stop] == '\r')) {
        while (begin > 0 && text_[begin - 1] == ' ') --begin;  // no blank at the line's end
      }
      return edits_.add({{begin, stop}, ""});
    }
    if (present(previous)) {
      uint32_t from = ts_node_end_byte(previous);
      std::string kept;
      for (const std::string& comment : comments_in(unit_, {from, end})) {
        kept += "  " + comment + std::string(unit_.source().newline()) +
                std::string(indentation(text_, begin));
      }
      // A comma that stood behind the last one would stand alone where a comment follows another.
      if (!kept.empty()) return edits_.add({{from, comma_end}, "," + kept});
      return edits_.add({{from, end}, ""});
    }
    return edits_.add({{begin, comma_end}, ""});
  }

  Expected<void> remove_dead(const std::set<StatementId>& dead) {
    std::vector<ByteRange> removed;
    for (StatementId id : dead) {
      const Statement& s = g_.statements[id];
      if (s.parent != kNone && dead.contains(s.parent)) continue;
      // The root of a join replaces the statement itself.
      if (change_.root != kNone && g_[change_.root].range.size() == 0 &&
          g_[change_.root].statement == id) {
        continue;
      }
      if (leaves_block_empty(id, dead)) {
        bool first = true;
        for (StatementId other : siblings(id))
          first = first && (other == id || other > id || !dead.contains(other));
        if (first) {
          auto done = edits_.add({s.range, "pass"});
          if (!done) return done;
        } else {
          removed.push_back(s.range);
        }
        continue;
      }
      removed.push_back(s.range);
    }
    // Neighbours go as one, so that the blank lines between them go too.
    std::sort(removed.begin(), removed.end(),
              [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    for (size_t i = 0; i < removed.size();) {
      ByteRange run = removed[i];
      size_t j = i + 1;
      while (j < removed.size() && removed[j].begin >= run.end &&
             blank(text_.substr(run.end, removed[j].begin - run.end)) &&
             text_.substr(run.end, removed[j].begin - run.end).find('\n') !=
                 std::string_view::npos) {
        run.end = removed[j++].end;
      }
      auto done = edits_.add(removal(run));
      if (!done) return done;
      i = j;
    }
    return {};
  }

  std::vector<StatementId> siblings(StatementId id) const {
    std::vector<StatementId> out;
    const Statement& s = g_.statements[id];
    for (StatementId other = 0; other < g_.statements.size(); ++other) {
      const Statement& o = g_.statements[other];
      if (o.parent == s.parent && o.block == s.block && o.range.size() != 0) out.push_back(other);
    }
    return out;
  }

  bool leaves_block_empty(StatementId id, const std::set<StatementId>& dead) const {
    const Statement& s = g_.statements[id];
    const Value& root = g_[change_.root];
    StatementId joined = root.range.size() == 0 ? root.statement : kNone;  // replaced, not removed
    if (s.parent == kNone) return false;
    for (StatementId other : siblings(id)) {
      if (!dead.contains(other) || other == joined) return false;
    }
    return true;
  }

  Edit removal(ByteRange statement) const { return remove_line(unit_, statement, {}); }

  const PythonUnit& unit_;
  const Change& change_;
  const Catalogue& catalogue_;
  std::string callee_;
  const graph::Graph& g_;
  std::string_view text_;
  EditSet edits_;
  std::string after_;
};

// A comment for a tool about the statement it stands beside; it goes with the statement.
bool pragma(std::string_view comment) {
  size_t word = comment.find_first_not_of("# \t");
  if (word == std::string_view::npos) return false;
  comment.remove_prefix(word);
  return comment.starts_with("noqa") || comment.starts_with("type:") ||
         comment.starts_with("pylint:") || comment.starts_with("isort:") ||
         comment.starts_with("pyright:");
}

}  // namespace

Edit remove_line(const PythonUnit& unit, ByteRange statement, const EditSet& insertions) {
  std::string_view text = unit.text();
  ByteRange first = line_of(text, statement.begin);
  ByteRange last = line_of(text, statement.end);
  std::string_view head = text.substr(first.begin, statement.begin - first.begin);
  std::string_view tail = text.substr(statement.end, last.end - statement.end);
  size_t hash = tail.find('#');
  bool alone = blank(head) && blank(hash == std::string_view::npos ? tail : tail.substr(0, hash));
  if (!alone) {
    // Shares its line: `a = 1; b = 2`.
    uint32_t end = statement.end;
    while (end < last.end && (text[end] == ' ' || text[end] == ';')) ++end;
    return {{statement.begin, end}, ""};
  }
  std::string kept;
  for (const std::string& comment : comments_in(unit, {first.begin, last.end})) {
    if (pragma(comment)) continue;
    kept += std::string(head) + comment + std::string(unit.source().newline());
  }
  ByteRange range{first.begin, last.end};
  bool replaced =
      std::any_of(insertions.edits().begin(), insertions.edits().end(), [&](const Edit& insertion) {
        return range.begin <= insertion.range.begin && insertion.range.begin <= range.end;
      });
  if (kept.empty() && range.begin > 0 && !replaced) {
    // Not two blank lines where there was one on either side.
    ByteRange above = line_of(text, range.begin - 1);
    std::string_view above_text = text.substr(above.begin, above.size());
    bool blank_above = blank(above_text);
    size_t last_word = above_text.find_last_not_of(" \t\r\n");
    bool opens = last_word != std::string_view::npos && above_text[last_word] == ':';
    if ((blank_above || opens) && range.end < text.size()) {
      ByteRange below = line_of(text, range.end);
      if (blank(text.substr(below.begin, below.size()))) range.end = below.end;
    }
  }
  return {range, kept};
}

Expected<EditSet> change_edits(const PythonUnit& unit, const Change& change,
                               const Catalogue& catalogue, const std::string& callee_text,
                               std::string* after) {
  return Realiser(unit, change, catalogue, callee_text).run(after);
}

}  // namespace refit::python
