// How a value or a qualified name is written at a place: names in scope once dead statements are
// gone, attribute chains, text that may be evaluated again. Entry points: spell_value,
// spell_symbol, effective.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/bounds.hpp"
#include "rewriter/text/words.hpp"

namespace refit::python {

std::string python_literal(const Literal& literal) {
  switch (literal.kind) {
    case Literal::Kind::none:
      return "None";
    case Literal::Kind::boolean:
      return literal.boolean ? "True" : "False";
    default:
      return to_string(literal);
  }
}

namespace {

constexpr int kSpellingBound = 16;  // views and attributes inside one another

bool digit(char c) { return isdigit(static_cast<unsigned char>(c)) != 0; }

class Speller {
 public:
  Speller(const PythonUnit& unit, const Function& function, ValueId root,
          const std::set<StatementId>& dead, const Branch& branch)
      : unit_(unit), g_(function.graph), dead_(dead), branch_(branch) {
    const Value& r = g_[root];
    root_range_ = r.range;
    if (r.statement != kNone) time_ = g_.statements[r.statement].time;
  }

  std::optional<std::string> spell(ValueId id, int depth = 0) {
    if (id == kNone) return std::nullopt;
    if (depth > kSpellingBound) {
      reached(Bound::spelling, g_[id].range.begin);
      return std::nullopt;
    }
    const Value& v = g_[id];
    if (v.range.size() != 0 && root_range_.size() != 0 && root_range_.contains(v.range) &&
        v.range.size() < root_range_.size()) {
      return std::string(unit_.source().slice(v.range));
    }
    if (v.kind == Kind::literal) {
      if (v.range.size() != 0) return std::string(unit_.source().slice(v.range));
      return python_literal(v.literal);
    }
    if (auto name = named(id)) return name;
    if (v.kind == Kind::attribute) {
      if (g_.stores(v.text)) {
        return std::nullopt;
      }
      auto base = spell(v.operands[0], depth + 1);
      if (!base) return std::nullopt;
      return *base + "." + v.text;
    }
    if (v.kind == Kind::symbol && v.range.size() != 0) {
      return std::string(unit_.source().slice(v.range));
    }
    if (v.kind == Kind::element && v.inlined) return part_of_declared(id, depth);
    if (v.kind == Kind::index || (v.kind == Kind::op && v.op->pure && v.op->view)) {
      if (auto text = again(id)) return text;
      if (v.inlined) return rebuilt(id, depth);
    }
    // Text of a statement that goes: it moves here.
    bool computes = (v.kind == Kind::op && v.op->pure) || g_.instances.contains(id);
    if (computes && v.statement != kNone && dead_.contains(v.statement)) return again(id);
    return std::nullopt;
  }

 private:
  // A view taken in a helper that was seen through, written out: `scale.unsqueeze(1)`.
  std::optional<std::string> rebuilt(ValueId id, int depth) {
    const Value& v = g_[id];
    auto base = spell(v.operands[0], depth + 1);
    if (!base) return std::nullopt;
    if (base->find_first_of("+-*/%<>=&|^~ ,\n") != std::string::npos) base = "(" + *base + ")";
    if (v.kind == Kind::index) {
      std::vector<ValueId> parts{v.operands[1]};
      if (g_[v.operands[1]].kind == Kind::tuple) parts = g_[v.operands[1]].operands;
      std::string inside;
      for (ValueId part : parts) {
        auto text = subscript_part(part);
        if (!text) return std::nullopt;
        inside += (inside.empty() ? "" : ", ") + *text;
      }
      return *base + "[" + inside + "]";
    }
    if (v.op->methods.empty()) return std::nullopt;
    std::string arguments;
    const auto& parameters = parameters_of(v);
    bool skipped = false;
    for (size_t i = 1; i < v.operands.size() && i < parameters.size(); ++i) {
      if (v.operands[i] == kNone) {
        skipped = true;
        continue;
      }
      const Value& given = g_[v.operands[i]];
      std::vector<ValueId> items{v.operands[i]};
      if (parameters[i].variadic && given.kind == Kind::tuple) items = given.operands;
      for (ValueId item : items) {
        if (g_[item].kind != Kind::literal) return std::nullopt;
        if (!arguments.empty()) arguments += ", ";
        if (skipped || parameters[i].keyword_only) arguments += parameters[i].name + "=";
        arguments += python_literal(g_[item].literal);
      }
    }
    return *base + "." + v.op->methods.front() + "(" + arguments + ")";
  }

  // `cos` of `cos, sin = tables` in a helper that was seen through, as `tables[0]`: where what is
  // taken apart is declared to be a tuple of as many items, or a tensor.
  std::optional<std::string> part_of_declared(ValueId id, int depth) {
    const Value& part = g_[id];
    const Value& whole = g_[part.operands[0]];
    const bool tensor =
        whole.literal.kind == Literal::Kind::symbol && whole.literal.text == "torch.Tensor";
    if (whole.kind != Kind::parameter || part.index < 0 || part.index >= part.count ||
        !(tensor || whole.count == part.count)) {
      return std::nullopt;
    }
    auto base = spell(part.operands[0], depth + 1);
    if (!base) return std::nullopt;
    return *base + "[" + std::to_string(part.index) + "]";
  }

  std::optional<std::string> subscript_part(ValueId id) {
    const Value& v = g_[id];
    if (v.kind == Kind::literal) return python_literal(v.literal);
    if (v.kind != Kind::slice) return std::nullopt;
    std::string out;
    for (size_t i = 0; i < 3; ++i) {
      if (i == 1 || (i == 2 && v.operands[2] != kNone)) out += ":";
      if (v.operands[i] == kNone) continue;
      if (g_[v.operands[i]].kind != Kind::literal) return std::nullopt;
      out += python_literal(g_[v.operands[i]].literal);
    }
    return out;
  }

  // A local name that means the value at the root's place: the one that the code there reads, where
  // several do or none does a parameter's own, else the one given last.
  std::optional<std::string> named(ValueId id) {
    const Value& v = g_[id];
    std::optional<std::string> best;
    std::tuple<bool, bool, uint32_t> best_rank;
    std::set<uint32_t> names;
    for (DefinitionId d : g_.definitions_of(id)) names.insert(g_.definitions[d].name);
    for (uint32_t name : names) {
      DefinitionId d = effective(g_, g_.reaching(name, time_), dead_);
      if (d == kNone || !means(g_.definitions[d].value, id)) continue;
      const bool own = v.kind == Kind::parameter && g_.names[name] == v.text;
      std::tuple<bool, bool, uint32_t> rank{read_here(g_.names[name]), own, d};
      if (!best || rank >= best_rank) {
        best = g_.names[name];
        best_rank = rank;
      }
    }
    if (!best && v.kind == Kind::unknown && v.range.size() != 0) {
      // A name of an enclosing scope.
      std::string_view text = unit_.source().slice(v.range);
      if (!g_.name_index(text)) return std::string(text);
    }
    return best;
  }

  // Whether a name that has the value `now` where the text is written means `wanted` in it. Under a
  // branch it means what that branch gave it, and a name for the value that is tested may be None
  // just where that is.
  bool means(ValueId now, ValueId wanted) const {
    if (now == wanted) return true;
    const Value& joined = g_[now];
    if (branch_.condition == kNone || joined.kind != Kind::phi ||
        !g_.same(joined.operands[0], branch_.condition)) {
      return false;
    }
    const ValueId here = joined.operands[branch_.side];
    if (!branch_.asks) return here == wanted;
    return wanted == branch_.tested && joined.operands[3 - branch_.side] == wanted &&
           is_tensor(here);
  }

  // Whether a value is no None: what an operation gives, or a part that slices tell.
  bool is_tensor(ValueId id) const {
    const Value& v = g_[id];
    if (v.kind == Kind::op) return !v.op->one_of && v.op->pure;
    if (v.kind != Kind::index || g_[v.operands[1]].kind != Kind::tuple) return false;
    return std::ranges::any_of(g_[v.operands[1]].operands,
                               [&](ValueId part) { return g_[part].kind == Kind::slice; });
  }

  // Whether the name stands in the text that is rewritten or that goes with it.
  bool read_here(std::string_view name) const {
    if (stands_in(root_range_, name)) return true;
    return std::ranges::any_of(
        dead_, [&](StatementId dead) { return stands_in(g_.statements[dead].range, name); });
  }

  bool stands_in(ByteRange range, std::string_view name) const {
    std::string_view text = unit_.source().slice(range);
    for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
      size_t end = at + name.size();
      bool begins = at == 0 || (!name_char(text[at - 1]) && text[at - 1] != '.');
      if (begins && (end == text.size() || !name_char(text[end]))) return true;
    }
    return false;
  }

  // The value's own text, where every name in it still means what it did.
  std::optional<std::string> again(ValueId id) {
    const Value& v = g_[id];
    if (v.syntax == kNone || v.statement == kNone) return std::nullopt;
    uint32_t then = g_.statements[v.statement].time;
    for (ValueId inner = 0; inner < g_.values.size(); ++inner) {
      const Value& u = g_[inner];
      bool effect = (u.kind == Kind::call && !g_.instances.contains(inner)) ||
                    (u.kind == Kind::op && !u.op->pure);
      if (effect && u.range.size() != 0 && v.range.contains(u.range)) return std::nullopt;
    }
    std::vector<TSNode> work{unit_.nodes[v.syntax]};
    while (!work.empty()) {
      TSNode node = work.back();
      work.pop_back();
      const NodeKind type = type_of(node);
      if (type == "lambda" || type == "named_expression" || type == "await") return std::nullopt;
      if (type == "identifier") {
        auto name = g_.name_index(text_of(unit_.text(), node));
        if (!name) continue;
        DefinitionId before = g_.reaching(*name, then);
        DefinitionId now = effective(g_, g_.reaching(*name, time_), dead_);
        if (before == kNone || now == kNone ||
            !means(g_.definitions[now].value, g_.definitions[before].value)) {
          return std::nullopt;
        }
        continue;
      }
      if (type == "attribute") {
        std::string_view name = text_of(unit_.text(), field(node, "attribute"));
        if (g_.stores(name)) {
          return std::nullopt;
        }
        work.push_back(field(node, "object"));
        continue;
      }
      if (type == "keyword_argument") {
        work.push_back(field(node, "value"));
        continue;
      }
      for (TSNode child : children_of(node)) work.push_back(child);
    }
    return std::string(unit_.source().slice(v.range));
  }

  const PythonUnit& unit_;
  const Graph& g_;
  const std::set<StatementId>& dead_;
  const Branch& branch_;
  ByteRange root_range_;
  uint32_t time_ = 0;
};

// Whether an identifier stands where it is given a meaning rather than read.
bool binds(TSNode node) {
  TSNode parent = ts_node_parent(node);
  const NodeKind type = type_of(parent);
  for (FieldName name : {FieldName("left"), FieldName("name"), FieldName("alias")}) {
    TSNode part = field(parent, name);
    if (present(part) && ts_node_eq(part, node)) return true;
  }
  static constexpr NodeKind kPlaces[] = {"pattern_list",
                                         "tuple_pattern",
                                         "list_pattern",
                                         "list_splat_pattern",
                                         "parameters",
                                         "lambda_parameters",
                                         "typed_parameter",
                                         "as_pattern_target",
                                         "global_statement",
                                         "nonlocal_statement",
                                         "dictionary_splat_pattern",
                                         "delete_statement",
                                         "case_pattern"};
  return std::ranges::find(kPlaces, type) != std::end(kPlaces);
}

// Whether anything but an import gives the name a meaning: a comprehension, a lambda, a class body,
// `global`. An identifier that is not what stands before a dot is taken for that.
bool bound_elsewhere(const PythonUnit& unit, std::string_view name) {
  if (unit.text().find(name) == std::string_view::npos) return false;
  std::vector<TSNode> work{unit.tree.root()};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    const NodeKind type = type_of(node);
    if (type == "import_statement" || type == "import_from_statement") continue;
    if (type == "identifier" && text_of(unit.text(), node) == name && binds(node)) return true;
    if (type == "attribute") {
      TSNode object = field(node, "object");
      if (!is(object, "identifier")) work.push_back(object);
      continue;
    }
    if (type == "keyword_argument") {
      work.push_back(field(node, "value"));
      continue;
    }
    if (type == "binary_operator" || type == "call") {
      // A left operand is no target.
      for (TSNode child : children_of(node)) {
        if (!is(child, "identifier")) work.push_back(child);
      }
      continue;
    }
    for (TSNode child : children_of(node)) work.push_back(child);
  }
  return false;
}

// Nothing that an operator beside it could tear apart: `x`, `f(a + b)`, `x[0].y`.
bool is_atom(std::string_view text) {
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth == 0 && std::string_view("+-*/%<>=&|^~ ,\n").find(c) != std::string_view::npos) {
      return false;
    }
  }
  return depth == 0;
}

// The names that imports give to what they import, where each is the only meaning of its name, and
// the modules that top-level statements import under their own names.
const PythonUnit::Spellings& spellings_of(const PythonUnit& unit) {
  if (unit.spellings) return *unit.spellings;
  PythonUnit::Spellings& out = unit.spellings.emplace();
  for (const auto& [local, list] : unit.names.names.bindings) {
    if (list.size() != 1 || list[0].kind != Binding::Kind::import || list[0].guarded) continue;
    out.locals[list[0].qualified].push_back(local);
  }
  for (TSNode node : statements_of(unit.tree.root())) {
    if (!is(node, "import_statement")) continue;
    for (TSNode name : fields_of(node, "name")) {
      // `import a.b as c` binds c alone.
      if (!is(name, "aliased_import")) out.modules.emplace(text_of(unit.text(), name));
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> fill_holes(const std::string& text, const Frontend::SpellHole& spell) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && name_char(text[end])) ++end;
    int part = -1;
    size_t close = end;
    if (end + 2 < text.size() && text[end] == '[' && digit(text[end + 1]) && text[end + 2] == ']') {
      part = text[end + 1] - '0';
      close = end + 3;
    }
    auto piece = spell(text.substr(at + 1, end - at - 1), &part);
    if (!piece) return std::nullopt;
    if (part == -2) end = close;
    bool whole = at == 0 && end == text.size();
    // A sign may stand where the text is a choice, `-5 if flag else None`, or an item, `[1, -5]`.
    const std::string_view all = text, before = all.substr(0, at), behind = all.substr(end);
    const bool first =
        at == 0 || before.ends_with(" else ") || before.ends_with("[") || before.ends_with(", ");
    const bool last = end == text.size() || behind.starts_with(" if ") || behind.starts_with(",") ||
                      behind.starts_with("]");
    bool sign = (piece->starts_with("-") || piece->starts_with("~")) && first && last;
    // What a choice asks reads as a whole between its words.
    const bool asked =
        text.substr(0, at).ends_with(" if ") && text.substr(end).starts_with(" else ");
    bool atom = is_atom(std::string_view(*piece).substr(sign ? 1 : 0)) ||
                (asked && !holds_word(*piece, "if") && !holds_word(*piece, "lambda") &&
                 piece->find_first_of(":\n") == std::string::npos);
    out += whole || atom ? *piece : "(" + *piece + ")";
    at = end;
  }
  return out;
}

std::optional<std::string> spell_value(const PythonUnit& unit, uint32_t function, ValueId value,
                                       ValueId root, const std::set<StatementId>& dead,
                                       const Branch& branch) {
  return Speller(unit, unit.functions[function], root, dead, branch).spell(value);
}

Expected<Spelling> spell_symbol(const PythonUnit& unit, uint32_t function,
                                const std::string& qualified, bool renamed) {
  // A function, and those around it, may own the name that the spelling begins with.
  auto shadowed = [&](std::string_view head) {
    for (uint32_t f = function; f != kNone && f != 0; f = unit.functions[f].parent) {
      if (unit.functions[f].graph.name_index(head)) return true;
    }
    return false;
  };
  size_t dot = qualified.rfind('.');
  std::string module = dot == std::string::npos ? "" : qualified.substr(0, dot);
  std::string package = qualified.substr(0, qualified.find('.'));
  const PythonUnit::Spellings& known = spellings_of(unit);
  const std::string* local = nullptr;  // the first in the order of their names
  bool whole = false;
  for (const std::string& what : {qualified, module}) {
    auto found = known.locals.find(what);
    if (found == known.locals.end()) continue;
    auto usable = std::ranges::find_if(
        found->second, [&](const std::string& name) { return name != package && !shadowed(name); });
    if (usable == found->second.end() || (local != nullptr && *local < *usable)) continue;
    local = &*usable;
    whole = what == qualified;
  }
  if (local != nullptr) {
    return Spelling{whole ? *local : *local + qualified.substr(module.size()), ""};
  }
  const auto& bindings = unit.names.names.bindings;
  auto top = bindings.find(package);
  auto [taken, unknown] = unit.taken.emplace(package, false);
  if (unknown) taken->second = bound_elsewhere(unit, package);
  if (renamed || shadowed(package) || taken->second ||
      (top != bindings.end() &&
       (top->second.empty() || top->second[0].kind != Binding::Kind::import ||
        top->second[0].qualified != package))) {
    std::string other = "_" + module;
    std::ranges::replace(other, '.', '_');
    if (!holds_word(unit.text(), other)) {
      return Spelling{other + qualified.substr(module.size()), module + " as " + other};
    }
    return failure(
        fmt::format("the names `{}` and `{}` already mean something else here; rename one to make "
                    "room for the import",
                    package, other));
  }
  // `import a.b` binds `a`, and `a.b.f` needs exactly that statement.
  auto below = known.modules.lower_bound(module + ".");
  if (known.modules.contains(module) ||
      (below != known.modules.end() && below->starts_with(module + "."))) {
    return Spelling{qualified, ""};
  }
  return Spelling{qualified, module};
}

}  // namespace refit::python
