// PythonFrontend: loading, patterns, rewrite templates, and putting a unit's edits together.
#include "rewriter/frontend/python/frontend.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refit::python {

using graph::kNone;

PythonFrontend::PythonFrontend(const std::string& root, const std::vector<Project::File>& files,
                               const std::vector<std::string>& module_roots,
                               const Catalogue& catalogue, const Isomorphisms* isomorphisms)
    : project_(root, files, module_roots), catalogue_(catalogue), isomorphisms_(isomorphisms) {}

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

// A function that says `global NAME` may bind the module's name again.
void add_globals(PythonUnit& unit) {
  if (unit.text().find("global ") == std::string_view::npos) return;
  std::vector<TSNode> work{unit.tree.root()};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    if (is(node, "global_statement")) {
      for (TSNode name : children_of(node)) {
        unit.names.names.bindings[std::string(text_of(unit.text(), name))].push_back(
            {Binding::Kind::other, "", range_of(node), true});
      }
      continue;
    }
    for (TSNode child : children_of(node)) work.push_back(child);
  }
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

constexpr std::string_view kPatternImports =
    "import torch\nimport math\nimport einops\nimport mindiesd\nimport operator\nimport refit\n"
    "import torch.nn.functional as F\nfrom torch import nn\n";

}  // namespace

Expected<std::unique_ptr<Unit>> PythonFrontend::load(Source source, std::string_view relative) {
  auto unit = std::make_unique<PythonUnit>(std::move(source), std::string(relative));
  bool package = false;
  unit->module = project_.module_of(relative, &package);
  unit->reexports = package;
  find_errors(unit->tree.root(), unit->syntax_errors);
  unit->names = index_module(unit->tree.root(), unit->text(), unit->module, package);
  add_globals(*unit);
  lower_unit(*unit, {project_, catalogue_, isomorphisms_, false});
  return unit;
}

Expected<graph::Graph> PythonFrontend::pattern(std::string_view code) {
  std::string text(kPatternImports);
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

Expected<Frontend::Realised> PythonFrontend::realise(const Unit& base,
                                                     const std::vector<Change>& changes) const {
  const auto& unit = static_cast<const PythonUnit&>(base);
  Realised out;
  std::set<std::string> modules;
  for (const Change& change : changes) {
    auto spelling = spell_symbol(unit, change.function, change.callee);
    std::string after;
    if (!spelling) {
      out.accepted.push_back(false);
      out.refused.push_back(spelling.error());
      out.codes.emplace_back("name-taken");
      out.after.emplace_back();
      continue;
    }
    auto edits = change_edits(unit, change, catalogue_, spelling->text, &after);
    bool ok = edits.has_value() && out.edits.add_all(*edits).has_value();
    out.refused.push_back(edits ? Error{"its edit would change text that another rewrite changes; "
                                        "run again after this one"}
                                : edits.error());
    out.codes.emplace_back(edits ? "overlap" : "not-editable");
    out.accepted.push_back(ok);
    out.after.push_back(ok ? after : "");
    if (ok && !spelling->import.empty()) modules.insert(spelling->import);
  }
  EditSet imports;
  add_imports(unit, modules, imports);
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
  return std::nullopt;
}

}  // namespace refit::python
