// One change as text edits: a call's arguments edited where they stand, or an expression written
// anew around the parts that it keeps. Entry point: change_edits.
#include <algorithm>
#include <ranges>

#include "rewriter/python/edit/quotes.hpp"
#include "rewriter/python/edit/realiser.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

constexpr size_t kBrief = 48;  // bytes of a call that is not broken into lines

}  // namespace

Expected<ChangeEdits> Realiser::run() {
  out_.dead.insert(change_.dead.begin(), change_.dead.end());
  auto done = forward_all();
  if (!done) return tl::unexpected(done.error());
  done = bypass_all();
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
  done = read_by_name();
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

Expected<void> Realiser::replace_root() {
  const Value& root = g_[change_.root];
  ByteRange range = root.range;
  std::string prefix;
  if (g_.made_by_statement(change_.root)) {
    if (root.statement == kNone) return failure("the value has no place of its own");
    const Statement& s = g_.statements[root.statement];
    range = s.range;
    out_.rewritten.insert(root.statement);
    for (DefinitionId d : s.definitions) {
      if (g_.definitions[d].value == change_.root) {
        prefix = g_.names[g_.definitions[d].name] + " = ";
      }
    }
    if (prefix.empty()) return failure("the joined value has no name");
  }
  const bool apart = !change_.results.empty() && !only_names_root();
  if (!change_.results.empty() && !apart) {
    const Statement& s = g_.statements[root.statement];
    range = s.range;
    out_.rewritten.insert(root.statement);
    prefix = names_of_results(g_.names[g_.definitions[s.definitions[0]].name]) + " = ";
  }
  if (root.syntax != kNone && !g_.made_by_statement(change_.root) && prefix.empty()) {
    TSNode outer = ts_node_parent(unit_.nodes[root.syntax]);
    if (is(outer, "parenthesized_expression")) range = range_of(outer);  // a call needs none
  }
  for (const std::string& comment : comments_in(unit_.tree, unit_.text(), range)) {
    bool inside_argument = std::ranges::any_of(change_.arguments, [&](const NewArgument& a) {
      return a.text.find(comment) != std::string::npos;
    });
    if (!inside_argument) above_.push_back(comment);
  }
  std::vector<std::string> arguments;
  for (const NewArgument& a : change_.arguments) {
    arguments.push_back(named(a.keyword, composed(a, range)));
    for (const NewArgument::Copy& copy : a.copies) out_.copied.push_back(copy.from);
  }
  return apart ? write_before(arguments) : write(range, prefix, arguments);
}

std::string Realiser::named(const std::string& keyword, const std::string& text) {
  return keyword.empty() ? text : keyword + "=" + text;
}

std::string Realiser::edited(ByteRange range) const {
  EditSet all;
  for (const EditSet* some : {&inner_, &std::as_const(out_.edits)}) {
    for (const Edit& e : some->inside(range)) (void)all.add(e);
  }
  return all.apply_inside(text_, range);
}

std::string Realiser::composed(const NewArgument& a, ByteRange site) const {
  std::string text = a.text;
  for (const NewArgument::Copy& copy : std::views::reverse(a.copies)) {
    if (site.contains(copy.from)) text.replace(copy.at, copy.from.size(), edited(copy.from));
  }
  return text;
}

std::string Realiser::call_text(ByteRange range, const std::string& prefix,
                                const std::vector<std::string>& arguments, bool breakable) const {
  std::string one = prefix + callee_ + "(";
  for (size_t i = 0; i < arguments.size(); ++i) one += (i == 0 ? "" : ", ") + arguments[i];
  one += ")" + change_.behind;
  bool brief = one.size() <= kBrief;  // to break it would not make the line easier to read
  if (one.find('\n') == std::string::npos && !brief && breakable && too_long(range, one)) {
    std::string indent(indentation(text_, range.begin));
    std::string step = indent.find('\t') != std::string::npos ? "\t" : "    ";
    one = prefix + callee_ + "(" + newline();
    for (const std::string& argument : arguments) {
      one += indent;
      one += step + argument + "," + newline();
    }
    one += indent + ")" + change_.behind;
  }
  return one;
}

Expected<void> Realiser::write(ByteRange range, const std::string& prefix,
                               const std::vector<std::string>& arguments) {
  const std::string one = call_text(range, prefix, arguments, may_break());
  out_.after = one;
  out_.replaced = range;
  out_.edits.erase_inside(range);
  return out_.edits.add({range, one});
}

bool Realiser::too_long(ByteRange range, std::string_view text) const {
  ByteRange line = line_of(text_, range.begin), last = line_of(text_, range.end);
  size_t length =
      edited({line.begin, range.begin}).size() + text.size() + edited({range.end, last.end}).size();
  if (unit_.line_limit == 0) unit_.line_limit = line_limit(text_);
  return length > unit_.line_limit + 1;
}

bool Realiser::may_break() const {
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
