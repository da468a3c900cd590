// PythonFrontend: loading, patterns, rewrite templates, and putting a unit's edits together.
#include "rewriter/python/frontend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "rewriter/python/edit/removal.hpp"
#include "rewriter/python/syntax/beyond_grammar.hpp"
#include "rewriter/python/syntax/lines.hpp"

#include "rewriter/python/lower/choose.hpp"

namespace refit::python {

using graph::kNone;

PythonFrontend::PythonFrontend(const std::string& root, const std::vector<Project::File>& files,
                               const std::vector<std::string>& module_roots,
                               const Catalogue& catalogue, const Isomorphisms* isomorphisms)
    : project_(root, files, module_roots),
      catalogue_(catalogue),
      isomorphisms_(isomorphisms),
      others_(project_, catalogue),
      functions_(project_, catalogue, isomorphisms) {}

namespace {

void find_errors(TSNode root, std::vector<ByteRange>& out) {
  if (!ts_node_has_error(root)) return;
  std::vector<TSNode> work{root};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    if (ts_node_is_missing(node) || is(node, "ERROR")) {
      out.push_back(range_of(node));
      continue;
    }
    for (TSNode child : all_children_of(node)) {
      if (ts_node_has_error(child)) work.push_back(child);
    }
  }
  std::sort(out.begin(), out.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
}

std::string with_holes(std::string_view code) {
  std::string out;
  for (char c : code) {
    if (c == '$') {
      out += kHolePrefix;
    } else {
      out += c;
    }
  }
  return out;
}

// What a pattern may name: an import binds a name.
constexpr std::pair<std::string_view, std::string_view> kPatternImports[] = {
    {"torch", "import torch\n"},
    {"math", "import math\n"},
    {"einops", "import einops\n"},
    {"mindiesd", "import mindiesd\n"},
    {"operator", "import operator\n"},
    {"refit", "import refit\n"},
    {"F", "import torch.nn.functional as F\n"},
    {"nn", "from torch import nn\n"}};

}  // namespace

namespace {

// What the grammar takes of a new text and Python, or Python before 3.12, does not, where it took
// the text before. Only what was changed is looked at, where that is known.
std::optional<std::string> refused_by_python(const Focus& focus, TSNode root,
                                             std::string_view after) {
  constexpr std::pair<size_t (*)(TSNode, std::string_view), std::string_view> kRefused[] = {
      {misplaced_argument, "an argument that Python refuses"},
      {quote_in_field, "a quote that before Python 3.12 ends a string around it"}};
  NodeList places;
  if (focus.changed.empty()) places.push_back(root);
  for (ByteRange changed : focus.changed) {
    for (TSNode statement : children_in(root, {changed.begin, changed.end + 1})) {
      if (places.empty() || places.back() != statement) places.push_back(statement);
    }
  }
  const std::string_view old = focus.before->source().text();
  for (const auto& [first, what] : kRefused) {
    for (TSNode place : places) {
      const size_t at = first(place, after);
      if (at == std::string_view::npos) continue;
      if (first(Tree(old).root(), old) != std::string_view::npos) break;
      return fmt::format("the new text has {}, at `{}`", what, after.substr(at, 60));
    }
  }
  return std::nullopt;
}

// What is wrong with the indentation of a new text, where that of the text before was right.
std::optional<std::string> badly_indented(const Unit& before, std::string_view after) {
  size_t at = unexpected_indentation(after);
  if (at == std::string_view::npos) return std::nullopt;
  if (unexpected_indentation(before.source().text()) != std::string_view::npos) return std::nullopt;
  return fmt::format("the new text is indented as no block is, or has an empty one, at `{}`",
                     after.substr(at, 60));
}

// The same for a text of which only some parts were written: each can make something wrong between
// the definition at the margin that begins before it and the line at the margin behind it.
std::optional<std::string> badly_indented(const Focus& focus, std::string_view after,
                                          TSNode module) {
  std::vector<uint32_t> margins{0};  // where those definitions begin
  for (TSNode statement : children_of(module)) {
    const uint32_t begin = ts_node_start_byte(statement);
    const bool definition = is(statement, "function_definition") ||
                            is(statement, "class_definition") ||
                            is(statement, "decorated_definition");
    if (definition && begin > 0 && after[begin - 1] == '\n') margins.push_back(begin);
  }
  auto next = margins.begin();  // the first behind the beginning of a change
  for (auto changed = focus.changed.begin(); changed != focus.changed.end();) {
    next = std::lower_bound(next, margins.end(), std::max(changed->begin, 1u));
    const uint32_t from = *std::prev(next);
    uint32_t until = changed->end;
    for (++changed; changed != focus.changed.end(); ++changed) {
      if (next != margins.end() && changed->begin > *next) break;
      until = changed->end;
    }
    if (unexpected_indentation(after, from, until) != std::string_view::npos) {
      return badly_indented(*focus.before, after);
    }
  }
  return std::nullopt;
}

// The tree of a text that edits made of a unit's.
Tree edited_tree(const Focus& focus, std::string_view after) {
  const auto& before = static_cast<const PythonUnit&>(*focus.before);
  return Tree(after, before.tree, before.text(), *focus.edits);
}

}  // namespace

Expected<std::unique_ptr<Unit>> PythonFrontend::load(Source source, std::string_view relative,
                                                     const Focus* focus) {
  bool package = false;
  std::string module = project_.module_of(relative, &package);
  const bool edited = focus != nullptr && focus->before != nullptr;
  Tree parsed =
      edited && focus->edits != nullptr ? edited_tree(*focus, source.text()) : Tree(source.text());
  if (edited) {
    auto wrong = focus->changed.empty() ? badly_indented(*focus->before, source.text())
                                        : badly_indented(*focus, source.text(), parsed.root());
    if (!wrong) wrong = refused_by_python(*focus, parsed.root(), source.text());
    if (wrong) return failure(std::move(*wrong));
  }
  Choice choice;
  if (focus != nullptr) choice = choose(parsed.root(), source.text(), *focus);
  if (choice.nothing) return nullptr;
  auto unit =
      std::make_unique<PythonUnit>(std::move(source), std::string(relative), std::move(parsed));
  unit->module = std::move(module);
  unit->left_out = std::move(choice.left_out);
  unit->reexports = package;
  find_errors(unit->tree.root(), unit->syntax_errors);
  unit->names = index_module(unit->tree.root(), unit->text(), unit->module, package);
  const LoweringContext context{project_, catalogue_, isomorphisms_, false, &others_, &functions_};
  find_own_libraries(unit->names.names, unit->module, context);
  add_globals(unit->tree.root(), unit->text(), unit->names);
  if (edited || project_.may_bind_by_text(relative)) add_bound_by_text(unit->text(), unit->names);
  lower_unit(*unit, context);
  return unit;
}

bool PythonFrontend::result_viewed(const Unit& unit, const Function& function) const {
  const auto& own = static_cast<const PythonUnit&>(unit);
  if (!own.result_reads) own.result_reads.emplace(own.text());
  const std::string_view qualified = function.qualified;
  const std::string_view name = qualified.substr(qualified.rfind('.') + 1);
  // A module is called by itself, and `forward` is every module's.
  return name != "forward" && own.result_reads->viewed(name);
}

Expected<graph::Graph> PythonFrontend::pattern(std::string_view code) {
  std::string text;
  for (const auto& [name, statement] : kPatternImports) {
    if (code.find(name) != std::string_view::npos) text += statement;
  }
  text += "def refit_pattern():\n";
  std::string body = with_holes(code);
  size_t at = 0;
  while (at < body.size()) {
    size_t end = body.find('\n', at);
    if (end == std::string::npos) end = body.size();
    text += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  auto source = Source::decode("<pattern>", text);
  if (!source) return tl::unexpected(source.error());
  PythonUnit unit(std::move(*source), "<pattern>");
  unit.module = "refit_pattern";
  std::vector<ByteRange> errors;
  find_errors(unit.tree.root(), errors);
  if (!errors.empty()) {
    return failure(fmt::format("the pattern does not parse as Python near `{}`",
                               unit.text().substr(errors.front().begin, 40)));
  }
  unit.names = index_module(unit.tree.root(), unit.text(), unit.module, false);
  lower_unit(unit, {project_, catalogue_, isomorphisms_, true});
  if (!unit.too_deep.empty()) {
    return failure("the pattern is nested too deeply: more than 200 levels are not followed");
  }
  if (unit.functions.size() < 2 || unit.functions[1].graph.results.size() != 1) {
    return failure("a pattern ends in exactly one `return`");
  }
  return std::move(unit.functions[1].graph);
}

Expected<Template> PythonFrontend::rewrite_template(std::string_view code) {
  std::string text = with_holes(code);
  Tree tree(text);
  std::vector<ByteRange> errors;
  find_errors(tree.root(), errors);
  auto statements = children_of(tree.root());
  if (!errors.empty() || statements.size() != 1) {
    return failure(fmt::format("the rewrite `{}` does not parse as one Python call", code));
  }
  auto inner = children_of(statements[0]);
  if (inner.size() != 1 || !is(inner[0], "call")) {
    return failure(fmt::format("the rewrite `{}` must be a call", code));
  }
  Template out;
  auto restore = [](std::string_view piece) {
    std::string s(piece);
    for (size_t at = s.find(kHolePrefix); at != std::string::npos; at = s.find(kHolePrefix, at)) {
      s.replace(at, kHolePrefix.size(), "$");
    }
    return s;
  };
  out.callee = restore(text_of(text, field(inner[0], "function")));
  for (TSNode a : children_of(field(inner[0], "arguments"))) {
    if (is(a, "keyword_argument")) {
      out.arguments.emplace_back(restore(text_of(text, field(a, "name"))),
                                 restore(text_of(text, field(a, "value"))));
    } else {
      out.arguments.emplace_back("", restore(text_of(text, a)));
    }
  }
  return out;
}

bool PythonFrontend::subclassed(const Unit& unit, const std::string& qualified) const {
  return project_.subclassed(unit.module, qualified.substr(qualified.rfind('.') + 1));
}

bool PythonFrontend::compared(const Unit&, const std::string& class_name) const {
  return project_.compared(class_name);
}

AttributeFacts PythonFrontend::attribute(const Unit& base, uint32_t function,
                                         graph::ValueId value) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  AttributeFacts out;
  const graph::Graph& g = unit.functions[function].graph;
  const graph::Value& v = g[value];
  // A function inside a method reads its `self`.
  auto method = unit.methods.find(function);
  if (method == unit.methods.end()) method = unit.method_around(function);
  if (v.kind != graph::Kind::attribute) return out;
  const graph::Value& object = g[v.operands[0]];
  bool self = object.text == "self" &&
              (object.kind == graph::Kind::parameter || object.kind == graph::Kind::unknown);
  auto annotated = unit.annotated.find({function, v.operands[0]});
  if (self ? method == unit.methods.end() : annotated == unit.annotated.end()) return out;
  const std::string& owner = self ? method->second : annotated->second;
  if (!self && object.literal.kind == Literal::Kind::symbol &&
      !object.literal.text.starts_with(unit.module + ".")) {
    out.over_last_axis = others_.over_last_axis(object.literal.text, v.text);
    return out;
  }
  out.elsewhere = project_.subclass_writes(unit.module, owner.substr(owner.rfind('.') + 1), v.text);
  if (out.elsewhere) return out;
  out.text = unit.classes->text(owner, v.text);
  if (project_.stored_outside(v.text)) return out;
  out.number = unit.classes->number(owner, v.text);
  out.over_last_axis =
      unit.classes->over_last_axis(owner, v.text) &&
      std::ranges::none_of(unit.classes->instances(owner, v.text), [&](const Operation* op) {
        return project_.replaced(op->id.substr(op->id.rfind('.') + 1));
      });
  return out;
}

namespace {

// The edits of all changes of one unit, put together from the innermost outwards.
class Assembly {
 public:
  Assembly(const PythonUnit& unit, const Catalogue& catalogue, const std::vector<Change>& changes,
           Frontend::Realised& out)
      : unit_(unit), catalogue_(catalogue), changes_(changes), out_(out) {
    out_.accepted.assign(changes.size(), true);
    out_.refused.resize(changes.size());
    out_.codes.resize(changes.size());
    out_.after.resize(changes.size());
  }

  std::set<std::string> run() {
    Order order;
    for (size_t c = 0; c < changes_.size(); ++c) order.emplace_back(site(c).size(), c);
    std::sort(order.begin(), order.end());
    std::vector<Spelling> spellings(changes_.size());
    for (size_t c = 0; c < changes_.size(); ++c) {
      auto spelling = spell_symbol(unit_, changes_[c].function, changes_[c].callee);
      if (spelling) {
        spellings[c] = *spelling;
      } else {
        refuse(c, "name-taken", spelling.error().message);
      }
    }
    assemble(order, spellings);
    std::set<std::string> modules;
    for (size_t c = 0; c < changes_.size(); ++c) {
      if (out_.accepted[c] && !spellings[c].import.empty()) modules.insert(spellings[c].import);
      if (!out_.accepted[c]) out_.after[c].clear();
    }
    return modules;
  }

 private:
  using Order = std::vector<std::pair<uint32_t, size_t>>;

  ByteRange site(size_t c) const {
    const graph::Graph& g = unit_.functions[changes_[c].function].graph;
    return g.place(changes_[c].root);
  }

  bool refuse(size_t c, std::string code, std::string why) {
    out_.accepted[c] = false;
    out_.codes[c] = std::move(code);
    out_.refused[c] = Error{std::move(why)};
    return false;
  }

  // Of changes that are right only together, and so in one function, one whose partner is not made.
  bool withdraw_partner(const Order& order) {
    for (const auto& [size, c] : order) {
      if (!out_.accepted[c]) continue;
      for (graph::ValueId root : changes_[c].together) {
        auto partner = std::find_if(changes_.begin(), changes_.end(), [&](const Change& other) {
          return other.function == changes_[c].function && other.root == root;
        });
        const auto p = static_cast<size_t>(partner - changes_.begin());
        if (partner != changes_.end() && out_.accepted[p]) continue;
        const graph::Graph& g = unit_.functions[changes_[c].function].graph;
        refuse(
            c, partner == changes_.end() ? "overlap" : out_.codes[p],
            fmt::format("it shares what would go with the site at line {}, which stays: {}",
                        unit_.source().position(g[root].range.begin).line,
                        partner == changes_.end() ? "it is not planned" : out_.refused[p].message));
        return true;
      }
    }
    return false;
  }

  // The larger of two changes that cannot both be made is the one that is.
  bool yields(size_t smaller, size_t larger) {
    return refuse(
        smaller, "overlap",
        fmt::format("it goes with the text that {} takes away at line {}", changes_[larger].rule,
                    unit_.source().position(site(larger).begin).line));
  }

  // Changes of different functions have no text in common, so each outermost function's are put
  // together by themselves; should they have some all the same, all together.
  void assemble(const Order& order, const std::vector<Spelling>& spellings) {
    std::map<uint32_t, Order> groups;
    for (const auto& entry : order)
      groups[outermost(changes_[entry.second].function)].push_back(entry);
    const std::vector<bool> before = out_.accepted;
    EditSet all;
    bool apart = true;
    for (const auto& [function, group] : groups) {
      put_together(group, spellings);
      apart = apart && all.add_all(out_.edits).has_value();
    }
    if (apart) {
      out_.edits = std::move(all);
      return;
    }
    out_.accepted = before;
    put_together(order, spellings);
  }

  // Whatever is refused takes its edits with it, so the rest is put together again.
  void put_together(const Order& order, const std::vector<Spelling>& spellings) {
    do {
      while (withdraw_partner(order)) {
      }
    } while (!attempt(order, spellings));
  }

  uint32_t outermost(uint32_t function) const {
    for (uint32_t up = function; up != kNone && up != 0; up = unit_.functions[up].parent) {
      function = up;
    }
    return function;
  }

  using Key = std::pair<uint32_t, uint32_t>;
  static Key key(const Edit& e) { return {e.range.begin, e.range.end}; }

  bool attempt(const Order& order, const std::vector<Spelling>& spellings) {
    EditSet all;
    std::map<Key, size_t> owners;
    std::map<uint32_t, Doomed> doomed;
    std::map<Key, size_t> doomed_by;
    for (const auto& [size, c] : order) {
      if (!out_.accepted[c]) continue;
      auto made = change_edits(unit_, changes_[c], catalogue_, spellings[c].text, all);
      if (!made) return refuse(c, "not-editable", made.error().message);
      for (const Edit& e : all.inside(made->replaced)) {
        bool carried = std::any_of(made->copied.begin(), made->copied.end(),
                                   [&](ByteRange r) { return r.contains(e.range); });
        if (!carried) return yields(owners.at(key(e)), c);
      }
      if (made->replaced.size() != 0) all.erase_inside(made->replaced);
      for (const Edit& e : made->edits.edits()) {
        if (all.add(e)) {
          owners.emplace(key(e), c);
          continue;
        }
        for (const Edit& other : all.edits()) {
          if (other.range.overlaps(e.range) || other.range.begin == e.range.begin) {
            return yields(owners.at(key(other)), c);
          }
        }
        return refuse(c, "overlap", "its edit would change text that another rewrite changes");
      }
      out_.after[c] = made->after;
      const graph::Graph& g = unit_.functions[changes_[c].function].graph;
      Doomed& here = doomed[changes_[c].function];
      here.rewritten.insert(made->rewritten.begin(), made->rewritten.end());
      for (graph::StatementId s : made->dead) {
        here.dead.insert(s);
        doomed_by.emplace(Key{g.statements[s].range.begin, g.statements[s].range.end}, c);
      }
    }
    for (const auto& [range, by] : doomed_by) {
      ByteRange statement{range.first, range.second};
      for (const Edit& e : all.inside(statement)) {
        size_t owner = owners.at(key(e));
        if (owner != by) return yields(owner, by);
      }
    }
    EditSet removals;
    for (auto& [function, those] : doomed) {
      add_orphans(unit_, function, all, those);
      auto removed = remove_statements(unit_, function, those, all);
      bool fits = removed.has_value() && removals.add_all(*removed).has_value();
      if (fits) continue;
      for (size_t c = changes_.size(); c-- > 0;) {
        if (out_.accepted[c] && changes_[c].function == function && !changes_[c].dead.empty()) {
          return refuse(c, "overlap", "the statements that go with it cannot be taken out");
        }
      }
    }
    auto added = all.add_all(removals);
    if (!added) {
      for (const Edit& e : removals.edits()) {
        for (const Edit& other : all.edits()) {
          auto owner = owners.find(key(other));
          if (other.range.overlaps(e.range) && owner != owners.end()) {
            return refuse(owner->second, "overlap",
                          "its edit would change text that another rewrite takes away");
          }
        }
      }
    }
    out_.edits = std::move(all);
    return true;
  }

  const PythonUnit& unit_;
  const Catalogue& catalogue_;
  const std::vector<Change>& changes_;
  Frontend::Realised& out_;
};

}  // namespace

bool PythonFrontend::editable(const Unit& base, const Change& change) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  return change_edits(unit, change, catalogue_, change.callee, EditSet{}).has_value();
}

Expected<Frontend::Realised> PythonFrontend::realise(const Unit& base,
                                                     const std::vector<Change>& changes) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  Realised out;
  std::set<std::string> modules = Assembly(unit, catalogue_, changes, out).run();
  EditSet imports;
  add_imports(unit, catalogue_, modules, out.edits, imports);
  EditSet removals;
  remove_imports(unit, project_, out.edits, imports, removals, out.notes);
  auto added = out.edits.add_all(removals);
  if (!added) return tl::unexpected(added.error());
  added = out.edits.add_all(imports);
  if (!added) return tl::unexpected(added.error());
  return out;
}

std::optional<std::string> PythonFrontend::verify(const Unit& before,
                                                  std::string_view after) const {
  Tree tree(after);
  std::vector<ByteRange> errors;
  find_errors(tree.root(), errors);
  if (errors.size() > before.syntax_errors.size()) {
    size_t at = errors.front().begin;
    size_t from = at > 30 ? at - 30 : 0;
    return fmt::format("the new text does not parse near `{}`", after.substr(from, 60));
  }
  Focus whole;
  whole.before = &before;
  if (auto refused = refused_by_python(whole, tree.root(), after)) return refused;
  return badly_indented(before, after);
}

}  // namespace refit::python
