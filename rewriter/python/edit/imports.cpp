// Import statements whose last use a rewrite took away. An import that is a probe, an interface or
// read elsewhere stays, and a note says so.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/edit/removal.hpp"
#include "rewriter/python/syntax/text_parts.hpp"
#include "rewriter/text/words.hpp"

namespace refit::python {

namespace {

using NameSet = std::set<std::string, std::less<>>;

// Every read of some names in the file, by name: identifiers outside import statements; and words
// in strings (annotations, __all__).
struct Reads {
  std::map<std::string_view, std::vector<ByteRange>> names;
  std::vector<std::string_view> strings;
};

// Where words of a text stand that are asked for, ascending.
std::vector<uint32_t> places_of(std::string_view text, const NameSet& asked) {
  std::vector<uint32_t> out;
  std::unordered_set<uint64_t> hashes;
  for (const std::string& name : asked) hashes.insert(hash_of(name));
  visit_words(text, [&](uint64_t hash, size_t begin, size_t) {
    if (hashes.contains(hash)) out.push_back(static_cast<uint32_t>(begin));
  });
  return out;
}

void collect(TSNode root, std::string_view text, const NameSet& asked, Reads& out) {
  const std::vector<uint32_t> places = places_of(text, asked);
  for (const NameRead& read : std::views::reverse(names_read(root, text, &places))) {
    if (!asked.contains(read.name)) continue;
    // In order: the walk goes backwards, and several come to parts of their own.
    auto& all = out.names[read.name];
    auto at = std::lower_bound(all.begin(), all.end(), read.range.begin,
                               [](ByteRange a, uint32_t b) { return a.begin < b; });
    all.insert(at, read.range);
  }
  walk_tree(root, [&](TSNode node) {
    if (!holds_place(range_of(node), places)) return false;
    if (is(node, "string_content")) out.strings.push_back(text_of(text, node));
    return true;
  });
}

// Where an import is read: in the function that it stands in, or anywhere.
ByteRange home_of(const PythonUnit& unit, TSNode statement) {
  for (TSNode p = ts_node_parent(statement); present(p); p = ts_node_parent(p)) {
    if (is(p, "function_definition")) return range_of(p);
  }
  return range_of(unit.tree.root());
}

// The import statements of a file; they stand among statements only.
std::vector<TSNode> imports_of(TSNode root) {
  std::vector<TSNode> out, work{root};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    const NodeKind type = type_of(node);
    const std::string_view name = type_name(node);
    if (type == "import_statement" || type == "import_from_statement") {
      out.push_back(node);
    } else if (type == "module" || type == "block" || type == "ERROR" ||
               name.ends_with("_definition") || name.ends_with("_clause") ||
               (name.ends_with("_statement") && type != "expression_statement" &&
                type != "return_statement")) {
      push_children(node, work);
    }
  }
  return out;
}

// Whether a name is surely read in `scope` by what the edits leave: the first reads that the text
// shows are looked up in the tree. What cannot be told at once is no read here.
bool plainly_read(const PythonUnit& unit, const EditSet& edits, std::string_view name,
                  ByteRange scope) {
  std::string_view text = unit.text();
  for (size_t at = text.find(name, scope.begin); at < scope.end; at = text.find(name, at + 1)) {
    size_t end = at + name.size(), before = at, next = end;
    if ((at > 0 && in_word(text[at - 1])) || (end < text.size() && in_word(text[end]))) continue;
    while (before > 0 && (text[before - 1] == ' ' || text[before - 1] == '\t')) --before;
    while (next < text.size() && (text[next] == ' ' || text[next] == '\t')) ++next;
    if (before == 0 || text[before - 1] == '.' || next == text.size() || text[next] == '=' ||
        text[next] == ':') {
      continue;  // an attribute, a keyword, a target
    }
    const ByteRange range{static_cast<uint32_t>(at), static_cast<uint32_t>(end)};
    if (edits.replaces(range)) continue;
    TSNode node = ts_node_descendant_for_byte_range(unit.tree.root(), range.begin, range.end);
    if (!is(node, "identifier") || range_of(node) != range) continue;
    TSNode parent = ts_node_parent(node);
    if (is(parent, "dotted_name") || is(parent, "aliased_import")) continue;
    return true;
  }
  return false;
}

// Whether an import asks if it can be done: in a `try`, under an `if` of a module or class, or as
// all that a block does (`with suppress(ImportError):`). In a function an `if` that does more says
// when the name is needed.
bool guarded(TSNode node) {
  const TSNode block = ts_node_parent(node);
  const NodeList beside = is(block, "block") ? statements_of(block) : NodeList{};
  const bool all = std::ranges::all_of(
      beside, [](TSNode s) { return is(s, "import_statement") || is(s, "import_from_statement"); });
  if (all && !beside.empty()) return true;
  bool under_if = false;
  for (TSNode p = block; present(p); p = ts_node_parent(p)) {
    const NodeKind type = type_of(p);
    if (type == "try_statement") return true;
    if (type == "if_statement") under_if = true;
    if (type == "class_definition") return under_if;
    if (type == "function_definition") return false;
  }
  return under_if;
}

bool inside_function(TSNode node) {
  for (TSNode p = ts_node_parent(node); present(p); p = ts_node_parent(p)) {
    if (is(p, "function_definition")) return true;
  }
  return false;
}

// Why an import that nothing in its file uses any more stays; "" where it can go.
std::string why_kept(const PythonUnit& unit, Project& project, TSNode statement,
                     const std::string& name, bool several,
                     const std::unordered_set<std::string_view>& exported, const Words& quoted) {
  std::string stays;
  bool local = inside_function(statement);
  // `import torch` beside `import torch.nn as nn` binds another name; one name, several
  // statements: all of them are needed or none.
  if (several && !local) stays = "it is imported more than once";
  if (guarded(statement)) stays = "it is a probe";
  if (!local) {
    if (unit.reexports) stays = "a package's __init__ exports it";
    if (exported.contains(name)) stays = "__all__ names it";
    if (stays.empty() && quoted.contains(name)) stays = "a string names it";
    if (stays.empty()) {
      std::string other = project.importer_of(unit.module, name, unit.relative);
      if (!other.empty()) stays = other + " imports it from here";
      if (stays.empty()) {
        other = project.attribute_reader_of(unit.module, name, unit.relative);
        if (!other.empty()) stays = other + " reads it as an attribute of this module";
      }
    }
  }
  return stays;
}

// Takes some names out of an import that keeps others, each with the comma that it needed.
void remove_names(const PythonUnit& unit, TSNode statement,
                  const std::vector<const Imported*>& dead, EditSet& removals) {
  auto parts = all_children_of(statement);
  for (const Imported* i : dead) {
    auto from =
        std::lower_bound(parts.begin(), parts.end(), ts_node_start_byte(i->node),
                         [](TSNode part, uint32_t at) { return ts_node_start_byte(part) < at; });
    for (auto p = static_cast<size_t>(from - parts.begin());
         p < parts.size() && ts_node_start_byte(parts[p]) == ts_node_start_byte(i->node); ++p) {
      if (!ts_node_eq(parts[p], i->node)) continue;
      ByteRange r = range_of(parts[p]);
      bool comma_after = p + 1 < parts.size() && text_of(unit.text(), parts[p + 1]) == ",";
      if (comma_after) {
        r.end = ts_node_end_byte(parts[p + 1]);
        std::string_view text = unit.text();
        uint32_t line = r.begin;
        while (line > 0 && (text[line - 1] == ' ' || text[line - 1] == '\t')) --line;
        bool own_begin = line == 0 || text[line - 1] == '\n';
        uint32_t end = r.end;
        while (end < text.size() && text[end] == ' ') ++end;
        bool own_end = end < text.size() && (text[end] == '\n' || text[end] == '\r');
        if (own_begin && own_end) {
          r.begin = line;
          while (end < text.size() && text[end] != '\n') ++end;
          r.end = end < text.size() ? end + 1 : end;
        } else if (!own_end) {
          r.end = end;
        }
      } else if (p > 0 && text_of(unit.text(), parts[p - 1]) == ",") {
        r.begin = ts_node_start_byte(parts[p - 1]);
      }
      (void)removals.add({r, ""});
    }
  }
}

}  // namespace

void remove_imports(const PythonUnit& unit, Project& project, const EditSet& edits,
                    const EditSet& added, EditSet& removals, std::vector<std::string>& notes) {
  if (edits.empty()) return;
  Words touched;  // in what the edits take away
  for (const Edit& e : edits.edits()) {
    add_words(unit.source().slice(e.range), WordsOf::all, touched);
  }
  NameSet asked;  // of imports that the edits may have taken the last read of
  std::vector<TSNode> imports = imports_of(unit.tree.root());  // from the last to the first
  std::ranges::sort(imports, std::ranges::greater{}, ts_node_start_byte);
  for (TSNode statement : imports) {
    if (edits.replaces(range_of(statement))) continue;
    const ByteRange home = home_of(unit, statement);
    for (const Imported& i :
         imported_names(statement, unit.text(), unit.module, unit.names.package)) {
      if (touched.contains(i.local) && !plainly_read(unit, edits, i.local, home)) {
        asked.insert(i.local);
      }
    }
  }
  if (asked.empty()) return;
  Reads reads;
  collect(unit.tree.root(), unit.text(), asked, reads);
  Words written;  // that new text reads
  for (const Edit& e : edits.edits()) add_words(e.replacement, WordsOf::names_read, written);
  // Names all of whose reads the edits remove, and that no new text reads.
  auto lost = [&](std::string_view name, ByteRange scope) {
    auto found = reads.names.find(name);
    if (found == reads.names.end()) return false;
    const std::vector<ByteRange>& all = found->second;
    auto r = std::lower_bound(all.begin(), all.end(), scope.begin,
                              [](ByteRange a, uint32_t at) { return a.begin < at; });
    bool any = false;
    for (; r != all.end() && r->end <= scope.end; ++r) {
      if (!edits.replaces(*r)) return false;
      any = true;
    }
    return any && !written.contains(name);
  };
  std::unordered_map<std::string, size_t> bound;  // names -> how many imports give them a meaning
  for (TSNode statement : imports) {
    for (const Imported& i :
         imported_names(statement, unit.text(), unit.module, unit.names.package)) {
      ++bound[i.local];
    }
  }
  const std::unordered_set<std::string_view> exported(unit.names.all.begin(), unit.names.all.end());
  Words quoted;  // in annotations in quotes; prose has words side by side
  for (std::string_view s : reads.strings) {
    bool prose =
        s.find(' ') != std::string_view::npos && s.find_first_of("[.|,") == std::string_view::npos;
    if (!prose && s.size() < 120 && s.find('\n') == std::string_view::npos) {
      add_words(s, WordsOf::all, quoted);
    }
  }
  for (TSNode statement : imports) {
    if (edits.replaces(range_of(statement))) continue;
    auto imported = imported_names(statement, unit.text(), unit.module, unit.names.package);
    std::vector<const Imported*> dead;
    const ByteRange home = home_of(unit, statement);
    for (const Imported& i : imported) {
      // A function's import is read in that function alone.
      if (!lost(i.local, home)) continue;
      const std::string stays =
          why_kept(unit, project, statement, i.local, bound[i.local] > 1, exported, quoted);
      if (!stays.empty()) {
        auto p = unit.source().position(ts_node_start_byte(statement));
        notes.push_back(
            fmt::format("{}:{}: the import of `{}` stays although nothing here uses it "
                        "any more: {}",
                        unit.relative, p.line, i.qualified, stays));
        continue;
      }
      dead.push_back(&i);
    }
    if (dead.empty()) continue;
    if (dead.size() == imported.size()) {
      (void)removals.add(remove_line(unit, range_of(statement), added));
      continue;
    }
    remove_names(unit, statement, dead, removals);
  }
}

}  // namespace refit::python
