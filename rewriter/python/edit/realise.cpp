// One change as text edits: a call's arguments edited where they stand, or an expression written
// anew around the parts that it keeps. Entry point: change_edits.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "rewriter/python/edit/alignment.hpp"
#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/edit/quotes.hpp"
#include "rewriter/python/lower/unroll.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

using graph::Kind;
using graph::kNone;
using graph::Statement;
using graph::StatementId;
using graph::Value;
using graph::ValueId;

namespace {

constexpr size_t kBrief = 48;

class Realiser {
 public:
  Realiser(const PythonUnit& unit, const Change& change, const Catalogue& catalogue,
           std::string callee, const EditSet& inner)
      : unit_(unit),
        change_(change),
        catalogue_(catalogue),
        callee_(std::move(callee)),
        inner_(inner),
        g_(unit.functions[change.function].graph),
        text_(unit.text()) {}

  Expected<ChangeEdits> run() {
    out_.dead.insert(change_.dead.begin(), change_.dead.end());
    auto done = forward_all();
    if (!done) return tl::unexpected(done.error());
    for (const AxisSwap& swap : change_.swapped) {
      auto edit = swap_edit(unit_, change_.function, swap);
      if (!edit) return tl::unexpected(edit.error());
      done = out_.edits.add(*edit);
      if (!done) return tl::unexpected(done.error());
    }
    for (const auto& [id, replacement] : change_.replaced) {
      done = out_.edits.add({g_[id].range, replacement});
      if (!done) return tl::unexpected(done.error());
    }
    for (const auto& [id, text] : change_.restated) {
      done = out_.edits.add({g_.statements[id].range, text});
      out_.rewritten.insert(id);
      if (!done) return tl::unexpected(done.error());
    }
    done = change_.edit_call ? edit_call() : replace_root();
    if (!done) return tl::unexpected(done.error());
    done = take_parts();
    if (!done) return tl::unexpected(done.error());
    if (!above_.empty()) {
      const Value& root = g_[change_.root];
      uint32_t at = root.range.begin;
      if (root.statement != kNone) {
        uint32_t begin = g_.statements[root.statement].range.begin;
        at = g_.made_by_statement(change_.root) ? begin : std::min(at, begin);
      }
      ByteRange line = line_of(text_, at);
      std::string kept;
      for (const std::string& comment : above_) {
        kept += std::string(indentation(text_, at)) + comment + newline();
      }
      done = out_.edits.add({{line.begin, line.begin}, kept});
      if (!done) return tl::unexpected(done.error());
    }
    return std::move(out_);
  }

 private:
  std::string newline() const { return std::string(unit_.source().newline()); }

  // Chains of transposes and copies become what they begin with: `x.transpose(1, 2)` is `x`, and
  // `x = x.transpose(1, 2)` goes.
  Expected<void> forward_all() {
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

  Expected<void> forward(ValueId id, const std::map<const void*, ValueId>& nodes) {
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
    bool chain = std::all_of(steps.begin(), steps.end(), [](const auto& step) {
      return step.first.begin == step.second.begin;
    });
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

  // Takes the end off a chain of methods; comments on its lines get lines of their own.
  Expected<void> cut(ByteRange in, ByteRange outer) {
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

  static bool begins_with_comment(std::string_view text) {
    size_t at = text.find_first_not_of(" \t");
    return at != std::string_view::npos && text[at] == '#';
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

  // The text that the first operand of a method or function call has.
  TSNode inner_operand(ValueId id) const {
    TSNode node = unit_.nodes[g_[id].syntax];
    if (!is(node, "call")) return TSNode{};
    TSNode function = without_parentheses(field(node, "function"));
    auto list = children_of(field(node, "arguments"));
    if (is(function, "attribute")) {
      // A method's receiver, unless the object is a module: then it is the first argument.
      auto places = unit_.arguments.find({change_.function, id});
      bool receiver = places == unit_.arguments.end() ||
                      std::none_of(places->second.begin(), places->second.end(),
                                   [](const auto& a) { return a.parameter == 0; });
      if (receiver) return field(function, "object");
    }
    return list.empty() ? TSNode{} : list.front();
  }

  Expected<void> replace_root() {
    const Value& root = g_[change_.root];
    ByteRange range = root.range;
    std::string prefix;
    if (g_.made_by_statement(change_.root)) {
      if (root.statement == kNone) return failure("the value has no place of its own");
      const Statement& s = g_.statements[root.statement];
      range = s.range;
      out_.rewritten.insert(root.statement);
      for (graph::DefinitionId d : s.definitions) {
        if (g_.definitions[d].value == change_.root) {
          prefix = g_.names[g_.definitions[d].name] + " = ";
        }
      }
      if (prefix.empty()) return failure("the joined value has no name");
    }
    if (root.syntax != kNone && !g_.made_by_statement(change_.root)) {
      TSNode outer = ts_node_parent(unit_.nodes[root.syntax]);
      if (is(outer, "parenthesized_expression")) range = range_of(outer);  // a call needs none
    }
    for (const std::string& comment : comments_in(unit_.tree, unit_.text(), range)) {
      bool inside_argument = std::any_of(
          change_.arguments.begin(), change_.arguments.end(),
          [&](const NewArgument& a) { return a.text.find(comment) != std::string::npos; });
      if (!inside_argument) above_.push_back(comment);
    }
    std::vector<std::string> arguments;
    for (const NewArgument& a : change_.arguments) {
      arguments.push_back(named(a.keyword, composed(a, range)));
      for (const NewArgument::Copy& copy : a.copies) out_.copied.push_back(copy.from);
    }
    return write(range, prefix, arguments);
  }

  static std::string named(const std::string& keyword, const std::string& text) {
    return keyword.empty() ? text : keyword + "=" + text;
  }

  // A range with the edits of this change and of those inside it.
  std::string edited(ByteRange range) const {
    EditSet all;
    for (const EditSet* some : {&inner_, &std::as_const(out_.edits)}) {
      for (const Edit& e : some->inside(range)) (void)all.add(e);
    }
    return all.apply_inside(text_, range);
  }

  // An argument's text, what it copies being as edited.
  std::string composed(const NewArgument& a, ByteRange site) const {
    std::string text = a.text;
    for (const NewArgument::Copy& copy : std::views::reverse(a.copies)) {
      if (site.contains(copy.from)) text.replace(copy.at, copy.from.size(), edited(copy.from));
    }
    return text;
  }

  // The new call in a range's place, one argument a line where the line would be too long.
  Expected<void> write(ByteRange range, const std::string& prefix,
                       const std::vector<std::string>& arguments) {
    std::string one = prefix + callee_ + "(";
    for (size_t i = 0; i < arguments.size(); ++i) one += (i == 0 ? "" : ", ") + arguments[i];
    one += ")";
    bool brief = one.size() <= kBrief;  // to break it would not make the line easier to read
    if (one.find('\n') == std::string::npos && !brief && too_long(range, one) && may_break()) {
      std::string indent(indentation(text_, range.begin));
      std::string step = indent.find('\t') != std::string::npos ? "\t" : "    ";
      one = prefix + callee_ + "(" + newline();
      for (const std::string& argument : arguments) {
        one += indent;
        one += step + argument + "," + newline();
      }
      one += indent + ")";
    }
    out_.after = one;
    out_.replaced = range;
    out_.edits.erase_inside(range);
    return out_.edits.add({range, one});
  }

  bool too_long(ByteRange range, std::string_view text) const {
    ByteRange line = line_of(text_, range.begin), last = line_of(text_, range.end);
    size_t length = edited({line.begin, range.begin}).size() + text.size() +
                    edited({range.end, last.end}).size();
    if (unit_.line_limit == 0) unit_.line_limit = line_limit(text_);
    return length > unit_.line_limit + 1;
  }

  // Whether a person would break the call: inside somebody else's brackets those are broken first.
  bool may_break() const {
    if (g_[change_.root].syntax == kNone || g_.made_by_statement(change_.root)) return true;
    for (TSNode node = unit_.nodes[g_[change_.root].syntax];;) {
      TSNode parent = ts_node_parent(node);
      const NodeKind type = present(parent) ? type_of(parent) : "module";
      auto part = [&](FieldName name) { return ts_node_eq(field(parent, name), node); };
      if (type == "parenthesized_expression" || type == "await" ||
          (type == "attribute" && part("object")) || (type == "call" && part("function")) ||
          (type == "subscript" && part("value")) || type == "keyword_argument" ||
          type == "binary_operator" ||
          (type == "expression_list" && ts_node_eq(node, unit_.nodes[g_[change_.root].syntax]))) {
        node = parent;
        continue;
      }
      if (type == "argument_list" || type == "list" || type == "tuple" || type == "pair") {
        return begins_line(text_, ts_node_start_byte(node));
      }
      return type == "module" || type == "block" || type_name(parent).ends_with("assignment") ||
             type_name(parent).ends_with("_statement");
    }
  }

  struct Slot {  // an argument of the source
    TSNode node{};
    const NewArgument* target = nullptr;
    size_t position = 0;  // of the target among the new arguments
    std::string name;     // the keyword that it gets, or has
  };

  std::vector<Slot> slots(TSNode list) const {
    std::vector<Slot> out;
    const Value& root = g_[change_.root];
    const auto& places = unit_.arguments.at({change_.function, change_.root});
    for (TSNode a : children_of(list)) {
      Slot slot;
      slot.node = a;
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
      out.push_back(slot);
    }
    return out;
  }

  Expected<void> edit_call() {
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
    size_t kept_so_far = 0;
    bool keywords_only = false;
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
          done = out_.edits.add({range_of(key), name});
          if (!done) return done;
        }
      } else if (keywords_only || !slot.target->keyword.empty() || slot.position != kept_so_far) {
        if (slot.target->fallback) {  // nobody wrote its name, and it says nothing
          slot.target = nullptr;
          continue;
        }
        keywords_only = true;
        slot.name = name;
        uint32_t at = ts_node_start_byte(slot.node);
        done = out_.edits.add({{at, at}, name + "="});
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
    std::vector<std::string> added;  // by name where one before it has its name
    for (size_t i = 0; i < change_.arguments.size(); ++i) {
      const NewArgument& a = change_.arguments[i];
      if (!a.kept.empty()) continue;
      bool by_name = (keywords_only || i != kept_so_far) && target != nullptr;
      bool bare = a.keyword.empty() && by_name && i < target->parameters.size();
      added.push_back(named(bare ? target->parameters[i].name : a.keyword, a.text));
      keywords_only = keywords_only || bare || !a.keyword.empty();
      ++kept_so_far;
    }
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

  // Arguments that the source has not: behind the last that stays, in its style.
  Expected<void> add_arguments(TSNode list, const std::vector<Slot>& slots,
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
    std::string indent;
    if (own_line) {
      indent = indentation(text_, ts_node_start_byte(last));
      const int shift = below ? wider(text_, ts_node_parent(list), callee_) : 0;
      indent.resize(static_cast<size_t>(std::max(0, static_cast<int>(indent.size()) + shift)), ' ');
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
    if (extra.empty()) return {};
    uint32_t at = present(last) ? ts_node_end_byte(last) : ts_node_start_byte(list) + 1;
    return out_.edits.add({{at, at}, extra});
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

  const PythonUnit& unit_;
  const Change& change_;
  const Catalogue& catalogue_;
  std::string callee_;
  const EditSet& inner_;
  const graph::Graph& g_;
  std::string_view text_;
  ChangeEdits out_;
  std::vector<std::string> above_;  // comments that move above the statement
  std::map<StatementId, UnpackedParts> unpacked_;
};

}  // namespace

Expected<ChangeEdits> change_edits(const PythonUnit& unit, const Change& change,
                                   const Catalogue& catalogue, const std::string& callee_text,
                                   const EditSet& inner) {
  const auto syntax = unit.functions[change.function].graph[change.root].syntax;
  const Quoted quoted = syntax == kNone ? Quoted{} : quoted_around(unit, unit.nodes[syntax]);
  if (quoted.range.size() == 0) return Realiser(unit, change, catalogue, callee_text, inner).run();
  if (quoted.shown) {
    return failure("it stands in `{…=}`, which gives its text, too; write the text out");
  }
  Change own = change;
  for (NewArgument& argument : own.arguments) {
    if (!take_quotes(quoted, argument)) {
      return failure("it stands in an f-string whose quote the new call needs; compute it first");
    }
  }
  return Realiser(unit, own, catalogue, callee_text, inner).run();
}

}  // namespace refit::python
