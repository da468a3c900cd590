// PythonFrontend: loading, patterns, rewrite templates, and what it asks of the folders below.
#include "rewriter/python/frontend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/lower/choose.hpp"
#include "rewriter/python/lower/parts.hpp"
#include "rewriter/python/syntax/beyond_grammar.hpp"
#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

// Whether a file is what `import PACKAGE` reaches from some folder of the project: the module or
// the package of that name, and no part of another package.
bool is_package(std::string_view relative, std::string_view package,
                const std::vector<Project::File>& files) {
  std::string_view path = relative;
  if (path.ends_with("/__init__.py")) path.remove_suffix(std::string_view("/__init__.py").size());
  if (path.ends_with(".py")) path.remove_suffix(3);
  if (!path.ends_with(package)) return false;
  path.remove_suffix(package.size());
  if (!path.empty() && !path.ends_with('/')) return false;
  const std::string around = std::string(path) + "__init__.py";
  return std::ranges::none_of(files, [&](const auto& file) { return file.relative == around; });
}

}  // namespace

PythonFrontend::PythonFrontend(const std::string& root, const std::vector<Project::File>& files,
                               const std::vector<std::string>& module_roots,
                               const Catalogue& catalogue, const Isomorphisms* isomorphisms)
    : project_(root, files, module_roots, catalogue),
      catalogue_(catalogue),
      isomorphisms_(isomorphisms),
      others_(project_, catalogue),
      functions_(project_, catalogue, isomorphisms) {
  for (const std::string& package : catalogue.offered()) {
    if (project_.has_module(package)) own_runtime_ = project_.file_of(package);
    for (const Project::File& file : files) {
      if (is_package(file.relative, package, files)) own_runtime_ = file.relative;
    }
  }
}

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
  std::ranges::sort(out, [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
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

// Imports of the other libraries of the catalogue that a pattern reads something of: `team.ops.f`.
std::string library_imports(std::string_view code, const Catalogue& catalogue) {
  const auto part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string imports;
  for (size_t begin = 0; begin < code.size();) {
    size_t end = begin;
    while (end < code.size() && part_of_name(code[end])) ++end;
    const std::string_view name = code.substr(begin, end - begin);
    const bool first = begin == 0 || (code[begin - 1] != '.' && code[begin - 1] != '$');
    const bool known = std::ranges::any_of(
        kPatternImports, [&](const auto& import) { return import.first == name; });
    if (!name.empty() && first && !known && code.substr(end).starts_with('.') &&
        catalogue.describes(name)) {
      imports += fmt::format("import {}\n", name);
    }
    begin = std::max(end, begin + 1);
  }
  return imports;
}

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
  if (before.stands_in) return Tree(after);
  return Tree(after, before.tree, before.text(), *focus.edits);
}

// Leaves out the functions in which something stands that was read past, or the file's own
// statements.
void leave_out_unread(const std::vector<uint32_t>& unread, PythonUnit& unit) {
  if (unread.empty()) return;
  unit.stands_in = true;
  const Parts parts = parts_of(unit.tree.root(), unit.text());
  for (const uint32_t at : unread) {
    LeftOut left{kOwnStatements, {}};
    for (const Part& part : parts.parts) {
      if (part.is_function() && part.range.contains({at, at + 1})) left.range = part.definition;
    }
    if (unit.is_left_out(left.range)) continue;
    unit.unread.push_back(at);
    const auto place = std::ranges::find_if(unit.left_out, [&](const LeftOut& one) {
      return std::pair(one.range.begin, one.range.end) >
             std::pair(left.range.begin, left.range.end);
    });
    unit.left_out.insert(place, std::move(left));
  }
}

}  // namespace

Expected<std::unique_ptr<Unit>> PythonFrontend::load(Source source, std::string_view relative,
                                                     const Focus* focus) {
  bool package = false;
  std::string module = project_.module_of(relative, &package);
  const bool edited = focus != nullptr && focus->before != nullptr;
  Tree parsed =
      edited && focus->edits != nullptr ? edited_tree(*focus, source.text()) : Tree(source.text());
  std::vector<uint32_t> unread;
  if (!parsed.empty() && ts_node_has_error(parsed.root())) {
    if (auto past = read_past_stars(source.text())) {
      parsed = std::move(past->tree);
      unread = std::move(past->stars);
    }
  }
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
  leave_out_unread(unread, *unit);
  unit->reexports = package;
  find_errors(unit->tree.root(), unit->syntax_errors);
  unit->names = index_module(unit->tree.root(), unit->text(), unit->module, package);
  if (!edited) project_.keep(relative, unit->names);
  const LoweringContext context{project_, catalogue_, isomorphisms_, false, &others_, &functions_};
  find_own_libraries(unit->names.names, unit->module, context);
  lower_unit(*unit, context);
  return unit;
}

Expected<Graph> PythonFrontend::pattern(std::string_view code) {
  std::string text;
  for (const auto& [name, statement] : kPatternImports) {
    if (code.find(name) != std::string_view::npos) text += statement;
  }
  text += library_imports(code, catalogue_) + "def refit_pattern():\n";
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
    return failure(
        fmt::format("the rewrite `{}` does not parse as one Python call", code.substr(0, 120)));
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
  // Methods of what the call gives.
  TSNode call = inner[0];
  for (TSNode of = field(call, "function"); is(of, "attribute") && is(field(of, "object"), "call");
       of = field(call, "function")) {
    call = field(of, "object");
  }
  out.behind =
      text.substr(ts_node_end_byte(call), ts_node_end_byte(inner[0]) - ts_node_end_byte(call));
  if (out.behind.find(kHolePrefix) != std::string::npos) {
    return failure(fmt::format("behind the call of the rewrite `{}` no hole may stand", code));
  }
  out.callee = restore(text_of(text, field(call, "function")));
  // Of what the catalogue has it is known that it only computes, and which import it needs.
  std::string unknown;
  walk_tree(inner[0], [&](TSNode node) {
    if (!is(node, "call")) return true;
    const std::string called(text_of(text, field(node, "function")));
    const bool number = called == "float" || called == "int";
    // A dotted name inside is one that the catalogue has, or a method.
    const bool inside =
        !ts_node_eq(node, call) && (number || called.find('.') != std::string::npos);
    if (!inside && catalogue_.find(called) == nullptr) unknown = called;
    return true;
  });
  if (!unknown.empty()) {
    return failure(fmt::format("the rewrite calls `{}`, which is no function of the catalogue",
                               restore(unknown)));
  }
  for (TSNode a : children_of(field(call, "arguments"))) {
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
  return project_.asked(class_name);
}

AttributeFacts PythonFrontend::attribute(const Unit& base, uint32_t function, ValueId value) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  AttributeFacts out;
  const Graph& g = unit.functions[function].graph;
  const Value& v = g[value];
  // A function inside a method reads its `self`.
  auto method = unit.methods.find(function);
  if (method == unit.methods.end()) method = unit.method_around(function);
  if (v.kind != Kind::attribute) return out;
  const Value& object = g[v.operands[0]];
  bool self =
      object.text == "self" && (object.kind == Kind::parameter || object.kind == Kind::unknown);
  auto annotated = unit.annotated.find({function, v.operands[0]});
  if (self ? method == unit.methods.end() : annotated == unit.annotated.end()) return out;
  const std::string& owner = self ? method->second : annotated->second;
  if (!self && object.literal.kind == Literal::Kind::symbol &&
      !object.literal.text.starts_with(unit.module + ".")) {
    out.stored_at = project_.stored_at(v.text);
    out.elsewhere = !out.stored_at.first.empty();
    out.over_last_axis = others_.over_last_axis(object.literal.text, v.text);
    return out;
  }
  out.elsewhere = project_.subclass_writes(unit.module, owner.substr(owner.rfind('.') + 1), v.text);
  if (out.elsewhere) return out;
  out.text = unit.classes->text(owner, v.text);
  out.stored_at = project_.stored_at(v.text);
  if (!out.stored_at.first.empty()) return out;
  out.number = unit.classes->number(owner, v.text);
  out.over_last_axis =
      unit.classes->over_last_axis(owner, v.text) &&
      std::ranges::none_of(unit.classes->instances(owner, v.text), [&](const Operation* op) {
        return project_.exchanged(last_name(op->id));
      });
  return out;
}

bool PythonFrontend::editable(const Unit& base, const Change& change) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  return change_edits(unit, change, catalogue_, change.callee, EditSet{}).has_value();
}

Expected<Frontend::Realised> PythonFrontend::realise(const Unit& base,
                                                     const std::vector<Change>& changes) const {
  if (!own_runtime_.empty()) {
    return Realised::none(changes.size(), "name-taken",
                          fmt::format("{} has the name of the runtime, so that importing the "
                                      "runtime would reach that file instead; rename it",
                                      own_runtime_));
  }
  const auto& unit = static_cast<const PythonUnit&>(base);
  return realise_changes(unit, project_, catalogue_, changes);
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

bool PythonFrontend::in_comment(const Unit& base, ByteRange range) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  return is(ts_node_descendant_for_byte_range(unit.tree.root(), range.begin, range.end), "comment");
}

std::string PythonFrontend::literal(const Literal& literal) const {
  return python_literal(literal);
}

std::optional<std::string> PythonFrontend::fill(const std::string& text,
                                                const SpellHole& spell) const {
  return fill_holes(text, spell);
}

std::optional<std::string> PythonFrontend::assignment(const std::string& name,
                                                      const std::string& value) const {
  return name + " = " + value;
}

std::optional<std::string> PythonFrontend::spell(const Unit& unit, uint32_t function, ValueId value,
                                                 ValueId root,
                                                 const std::set<StatementId>& dead) const {
  return spell_value(static_cast<const PythonUnit&>(unit), function, value, root, dead, {});
}

std::optional<std::string> PythonFrontend::spell_under(const Unit& unit, uint32_t function,
                                                       ValueId value, ValueId root,
                                                       const std::set<StatementId>& dead,
                                                       const Branch& branch) const {
  return spell_value(static_cast<const PythonUnit&>(unit), function, value, root, dead, branch);
}

std::optional<ByteRange> PythonFrontend::copied_from(const Unit& unit, uint32_t function,
                                                     ValueId value, ValueId root) const {
  const Graph& g = unit.functions[function].graph;
  if (value == kNone || g[value].range.size() == 0) return std::nullopt;
  ByteRange whole = g[root].range, part = g[value].range;
  bool inside = whole.contains(part) && part.size() < whole.size();
  return inside ? std::optional<ByteRange>(part) : std::nullopt;
}

}  // namespace refit::python
