// See removal.hpp.
#include "rewriter/python/edit/removal.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

TSNode node_of(const PythonUnit& unit, const Statement& statement) {
  TSNode node = ts_node_descendant_for_byte_range(unit.tree.root(), statement.range.begin,
                                                  statement.range.end);
  // The smallest node of that range may be an only child.
  while (present(ts_node_parent(node)) && range_of(ts_node_parent(node)) == statement.range &&
         !is(ts_node_parent(node), "block") && !is(ts_node_parent(node), "module")) {
    node = ts_node_parent(node);
  }
  return node;
}

// Whether nothing but what stands inside it sees the context that a `with` enters.
bool harmless_with(const PythonUnit& unit, const Graph& g, const Statement& statement) {
  if (statement.kind != StatementKind::other || !statement.definitions.empty()) return false;
  if (!is(node_of(unit, statement), "with_statement")) return false;
  return std::ranges::all_of(statement.uses, [&](ValueId id) {
    return id != kNone && g[id].kind == Kind::op && g[id].op->pure;
  });
}

// The two sides of `a, b = x, y` on one line, part by part; none where they do not pair off.
struct Pairs {
  NodeList names, values;
};
std::optional<Pairs> pairs_of(const PythonUnit& unit, const Statement& statement) {
  TSNode node = node_of(unit, statement);
  if (is(node, "expression_statement")) node = children_of(node).front();
  if (!is(node, "assignment")) return std::nullopt;
  const TSNode left = field(node, "left"), right = field(node, "right");
  const bool lists = (is(left, "pattern_list") || is(left, "tuple_pattern")) &&
                     (is(right, "expression_list") || is(right, "tuple"));
  if (!lists || !one_line(unit.text(), statement.range.begin, statement.range.end)) {
    return std::nullopt;
  }
  Pairs out{children_of(left), children_of(right)};
  const bool pair =
      out.names.size() == out.values.size() &&
      std::ranges::all_of(out.names, [](TSNode name) { return is(name, "identifier"); }) &&
      std::ranges::none_of(out.values, [](TSNode value) { return is(value, "list_splat"); });
  if (!pair) return std::nullopt;
  return out;
}

// What goes with the statements that go: an `if` or `with` whose every statement goes, which has
// nothing to decide, and assignments of a name whose every read goes. Each statement is looked at
// when it goes, each name when its last read does.
class Orphans {
 public:
  Orphans(const PythonUnit& unit, uint32_t function, const EditSet& edits, Doomed& doomed)
      : unit_(unit),
        function_(unit.functions[function]),
        g_(function_.graph),
        edits_(edits),
        doomed_(doomed) {
    if (function == 0) return;  // a module's names are its interface
    ByteRange whole = function_.range;
    reads_ = names_read(ts_node_descendant_for_byte_range(unit.tree.root(), whole.begin, whole.end),
                        unit.text());
    std::ranges::reverse(reads_);  // as they stand
    gone_.assign(reads_.size(), false);
  }

  void run() {
    for (const NameRead& read : reads_) ++counts_[read.name].all;
    std::vector<StatementId> work(doomed_.dead.begin(), doomed_.dead.end());
    for (size_t r = 0; r < reads_.size(); ++r) {
      if (edits_.replaces(reads_[r].range)) lose(r, work);
    }
    while (!work.empty()) {
      StatementId s = work.back();
      work.pop_back();
      lose_inside(g_.statements[s].range, work);
      empty_out(g_.statements[s].parent, work);
    }
  }

 private:
  struct Count {
    size_t all = 0, lost = 0;
  };

  // Where a name gets a value: in a statement of its own, or as one part of several.
  struct Home {
    StatementId statement = kNone;
    size_t part = 0;
    ByteRange value;  // the part's; empty where it is the whole statement
  };

  void lose_inside(ByteRange range, std::vector<StatementId>& work) {
    auto at = std::lower_bound(
        reads_.begin(), reads_.end(), range.begin,
        [](const NameRead& read, uint32_t begin) { return read.range.begin < begin; });
    for (; at != reads_.end() && at->range.end <= range.end; ++at) {
      lose(static_cast<size_t>(at - reads_.begin()), work);
    }
  }

  void lose(size_t read, std::vector<StatementId>& work) {
    if (gone_[read]) return;
    gone_[read] = true;
    Count& count = counts_[reads_[read].name];
    if (++count.lost == count.all) unread(reads_[read].name, work);
  }

  void unread(std::string_view name, std::vector<StatementId>& work) {
    auto index = g_.name_index(name);
    if (!index) return;
    auto homes = assignments(*index);
    bool edited = std::ranges::any_of(homes, [&](const Home& home) {
      return !edits_.inside(g_.statements[home.statement].range).empty();
    });
    if (homes.empty() || edited || written().contains(name)) return;
    for (const Home& home : homes) {
      if (home.value.size() == 0 || all_parts_go(home)) {
        if (doomed_.dead.insert(home.statement).second) work.push_back(home.statement);
      } else {
        lose_inside(home.value, work);
      }
    }
  }

  bool all_parts_go(const Home& home) {
    auto& parts = doomed_.parts[home.statement];
    parts.insert(home.part);
    return parts.size() == g_.statements[home.statement].definitions.size();
  }

  // One of its statements goes.
  void empty_out(StatementId s, std::vector<StatementId>& work) {
    if (s == kNone) return;
    const Statement& statement = g_.statements[s];
    if (++lost_children_[s] < statement.children.size()) return;
    if (doomed_.dead.contains(s) || doomed_.rewritten.contains(s)) return;
    bool branch = statement.kind == StatementKind::branch && statement.pure;
    if (!branch && !harmless_with(unit_, g_, statement)) return;
    doomed_.dead.insert(s);
    work.push_back(s);
  }

  // The statements that give a name its values, where each does nothing else, or gives others
  // theirs side by side; none where anything else may give it one, or may read it unseen.
  std::vector<Home> assignments(uint32_t name) {
    if (definitions_.empty()) {
      definitions_.resize(g_.names.size());
      for (DefinitionId d = 0; d < g_.definitions.size(); ++d) {
        definitions_[g_.definitions[d].name].push_back(d);
      }
      sinks_.assign(g_.values.size(), false);
      for (ValueId id : g_.sinks) {
        if (id != kNone) sinks_[id] = true;
      }
    }
    std::vector<Home> out;
    for (DefinitionId id : definitions_[name]) {
      const Definition& d = g_.definitions[id];
      const Value& value = g_[d.value];
      bool carried = value.kind == Kind::opaque &&
                     (value.text.starts_with(kInLoop) || value.text.starts_with(kAfterLoop));
      if (sinks_[d.value]) return {};
      if (d.join || carried) continue;
      if (d.statement == kNone || doomed_.rewritten.contains(d.statement)) return {};
      const Statement& s = g_.statements[d.statement];
      if (s.kind != StatementKind::assign || !s.pure) return {};
      Home home{d.statement, 0, {}};
      if (s.definitions.size() != 1 && !find_part(g_.names[name], home)) return {};
      if (!doomed_.dead.contains(d.statement)) out.push_back(home);
    }
    return out;
  }

  // Which part of `a, b = x, y` gives a name its value.
  bool find_part(std::string_view name, Home& home) const {
    const auto pairs = pairs_of(unit_, g_.statements[home.statement]);
    if (!pairs || pairs->names.size() != g_.statements[home.statement].definitions.size()) {
      return false;
    }
    size_t found = 0;
    for (size_t i = 0; i < pairs->names.size(); ++i) {
      if (text_of(unit_.text(), pairs->names[i]) != name) continue;
      ++found;
      home.part = i;
      home.value = range_of(pairs->values[i]);
    }
    return found == 1;
  }

  // The words of what the edits put into the function.
  const Words& written() {
    if (written_) return *written_;
    Words& out = written_.emplace();
    const auto& all = edits_.edits();
    auto e = all.lower_bound(Edit{{function_.range.begin, function_.range.begin}, ""});
    for (; e != all.end() && e->range.begin <= function_.range.end; ++e) {
      if (function_.range.contains(e->range)) add_words(e->replacement, WordsOf::all, out);
    }
    return out;
  }

  const PythonUnit& unit_;
  const Function& function_;
  const Graph& g_;
  const EditSet& edits_;
  Doomed& doomed_;
  std::vector<NameRead> reads_;
  std::vector<bool> gone_;
  std::map<std::string_view, Count> counts_;
  std::map<StatementId, size_t> lost_children_;
  std::vector<std::vector<DefinitionId>> definitions_;  // by name
  std::vector<bool> sinks_;                             // by value
  std::optional<Words> written_;
};

class Remover {
 public:
  Remover(const PythonUnit& unit, uint32_t function, const Doomed& doomed, const EditSet& others)
      : unit_(unit),
        g_(unit.functions[function].graph),
        doomed_(doomed),
        others_(others),
        text_(unit.text()) {
    for (StatementId s = 0; s < g_.statements.size(); ++s) {
      const Statement& statement = g_.statements[s];
      if (statement.range.size() != 0) blocks_[{statement.parent, statement.block}].push_back(s);
    }
  }

  Expected<EditSet> run() {
    std::vector<ByteRange> removed;
    for (StatementId s : doomed_.dead) {
      const Statement& statement = g_.statements[s];
      if (statement.parent != kNone && doomed_.dead.contains(statement.parent)) continue;
      if (doomed_.rewritten.contains(s)) continue;
      const auto& block = blocks_[{statement.parent, statement.block}];
      bool empty = statement.parent != kNone && std::ranges::all_of(block, [&](StatementId other) {
                     return doomed_.dead.contains(other) && !doomed_.rewritten.contains(other);
                   });
      if (!empty) {
        removed.push_back(statement.range);
      } else if (s == block.front()) {
        auto done = empty_block(statement, block, removed);
        if (!done) return tl::unexpected(done.error());
      }
    }
    for (const auto& [statement, parts] : doomed_.parts) {
      if (goes(statement)) continue;
      auto done = remove_parts(g_.statements[statement], parts);
      if (!done) return tl::unexpected(done.error());
    }
    std::ranges::sort(removed,
                      [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
    // Neighbours go as one, so that the blank lines between them go too.
    for (size_t i = 0; i < removed.size();) {
      ByteRange run = removed[i];
      size_t j = i + 1;
      while (j < removed.size() && removed[j].begin >= run.end &&
             neighbours(text_.substr(run.end, removed[j].begin - run.end))) {
        run.end = removed[j++].end;
      }
      auto done = edits_.add(remove_line(unit_, run, {}));
      if (!done) return tl::unexpected(done.error());
      i = j;
    }
    return std::move(edits_);
  }

 private:
  static bool neighbours(std::string_view between) {
    return between.find_first_not_of(" \t\f\r\n\\;") == std::string_view::npos;
  }

  // Whether a statement goes, by itself or with one around it.
  bool goes(StatementId statement) const {
    for (; statement != kNone; statement = g_.statements[statement].parent) {
      if (doomed_.dead.contains(statement)) return true;
    }
    return false;
  }

  Expected<void> remove_parts(const Statement& statement, const std::set<size_t>& parts) {
    const auto pairs = pairs_of(unit_, statement);
    if (!pairs) return {};
    for (const NodeList* side : {&pairs->names, &pairs->values}) {
      std::string left;
      for (size_t i = 0; i < side->size(); ++i) {
        if (parts.contains(i)) continue;
        if (!left.empty()) left += ", ";
        left += text_of(text_, (*side)[i]);
      }
      // What is alone needs neither brackets nor the comma of a tuple.
      const bool alone = parts.size() + 1 == side->size();
      const ByteRange whole =
          alone ? range_of(ts_node_parent(side->front()))
                : ByteRange{range_of(side->front()).begin, range_of(side->back()).end};
      auto done = edits_.add({whole, left});
      if (!done) return done;
    }
    return {};
  }

  // A block that nothing is left of: its clause goes where the language allows it.
  Expected<void> empty_block(const Statement& first, const std::vector<StatementId>& block,
                             std::vector<ByteRange>& removed) {
    const Statement& parent = g_.statements[first.parent];
    TSNode node = node_of(unit_, parent);
    if (parent.kind == StatementKind::branch && parent.range.begin == range_of(node).begin) {
      auto alternatives = fields_of(node, "alternative");
      if (first.block == 1 && block.size() == 1 &&
          text_.substr(first.range.begin).starts_with("elif")) {
        removed.push_back(first.range);
        return {};
      }
      if (alternatives.size() == 1 && is(alternatives[0], "else_clause")) {
        if (first.block == 1) {
          removed.push_back(range_of(alternatives[0]));
          return {};
        }
        if (auto edit = negated(node, alternatives[0])) return add(*edit);
      }
    }
    ByteRange all = first.range;
    for (StatementId s : block) all.end = std::max(all.end, g_.statements[s].range.end);
    std::string kept;
    for (const std::string& comment : comments_in(unit_.tree, unit_.text(), all)) {
      kept += comment + std::string(unit_.source().newline()) +
              std::string(indentation(text_, all.begin));
    }
    return edits_.add({all, kept + "pass"});
  }

  Expected<void> add(const std::vector<Edit>& edits) {
    for (const Edit& e : edits) {
      auto done = edits_.add(e);
      if (!done) return done;
    }
    return {};
  }

  // `if c: <nothing> else: B` is `if not c: B`.
  std::optional<std::vector<Edit>> negated(TSNode node, TSNode alternative) {
    TSNode condition = field(node, "condition"), body = field(node, "consequence"),
           other = field(alternative, "body");
    if (!present(condition) || !present(body) || !present(other)) return std::nullopt;
    ByteRange test = range_of(condition);
    if (!others_.inside(test).empty()) return std::nullopt;
    uint32_t from = ts_node_start_byte(body), to = ts_node_start_byte(other);
    if (!begins_line(text_, from) || !begins_line(text_, to)) return std::nullopt;
    std::string kept;
    for (const std::string& comment : comments_in(unit_.tree, unit_.text(), {from, to})) {
      kept +=
          comment + std::string(unit_.source().newline()) + std::string(indentation(text_, from));
    }
    return std::vector<Edit>{{test, negation(condition)}, {{from, to}, kept}};
  }

  std::string negation(TSNode condition) const {
    std::string text(text_of(text_, condition));
    const NodeKind type = type_of(condition);
    if (type == "not_operator") {
      return std::string(text_of(text_, field(condition, "argument")));
    }
    if (type == "comparison_operator") {
      static const std::map<std::string_view, std::string_view> kOpposite = {
          {"is", "is not"}, {"is not", "is"}, {"==", "!="},
          {"!=", "=="},     {"in", "not in"}, {"not in", "in"}};
      auto parts = children_of(condition);
      auto operators = fields_of(condition, "operators");
      if (parts.size() == 2 && !operators.empty()) {
        ByteRange middle{ts_node_start_byte(operators.front()), ts_node_end_byte(operators.back())};
        auto opposite = kOpposite.find(unit_.source().slice(middle));
        if (opposite != kOpposite.end()) {
          return std::string(text_of(text_, parts[0])) + " " + std::string(opposite->second) + " " +
                 std::string(text_of(text_, parts[1]));
        }
      }
    }
    bool tight = type == "identifier" || type == "attribute" || type == "call" ||
                 type == "subscript" || type == "parenthesized_expression";
    return tight ? "not " + text : "not (" + text + ")";
  }

  const PythonUnit& unit_;
  const Graph& g_;
  const Doomed& doomed_;
  const EditSet& others_;
  std::string_view text_;
  std::map<std::pair<StatementId, uint32_t>, std::vector<StatementId>> blocks_;
  EditSet edits_;
};

}  // namespace

void add_orphans(const PythonUnit& unit, uint32_t function, const EditSet& edits, Doomed& doomed) {
  Orphans(unit, function, edits, doomed).run();
}

Expected<EditSet> remove_statements(const PythonUnit& unit, uint32_t function, const Doomed& doomed,
                                    const EditSet& others) {
  return Remover(unit, function, doomed, others).run();
}

Edit remove_line(const PythonUnit& unit, ByteRange statement, const EditSet& insertions) {
  std::string_view text = unit.text();
  ByteRange first = line_of(text, statement.begin);
  ByteRange last = line_of(text, statement.end);
  std::string_view head = text.substr(first.begin, statement.begin - first.begin);
  std::string_view tail = text.substr(statement.end, last.end - statement.end);
  size_t hash = tail.find('#');
  std::string_view code = hash == std::string_view::npos ? tail : tail.substr(0, hash);
  bool ends = code.find_first_not_of(" \t\f\r\n\\;") == std::string_view::npos;
  if (!blank(head) || !ends) {
    // Shares its line: `a = 1; b = 2`.
    uint32_t begin = statement.begin, end = statement.end;
    while (end < last.end && (text[end] == ' ' || text[end] == ';')) ++end;
    if (ends) {
      end = statement.end;
      while (begin > first.begin && (text[begin - 1] == ' ' || text[begin - 1] == ';')) --begin;
    }
    return {{begin, end}, ""};
  }
  std::string kept;
  for (const std::string& comment : comments_in(unit.tree, unit.text(), {first.begin, last.end})) {
    if (pragma(comment)) continue;
    kept += std::string(head) + comment + std::string(unit.source().newline());
  }
  ByteRange range{first.begin, last.end};
  bool replaced = std::ranges::any_of(insertions.edits(), [&](const Edit& insertion) {
    return range.begin <= insertion.range.begin && insertion.range.begin <= range.end;
  });
  if (!kept.empty() || replaced) return {range, kept};
  // Blank lines below that would meet those above, or stand at the start of a block or of the file,
  // or between a comment and what it is about.
  auto line_text = [&](ByteRange line) { return text.substr(line.begin, line.size()); };
  size_t above = 0;
  uint32_t at = range.begin;
  for (; at > 0; ++above) {
    ByteRange line = line_of(text, at - 1);
    if (!blank(line_text(line))) break;
    at = line.begin;
  }
  std::string_view before = at == 0 ? "" : line_text(line_of(text, at - 1));
  while (!before.empty() && blank(before.substr(before.size() - 1))) before.remove_suffix(1);
  size_t word = before.find_first_not_of(" \t");
  bool opens = range.begin == 0 || (above == 0 && before.ends_with(':'));
  bool comment = above == 0 && word != std::string_view::npos && before[word] == '#';
  std::vector<ByteRange> below;
  for (uint32_t next = range.end; next < text.size();) {
    ByteRange line = line_of(text, next);
    if (!blank(line_text(line))) {
      if (comment && indentation(text, next).size() < head.size()) comment = false;
      break;
    }
    below.push_back(line);
    next = line.end;
  }
  size_t drop = opens || comment ? below.size() : std::min(above, below.size());
  if (drop > 0) range.end = below[drop - 1].end;
  return {range, kept};
}

}  // namespace refit::python
