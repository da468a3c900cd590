// New import statements, where a person would put them: among those of the packages that a file
// imports, or, where it imports none but inside functions, beside the import that leads there.
#include <algorithm>
#include <map>
#include <optional>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/python_modules.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

// Line ends that keep a first import apart from what follows it at `at`: two blank lines before a
// definition, one before anything else.
std::string apart(std::string_view text, uint32_t at, const std::string& nl) {
  size_t blanks = 0;
  while (at < text.size()) {
    ByteRange line = line_of(text, at);
    if (!blank(text.substr(line.begin, line.size()))) break;
    ++blanks;
    at = line.end;
  }
  if (at >= text.size()) return "";
  std::string_view next = text.substr(at);
  bool definition = next.starts_with("def ") || next.starts_with("class ") ||
                    next.starts_with("async ") || next.starts_with("@");
  std::string out;
  for (size_t have = blanks; have < (definition ? 2 : 1); ++have) out += nl;
  return out;
}

// The first package that `import a.b, c` or `from a.b import c` names: a.
std::string_view imported_package(std::string_view statement) {
  size_t begin = statement.find_first_not_of(" \t", statement.find_first_of(" \t"));
  if (begin == std::string_view::npos) return {};
  size_t end = begin;
  while (end < statement.size() && name_char(statement[end])) ++end;
  return statement.substr(begin, end - begin);
}

bool is_import(TSNode node) {
  return is(node, "import_statement") || is(node, "import_from_statement");
}

bool relative(TSNode import) {
  return is(import, "import_from_statement") && is(field(import, "module_name"), "relative_import");
}

// The imports of one file into which those of the runtime go.
class NewImports {
 public:
  NewImports(const PythonUnit& unit, const Catalogue& catalogue, EditSet& edits)
      : unit_(unit), catalogue_(catalogue), text_(unit.text()), edits_(edits) {
    groups();
  }

  // `import MODULE` for what `changes` write, a module being `a.b` or `a.b as c`.
  void add(const std::set<std::string>& modules, const EditSet& changes) {
    std::string first;
    for (const std::string& m : modules) {
      if (auto places = imports_in_functions(m, changes)) {
        for (const std::vector<TSNode>& run : *places) add_among(run, m);
      } else if (group_ == nullptr) {
        first += "import " + m + nl_;
      } else if (!group_->third_party) {
        // The packages' own group, below those that are there.
        add_below(groups_.back().statements.back(), m, m == *modules.begin());
      } else {
        add_among(group_->statements, m);
      }
    }
    if (!first.empty()) add_first(first);
    for (auto& [at, text] : added_) (void)edits_.add({{at, at}, std::move(text)});
  }

 private:
  // Top-level absolute imports without another statement or a blank line between.
  struct Group {
    std::vector<TSNode> statements;
    bool third_party = false;
  };

  // What the catalogue describes and Python does not bring: torch, and what is built on it.
  bool third_party(TSNode import) const {
    const std::string_view package = imported_package(text_of(text_, import));
    return !relative(import) && !is_python_module(package) && catalogue_.describes(package);
  }

  uint32_t first_line(TSNode node) const {
    return unit_.source().position(ts_node_start_byte(node)).line;
  }
  uint32_t last_line(TSNode node) const {
    return unit_.source().position(ts_node_end_byte(node)).line;
  }

  void groups() {
    bool in_header = true, open = false;
    uint32_t row = 0;
    for (TSNode s : statements_of(unit_.tree.root())) {
      if (is(s, "future_import_statement")) {
        header_ = s;
        continue;
      }
      if (!is_import(s)) {
        if (in_header && groups_.empty() && is(s, "expression_statement") &&
            is(children_of(s).empty() ? TSNode{} : children_of(s).front(), "string")) {
          header_ = s;
          continue;
        }
        in_header = open = false;
        continue;
      }
      if (relative(s)) {
        open = false;
        continue;
      }
      if (!open || first_line(s) > row + 1) groups_.emplace_back();
      open = true;
      groups_.back().statements.push_back(s);
      row = last_line(s);
      if (third_party(s)) groups_.back().third_party = true;
    }
    for (const Group& g : groups_) {
      if (g.third_party && (group_ == nullptr || !group_->third_party)) group_ = &g;
      if (group_ == nullptr) group_ = &g;
    }
  }

  // A file that imports torch nowhere but in functions can be imported without it, and fast: the
  // runtime, which imports torch, is imported there as well. The runs of imports that lead to what
  // `changes` write, or nothing where one of these has none.
  std::optional<std::vector<std::vector<TSNode>>> imports_in_functions(
      const std::string& module, const EditSet& changes) const {
    if (group_ != nullptr && group_->third_party) return std::nullopt;
    std::vector<std::vector<TSNode>> out;
    const size_t as = module.find(" as ");
    const std::string bound = as == std::string::npos ? module : module.substr(as + 4);
    for (const Edit& e : changes.edits()) {
      if (e.replacement.find(bound) == std::string::npos) continue;
      std::vector<TSNode> run = imports_above(e.range);
      if (run.empty()) return std::nullopt;
      const bool known = std::ranges::any_of(
          out, [&](const auto& other) { return ts_node_eq(other.front(), run.front()); });
      if (!known) out.push_back(std::move(run));
    }
    if (out.empty()) return std::nullopt;
    return out;
  }

  // The imports that a place inside a function is only reached behind: of the outermost function's
  // first, so that all that one function reads is bound by one statement.
  std::vector<TSNode> imports_above(ByteRange place) const {
    std::vector<TSNode> out;
    const TSNode root = unit_.tree.root();
    for (TSNode p = ts_node_descendant_for_byte_range(root, place.begin, place.end); present(p);
         p = ts_node_parent(p)) {
      // In a `try` the runtime's absence would pass for that of what is imported there.
      if (is(p, "try_statement")) return {};
      if (!is(p, "block") || !in_function(p)) continue;
      std::vector<TSNode> run = first_imports(p, place.begin);
      if (!run.empty()) out = std::move(run);
    }
    return out;
  }

  static bool in_function(TSNode block) {
    for (TSNode p = ts_node_parent(block); present(p); p = ts_node_parent(p)) {
      if (is(p, "function_definition")) return true;
      if (is(p, "class_definition")) return false;
    }
    return false;
  }

  // The block's first run of imports, line by line and each on lines of its own, that imports
  // another package and stands above `end`.
  std::vector<TSNode> first_imports(TSNode block, uint32_t end) const {
    std::vector<TSNode> run;
    bool leads = false;
    for (TSNode s : statements_of(block)) {
      if (ts_node_end_byte(s) > end) break;
      const bool fits = is_import(s) && !relative(s) && alone_on_its_lines(s);
      if (!fits || (!run.empty() && first_line(s) != last_line(run.back()) + 1)) {
        if (leads) break;
        run.clear();
      }
      if (!fits) continue;
      run.push_back(s);
      leads = leads || third_party(s);
    }
    return leads ? run : std::vector<TSNode>{};
  }

  bool alone_on_its_lines(TSNode statement) const {
    const ByteRange line = line_of(text_, ts_node_end_byte(statement));
    std::string_view tail =
        text_.substr(ts_node_end_byte(statement), line.end - ts_node_end_byte(statement));
    tail = tail.substr(0, tail.find('#'));
    return begins_line(text_, ts_node_start_byte(statement)) && blank(tail);
  }

  // Plain imports in order first, then from-imports, as isort keeps them; below what comes with
  // Python where that stands in the same group.
  void add_among(const std::vector<TSNode>& statements, const std::string& m) {
    bool sorted_plain = false, pythons = true;
    for (TSNode s : statements) {
      pythons = pythons && is_python_module(imported_package(text_of(text_, s)));
      if (pythons) continue;
      if (is(s, "import_statement")) {
        sorted_plain = true;
        TSNode name = fields_of(s, "name").front();
        if (is(name, "aliased_import")) name = field(name, "name");
        if (text_of(text_, name) > m) return add_above(s, m);
      } else if (!sorted_plain || is(s, "import_from_statement")) {
        return add_above(s, m);
      }
    }
    add_below(statements.back(), m, false);
  }

  void add_above(TSNode statement, const std::string& m) {
    const uint32_t begin = ts_node_start_byte(statement);
    const std::string_view indent = indentation(text_, begin);
    // At the line's begin, which is where the statement's line is taken out if it goes.
    const auto at = begin - static_cast<uint32_t>(indent.size());
    added_[at] += std::string(indent) + "import " + m + nl_;
  }

  void add_below(TSNode statement, const std::string& m, bool blank_line) {
    const uint32_t at = end_of_line(ts_node_end_byte(statement));
    std::string line =
        std::string(indentation(text_, ts_node_start_byte(statement))) + "import " + m;
    if (blank_line) line = nl_ + line;
    const bool ends = at > 0 && text_[at - 1] == '\n';
    added_[at] += ends ? line + nl_ : nl_ + line;
  }

  uint32_t end_of_line(uint32_t at) const {
    while (at < text_.size() && text_[at] != '\n') ++at;
    return at < text_.size() ? at + 1 : at;
  }

  // The first imports of a file: below its docstring and `from __future__`, or the comments that
  // open it (shebang, cookie, licence).
  void add_first(std::string lines) {
    uint32_t at = 0;
    if (present(header_)) {
      at = end_of_line(ts_node_end_byte(header_));
      lines = nl_ + lines;
      if (at == text_.size() && (text_.empty() || text_.back() != '\n')) lines = nl_ + lines;
    } else {
      while (at < text_.size() && text_[at] == '#') at = end_of_line(at);
      if (at > 0) lines = nl_ + lines;
    }
    added_[at] += lines + apart(text_, at, nl_);
  }

  const PythonUnit& unit_;
  const Catalogue& catalogue_;
  const std::string_view text_;
  const std::string nl_{unit_.source().newline()};
  EditSet& edits_;
  std::map<uint32_t, std::string> added_;  // by place
  std::vector<Group> groups_;
  const Group* group_ = nullptr;  // where the file imports other packages, else its first
  TSNode header_{};               // docstring, `from __future__`
};

}  // namespace

void add_imports(const PythonUnit& unit, const Catalogue& catalogue,
                 const std::set<std::string>& modules, const EditSet& changes, EditSet& edits) {
  // `import a.b` also binds `a`: the longest of each package is enough.
  std::set<std::string> wanted;
  for (const std::string& m : modules) {
    bool covered = std::ranges::any_of(modules, [&](const std::string& other) {
      return other.size() > m.size() && other.starts_with(m + ".");
    });
    if (!covered) wanted.insert(m);
  }
  if (!wanted.empty()) NewImports(unit, catalogue, edits).add(wanted, changes);
}

}  // namespace refit::python
