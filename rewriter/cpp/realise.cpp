// One change of a C++ file as text edits: a call's arguments kept as they stand, an expression
// replaced, dead statements removed with their comments kept. Entry point: change_edits.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/cpp/argument_list.hpp"
#include "rewriter/cpp/frontend.hpp"
#include "rewriter/cpp/text_parts.hpp"

namespace refit::cpp {

namespace {

bool blank(std::string_view s) { return s.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// `/*name=*/`: it names the parameter of the argument that follows.
bool names_argument(std::string_view comment) {
  return comment.starts_with("/*") && trimmed(comment.substr(2, comment.size() - 4)).ends_with("=");
}

using Leads = std::vector<std::string>;  // what stands before each argument, by argument

class Realiser {
 public:
  Realiser(const CppUnit& unit, const Change& change, const Operation& callee,
           std::string callee_text)
      : unit_(unit),
        change_(change),
        callee_(callee),
        callee_text_(std::move(callee_text)),
        words_(unit.texts[change.function]),
        g_(unit.functions[change.function].graph),
        text_(unit.text()) {}

  Expected<EditSet> run(std::string* after) {
    std::set<StatementId> dead(change_.dead.begin(), change_.dead.end());
    for (ValueId id : change_.forwarded) {
      auto done = forward(id, dead);
      if (!done) return tl::unexpected(done.error());
    }
    if (!change_.replaced.empty() || !change_.restated.empty()) {
      return failure("a branch chooses between its parts; write each branch's result out");
    }
    auto done = clear_of_conditions(unit_, change_, dead);
    if (!done) return tl::unexpected(done.error());
    done = move_declarations(dead);
    if (!done) return tl::unexpected(done.error());
    done = change_.edit_call ? edit_call() : replace_root();
    if (!done) return tl::unexpected(done.error());
    done = remove_dead(dead);
    if (!done) return tl::unexpected(done.error());
    *after = after_;
    return std::move(edits_);
  }

 private:
  // Where a declaration goes and the root's statement assigns the variable, that declares it.
  Expected<void> move_declarations(const std::set<StatementId>& dead) {
    for (StatementId id : dead) {
      const Statement& gone = g_.statements[id];
      const auto declared = words_.declarations.find(id);
      for (DefinitionId d : gone.definitions) {
        const uint32_t name = g_.definitions[d].name;
        if (!declares(gone, name)) continue;
        const StatementId next = assigned_next(name, dead);
        if (next == kNone) continue;
        const Statement& there = g_.statements[next];
        const bool fits = declared != words_.declarations.end() &&
                          next == g_[change_.root].statement && there.parent == gone.parent &&
                          there.block == gone.block &&
                          same_braces(gone.range.end, there.range.begin) &&
                          declared->second.type.find_first_of("&*/") == std::string::npos &&
                          unit_.source().slice(there.range).starts_with(declared->second.name);
        if (!fits) {
          return failure(
              fmt::format("`{}` is declared where its first value would go, and assigned "
                          "later; give each value a variable of its own",
                          words_.locals[name].identifier));
        }
        auto done = edits_.add({{there.range.begin, there.range.begin}, declared->second.type});
        if (!done) return done;
        moved_ = declared->second.type.size();
      }
    }
    return {};
  }

  // Whether two places stand in the same braces.
  bool same_braces(uint32_t from, uint32_t to) const {
    int depth = 0;
    for (uint32_t at = from; at < to && depth >= 0; ++at) {
      if (in_comment(unit_, at)) continue;
      depth += (text_[at] == '{' ? 1 : 0) - (text_[at] == '}' ? 1 : 0);
    }
    return depth == 0;
  }

  // Whether the statement gives the variable its first value.
  bool declares(const Statement& statement, uint32_t name) const {
    return std::ranges::all_of(g_.definitions, [&](const Definition& d) {
      return d.name != name || d.statement == kNone ||
             g_.statements[d.statement].time >= statement.time;
    });
  }

  // Whether a statement goes, with what stands around it perhaps.
  bool goes(StatementId id, const std::set<StatementId>& dead) const {
    while (id != kNone && !dead.contains(id)) id = g_.statements[id].parent;
    return id != kNone;
  }

  // The first statement that stays and gives the variable a value.
  StatementId assigned_next(uint32_t name, const std::set<StatementId>& dead) const {
    StatementId first = kNone;
    for (const Definition& d : g_.definitions) {
      if (d.name != name || d.statement == kNone || goes(d.statement, dead)) continue;
      if (first == kNone || g_.statements[d.statement].time < g_.statements[first].time) {
        first = d.statement;
      }
    }
    return first;
  }

  // `x.transpose(1, 2)` becomes `x`; `x = x.transpose(1, 2);` goes.
  Expected<void> forward(ValueId id, std::set<StatementId>& dead) {
    const Value& v = g_[id];
    auto call = words_.calls.find(id);
    if (call == words_.calls.end() || v.range.size() == 0) {
      return failure("the expression to take out has no text of its own");
    }
    if (auto locked = words_.locked.find(id); locked != words_.locked.end()) {
      return failure("a transpose that would go cannot be edited: " + locked->second);
    }
    ByteRange kept;
    if (call->second.receiver) {
      kept = *call->second.receiver;
    } else {
      for (const CallText::Argument& a : call->second.arguments) {
        if (a.parameter == 0) kept = a.range;
      }
    }
    if (kept.size() == 0) return failure("the operand to keep has no text of its own");
    if (comment_in({kept.end, v.range.end}) || comment_in({v.range.begin, kept.begin})) {
      return failure("a comment stands inside the transpose that would go; move it out");
    }
    if (v.statement != kNone && g_.statements[v.statement].pure) {
      const Statement& s = g_.statements[v.statement];
      std::string_view whole = unit_.source().slice(s.range);
      std::string same = std::string(unit_.source().slice(kept)) + " = ";
      bool whole_value = trimmed(text_.substr(v.range.end, s.range.end - v.range.end)) == ";";
      if (whole_value && s.range.begin + same.size() == v.range.begin && whole.starts_with(same)) {
        dead.insert(v.statement);
        return {};
      }
    }
    if (v.range.begin != kept.begin) {
      auto done = edits_.add({{v.range.begin, kept.begin}, ""});
      if (!done) return done;
    }
    return edits_.add({{kept.end, v.range.end}, ""});
  }

  bool comment_in(ByteRange where) const {
    return std::ranges::any_of(unit_.comments,
                               [&](const ByteRange& c) { return where.contains(c); });
  }

  // The text of a range with the edits made so far, which it takes over.
  std::string take(ByteRange where) {
    EditSet inside, outside;
    for (const Edit& e : edits_.edits()) {
      if (where.contains(e.range)) {
        (void)inside.add({{e.range.begin - where.begin, e.range.end - where.begin}, e.replacement});
      } else {
        (void)outside.add(e);
      }
    }
    edits_ = std::move(outside);
    return inside.apply(unit_.source().slice(where));
  }

  // Comments of a range that no kept text holds, to stand above the statement.
  std::string orphans(ByteRange where, const std::vector<ByteRange>& kept) const {
    std::string out;
    for (const ByteRange& c : unit_.comments) {
      if (!where.contains(c) || names_argument(unit_.source().slice(c))) continue;
      if (std::ranges::any_of(kept, [&](ByteRange k) { return k.contains(c); })) continue;
      out += std::string(indentation(text_, where.begin));
      out += trimmed(unit_.source().slice(c));
      out += unit_.source().newline();
    }
    return out;
  }

  Expected<void> keep_above(const std::string& comments) {
    if (comments.empty()) return {};
    const Value& root = g_[change_.root];
    uint32_t at = root.range.begin;
    if (root.statement != kNone) at = std::min(at, g_.statements[root.statement].range.begin);
    uint32_t line = line_of(text_, at).begin;
    return edits_.add({{line, line}, comments});
  }

  Expected<void> edit_call() {
    const Value& root = g_[change_.root];
    auto call = words_.calls.find(change_.root);
    if (call == words_.calls.end() || call->second.close <= call->second.open) {
      return failure("the call has no text of its own");
    }
    const CallText& words = call->second;
    if (words.options) return replace_options(words);
    const auto& parameters = parameters_of(root);
    // The slot of an argument: from the comma before it, and a `//` behind that, to the one behind
    // it.
    std::vector<ByteRange> slots;
    std::vector<ByteRange> tails;  // from the comma behind an argument over a `//` on its line
    uint32_t from = words.open + 1;
    for (size_t i = 0; i < words.arguments.size(); ++i) {
      uint32_t to = words.close;
      if (i + 1 < words.arguments.size()) {
        to = words.arguments[i].range.end;
        while (to < words.arguments[i + 1].range.begin &&
               (text_[to] != ',' || in_comment(unit_, to)))
          ++to;
      }
      if (words.arguments[i].range.size() == 0) {
        return failure("an argument comes out of a macro; write it out");
      }
      slots.push_back({from, to});
      tails.push_back(tail_of(to + 1));
      from = tails.back().end;
    }
    // With an argument that goes the comment behind it goes, too.
    std::vector<ByteRange> kept = tails;
    if (!words.arguments.empty()) kept.push_back(tail_of(words.arguments.back().range.end));
    std::vector<NewArgument> arguments;
    Leads leads, behind;
    bool own_lines = true;
    for (NewArgument a : change_.arguments) {
      std::string lead, tail;
      for (size_t i = 0; i < words.arguments.size() && !a.kept.empty(); ++i) {
        if (parameters[words.arguments[i].parameter].name != a.kept) continue;
        ByteRange where{words.arguments[i].range.begin, slots[i].end};
        // What stands behind it belongs to it; blanks before the parenthesis do not.
        while (where.end > words.arguments[i].range.end && blank(text_.substr(where.end - 1, 1))) {
          --where.end;
        }
        if (ends_with_comment(where)) {  // the comma goes in front of it
          tail =
              text_.substr(words.arguments[i].range.end, where.end - words.arguments[i].range.end);
          kept.push_back(where);
          where.end = words.arguments[i].range.end;
        }
        tail += unit_.source().slice(tails[i]);
        lead = lead_of({slots[i].begin, where.begin}, kept);
        own_lines = own_lines && lead.find('\n') != std::string::npos;
        kept.push_back(where);
        a.text = take(where);
      }
      if (a.text.empty()) return failure("an argument has no text of its own");
      if (!a.kept.empty() && is_default(a, g_.argument(change_.root, a.kept))) continue;
      leads.push_back(std::move(lead));
      behind.push_back(std::move(tail));
      arguments.push_back(std::move(a));
    }
    std::string comments = orphans(root.range, kept);
    // The slots' own blanks are kept where each argument has a line, or a comment, of its own.
    const bool commented =
        std::ranges::any_of(leads, [](const std::string& lead) { return !blank(lead); }) ||
        std::ranges::any_of(behind, [](const std::string& tail) { return !tail.empty(); });
    auto list = own_lines || commented ? composed_list(place(), arguments, leads, behind)
                                       : fitted_list(place(), arguments);
    if (!list) return tl::unexpected(list.error());
    (void)take(root.range);
    after_ = callee_text_ + *list;
    auto done = edits_.add({root.range, after_});
    if (!done) return done;
    return keep_above(comments);
  }

  // Of a call with an object of options the arguments stand in that, or elsewhere.
  Expected<void> replace_options(const CallText& words) {
    const auto& parameters = parameters_of(g_[change_.root]);
    std::vector<NewArgument> arguments;
    for (NewArgument a : change_.arguments) {
      for (const CallText::Argument& given : words.arguments) {
        if (a.kept.empty() || parameters[given.parameter].name != a.kept) continue;
        a.text = take(given.range);
      }
      if (a.text.empty()) return failure("an argument has no text of its own");
      if (!a.kept.empty() && is_default(a, g_.argument(change_.root, a.kept))) continue;
      arguments.push_back(std::move(a));
    }
    return replace_by(arguments);
  }

  bool ends_with_comment(ByteRange where) const {
    return std::ranges::any_of(unit_.comments, [&](const ByteRange& c) {
      return c.end == where.end && unit_.source().slice(c).starts_with("//");
    });
  }

  // Of what follows a comma: blanks and a `//` on the same line; nothing where there is none.
  ByteRange tail_of(uint32_t behind) const {
    for (const ByteRange& c : unit_.comments) {
      if (c.begin < behind || !unit_.source().slice(c).starts_with("//")) continue;
      const bool alone =
          text_.substr(behind, c.begin - behind).find_first_not_of(" \t") == std::string_view::npos;
      return {behind, alone ? c.end : behind};
    }
    return {behind, behind};
  }

  // What the callee takes anyway: C++ had to say it for the sake of what follows it.
  bool is_default(const NewArgument& a, ValueId value) const {
    if (value == kNone || g_[value].kind != Kind::literal) return false;
    for (const Parameter& p : callee_.parameters) {
      if (p.name != a.keyword || !p.default_value) continue;
      return p.default_value->kind == g_[value].literal.kind &&
             same_value(*p.default_value, g_[value].literal);
    }
    return false;
  }

  // What stands before an argument, without comments that name its parameter; other comments in it
  // are kept with it.
  std::string lead_of(ByteRange where, std::vector<ByteRange>& kept) const {
    std::string out;
    uint32_t from = where.begin;
    for (const ByteRange& c : unit_.comments) {
      if (!where.contains(c)) continue;
      if (!names_argument(unit_.source().slice(c))) {
        kept.push_back(c);
        continue;
      }
      out += text_.substr(from, c.begin - from);
      from = c.end;
    }
    return out + std::string(text_.substr(from, where.end - from));
  }

  Expected<void> replace_root() {
    const Value& root = g_[change_.root];
    if (root.range.size() == 0) {
      return failure("branches give it its value; compute it in one expression");
    }
    return replace_by(change_.arguments);
  }

  Expected<void> replace_by(const std::vector<NewArgument>& arguments) {
    const Value& root = g_[change_.root];
    std::string comments = orphans(root.range, {});
    for (const NewArgument& a : arguments) {
      if (a.text.find("//") != std::string::npos || a.text.find("/*") != std::string::npos) {
        return failure("a comment stands inside one of its parts; move it out");
      }
    }
    auto list = fitted_list(place(), arguments);
    if (!list) return tl::unexpected(list.error());
    (void)take(root.range);
    after_ = callee_text_ + *list + change_.behind;
    auto done = edits_.add({root.range, after_});
    if (!done) return done;
    return keep_above(comments);
  }

  ListPlace place() const {
    const Value& root = g_[change_.root];
    const size_t column =
        root.range.begin - line_of(text_, root.range.begin).begin + moved_ + callee_text_.size();
    return {unit_, callee_, root.range, change_.behind, column};
  }

  Expected<void> remove_dead(const std::set<StatementId>& dead) {
    std::vector<ByteRange> removed;
    for (StatementId id : dead) {
      const Statement& s = g_.statements[id];
      if (s.parent != kNone && dead.contains(s.parent)) continue;
      if (s.range.size() == 0) return failure("a statement that would go comes out of a macro");
      if (alone(s.range)) {
        return failure(
            "the one statement of an `if` or `else` without braces would go; write them");
      }
      removed.push_back(s.range);
    }
    std::ranges::sort(removed,
                      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    for (const ByteRange& statement : removed) {
      (void)take(statement);
      auto done = edits_.add(removal(statement));
      if (!done) return done;
    }
    return {};
  }

  // Whether it stands where braces could, behind `if (…)` or `else`.
  bool alone(ByteRange statement) const {
    uint32_t end = statement.begin;
    for (bool moved = true; moved;) {
      const uint32_t before = end;
      while (end > 0 && blank(text_.substr(end - 1, 1))) --end;
      for (const ByteRange& c : unit_.comments) {
        if (c.end == end) end = c.begin;
      }
      moved = end != before;
    }
    const std::string_view head = text_.substr(0, end);
    return head.ends_with(")") ||
           (head.ends_with("else") && !trimmed(head.substr(0, head.size() - 4)).ends_with("#"));
  }

  // A statement with its line; comments on it stay.
  Edit removal(ByteRange statement) const {
    ByteRange first = line_of(text_, statement.begin);
    ByteRange last = line_of(text_, statement.end);
    std::string_view head = text_.substr(first.begin, statement.begin - first.begin);
    std::string tail(text_.substr(statement.end, last.end - statement.end));
    for (const ByteRange& c : unit_.comments) {
      if (c.begin >= statement.end && c.end <= last.end) {
        std::fill(tail.begin() + (c.begin - statement.end), tail.begin() + (c.end - statement.end),
                  ' ');
      }
    }
    if (!blank(head) || !blank(tail)) {
      uint32_t end = statement.end;
      while (end < last.end && text_[end] == ' ') ++end;
      return {{statement.begin, end}, ""};
    }
    std::string kept;
    for (const ByteRange& c : unit_.comments) {
      if (!ByteRange{first.begin, last.end}.contains(c)) continue;
      if (names_argument(unit_.source().slice(c))) continue;
      kept += head;
      kept += trimmed(unit_.source().slice(c));
      kept += unit_.source().newline();
    }
    ByteRange range{first.begin, last.end};
    if (kept.empty() && range.begin > 0 && range.end < text_.size()) {
      // Not two blank lines where there was one on either side, and none after a brace.
      ByteRange above = line_of(text_, range.begin - 1), below = line_of(text_, range.end);
      std::string_view over = trimmed(text_.substr(above.begin, above.size()));
      if ((over.empty() || over.ends_with("{")) && blank(text_.substr(below.begin, below.size()))) {
        range.end = below.end;
      }
    }
    return {range, kept};
  }

  const CppUnit& unit_;
  const Change& change_;
  const Operation& callee_;
  std::string callee_text_;
  const FunctionText& words_;
  const Graph& g_;
  std::string_view text_;
  EditSet edits_;
  std::string after_;
  size_t moved_ = 0;  // columns by which a declaration moves the root
};

}  // namespace

Expected<EditSet> change_edits(const CppUnit& unit, const Change& change, const Operation& callee,
                               const std::string& callee_text, std::string* after) {
  return Realiser(unit, change, callee, callee_text).run(after);
}

}  // namespace refit::cpp
