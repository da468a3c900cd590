// See facts.hpp. One walk collects imports and candidates; owners are read behind it, because an
// import may follow the function that patches.
#include "rewriter/python/names/facts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/python/names/project.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/words.hpp"

namespace refit::python {

namespace {

constexpr size_t kNone = std::string_view::npos;

bool dotted_name(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return name_char(c) || c == '.'; });
}

class FactsReader {
 public:
  FactsReader(std::string_view source, std::string_view module, bool package, bool test)
      : source_(source), module_(module), package_(package), test_(test) {}

  FileFacts read(TSNode root) {
    std::vector<TSNode> assignments, calls;
    walk_tree(root, [&](TSNode node) {
      const NodeKind type = type_of(node);
      if (type == "comment") return false;
      if (type == "import_statement" || type == "import_from_statement") {
        for (Imported& name : imported_names(node, source_, module_, package_)) {
          imports_.emplace(std::move(name.local), std::move(name.qualified));
        }
        return false;
      }
      if (type == "assignment" || type == "augmented_assignment" || type == "for_statement" ||
          type == "as_pattern") {
        assignments.push_back(node);
      }
      if (type == "call") calls.push_back(node);
      return true;
    });
    for (TSNode node : assignments) {
      if (present(field(node, "type"))) continue;
      // `case pattern as name` has no such field, for it binds a plain name.
      const TSNode target = is(node, "as_pattern") ? field(node, "alias") : field(node, "left");
      if (present(target)) note_targets(target, field(node, "right"));
    }
    for (TSNode node : calls) note_call(node);
    std::stable_sort(out_.patches.begin(), out_.patches.end(),
                     [](const Patch& a, const Patch& b) { return a.line < b.line; });
    return std::move(out_);
  }

 private:
  // Each of several targets.
  void note_targets(TSNode whole, TSNode value) {
    std::vector<TSNode> work{whole};
    while (!work.empty()) {
      const TSNode target = work.back();
      work.pop_back();
      const NodeKind type = type_of(target);
      if (type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" ||
          type == "list_splat_pattern" || type == "as_pattern_target" || type == "tuple" ||
          type == "list" || type == "parenthesized_expression") {
        push_children(target, work);
      } else {
        note_target(target, value);
      }
    }
  }

  // `owner.F = …`, and entries of a table of names or of modules.
  void note_target(TSNode target, TSNode value) {
    if (is(target, "attribute")) {
      return add(field(target, "object"), text_of(source_, field(target, "attribute")), target);
    }
    if (!is(target, "subscript")) return;
    TSNode table = field(target, "value"), entry = field(target, "subscript");
    std::optional<std::string_view> key = literal(entry);
    if (is(entry, "identifier") && text_of(source_, entry) == "__name__" && !loads(value)) {
      key = module_;
    }
    if (!key) return;
    if (is(table, "attribute") && text_of(source_, field(table, "attribute")) == "__dict__") {
      add(field(table, "object"), *key, target);
    } else if (is(table, "call") && text_of(source_, field(table, "function")) == "vars") {
      const NodeList arguments = positional(table);
      if (arguments.size() == 1) add(arguments[0], *key, target);
    } else if (!test_ && meaning(table) == "sys.modules") {
      out_.patches.push_back({std::string(*key), "", true, line_of(target)});
    }
  }

  // Whether a value is a call that is handed `__name__` first, as packages do that load their
  // modules when they are asked for, with the same names.
  bool loads(TSNode value) const {
    if (!is(value, "call")) return false;
    const NodeList arguments = positional(value);
    return !arguments.empty() && text_of(source_, arguments[0]) == "__name__";
  }

  // `setattr(owner, "F", …)`, `patch("owner.F")`, `patch.object(owner, "F")`.
  void note_call(TSNode call) {
    TSNode callee = field(call, "function");
    const bool attribute = is(callee, "attribute");
    const std::string_view name = text_of(source_, attribute ? field(callee, "attribute") : callee);
    const NodeList arguments = positional(call);
    const auto second = arguments.size() < 2 ? std::nullopt : literal(arguments[1]);
    if (name == "setattr" && second) {
      if (!attribute || text_of(source_, field(callee, "object")) == "builtins") {
        add(arguments[0], *second, call);
      }
    } else if (test_) {
      return;
    } else if (name == "patch" && !arguments.empty()) {
      const auto whole = literal(arguments[0]);
      const size_t dot = whole ? whole->rfind('.') : kNone;
      if (dot == kNone) return;
      out_.patches.push_back({std::string(whole->substr(0, dot)),
                              std::string(whole->substr(dot + 1)), true, line_of(call)});
    } else if (name == "object" && attribute && second &&
               last_name(text_of(source_, field(callee, "object"))) == "patch") {
      add(arguments[0], *second, call);
    }
  }

  void add(TSNode owner, std::string_view name, TSNode at) {
    owner = without_parentheses(owner);
    if (std::optional<std::string_view> module = module_found(owner)) {
      out_.patches.push_back(
          {std::string(*module), std::string(name), *module != kAnyModule, line_of(at)});
      return;
    }
    const std::string_view written = chain(owner) ? text_of(source_, owner) : std::string_view{};
    const std::string_view root = first_word(written);
    if (root == "self" || root == "cls") return;  // an object's own attribute, or a part's
    std::string whole = meaning(owner);
    const bool certain = imports_.contains(std::string(root));
    out_.patches.push_back({std::move(whole), std::string(name), certain, line_of(at)});
  }

  // The module that `sys.modules["m"]`, `import_module("m")` and `__import__("m")` find.
  std::optional<std::string_view> module_found(TSNode node) const {
    TSNode named{};
    if (is(node, "subscript") && meaning(field(node, "value")) == "sys.modules") {
      named = field(node, "subscript");
    } else if (is(node, "call")) {
      const std::string_view callee = last_name(text_of(source_, field(node, "function")));
      const NodeList arguments = positional(node);
      if ((callee == "import_module" || callee == "__import__") && !arguments.empty()) {
        named = arguments[0];
      }
    }
    if (!present(named)) return std::nullopt;
    const auto module = literal(named);
    return module ? *module : kAnyModule;
  }

  // Whether an expression is names with dots between.
  static bool chain(TSNode node) {
    while (is(node, "attribute")) node = field(node, "object");
    return is(node, "identifier");
  }

  // What a dotted name means by the file's imports; empty for another expression.
  std::string meaning(TSNode node) const {
    if (!chain(node)) return "";
    std::vector<std::string_view> parts;
    for (; is(node, "attribute"); node = field(node, "object")) {
      parts.push_back(text_of(source_, field(node, "attribute")));
    }
    std::string out(text_of(source_, node));
    if (auto known = imports_.find(out); known != imports_.end()) out = known->second;
    for (std::string_view part : std::views::reverse(parts)) {
      out += '.';
      out += part;
    }
    return out;
  }

  // A dotted name in quotes.
  std::optional<std::string_view> literal(TSNode node) const {
    const auto content = literal_text(node, source_);
    return content && dotted_name(*content) ? content : std::nullopt;
  }

  static NodeList positional(TSNode call) {
    NodeList out = children_of(field(call, "arguments"));
    std::erase_if(out, [](TSNode a) { return is(a, "keyword_argument"); });
    return out;
  }

  static uint32_t line_of(TSNode node) { return ts_node_start_point(node).row + 1; }

  std::string_view source_, module_;
  bool package_, test_;
  std::unordered_map<std::string, std::string> imports_;  // what a name means, by the first import
  FileFacts out_;
};

// Calls by which a name in quotes is patched, and tables whose entries are.
constexpr std::string_view kByText[] = {"setattr",  "patch", "object",
                                        "__dict__", "vars",  "modules"};

// The end of what begins at `at` with blanks, brackets and names behind dots: `(owner, "F", f)`,
// `.object(owner, "F")`, `(owner)["F"]`.
size_t calls_end(std::string_view bytes, size_t at) {
  size_t depth = 0;
  for (; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) return at;
      --depth;
    } else if (depth == 0 && !name_char(c) && c != '.' && !space(c) && c != '\\') {
      return at;
    } else if (depth == 0 && c == '\n' && (at == 0 || bytes[at - 1] != '\\')) {
      return at;
    }
  }
  return at;
}

// Adds the last names of the dotted names in quotes in a part of a text.
void add_quoted(std::string_view bytes, size_t from, size_t end, std::vector<PatchedWord>& out) {
  for (size_t at = bytes.find_first_of("\"'", from + 1); at < end;
       at = bytes.find_first_of("\"'", at + 1)) {
    size_t begin = at;
    while (begin > from && (name_char(bytes[begin - 1]) || bytes[begin - 1] == '.')) --begin;
    if (begin == at || begin == 0 || bytes[begin - 1] != bytes[at]) continue;
    out.push_back({patch_hash(last_name(bytes.substr(begin, at - begin))), 0, false, true});
  }
}

// The names in quotes that a file can patch, and its own where it replaces itself.
void add_patched_by_text(std::string_view bytes, std::string_view module,
                         std::vector<PatchedWord>& out) {
  for (std::string_view word : kByText) {
    for (size_t at = bytes.find(word); at != kNone; at = bytes.find(word, at + 1)) {
      const size_t behind = at + word.size();
      if ((at > 0 && name_char(bytes[at - 1])) ||
          (behind < bytes.size() && name_char(bytes[behind]))) {
        continue;
      }
      const size_t end = calls_end(bytes, behind);
      add_quoted(bytes, behind, end, out);
      if (bytes.substr(behind, end - behind).find("__name__") != kNone) {
        out.push_back({patch_hash(last_name(module)), 0, false, true});
      }
    }
  }
  // The table of modules by another name.
  if (bytes.find(" modules as ") != kNone) {
    add_quoted(bytes, 0, bytes.size(), out);
    out.push_back({patch_hash(last_name(module)), 0, false, true});
  }
}

// Whether what ends a line's part is the annotation of a name or stands in brackets that open in
// the line: `x: torch.Tensor`, `x: str | torch.device`, `def f(x: torch.Tensor`. Of a part with
// quotes nothing is told.
bool annotates(std::string_view part, size_t chain) {
  if (part.find_first_of("\"'") != kNone) return false;
  const auto count = [&](std::string_view bytes) {
    return std::count_if(part.begin(), part.end(), [&](char c) { return bytes.find(c) != kNone; });
  };
  if (count("([{") > count(")]}")) return true;
  const std::string_view before = part.substr(0, chain);
  static constexpr std::array<std::string_view, 12> kOneLine = {
      "if",     "elif",    "else", "for",   "while", "try",
      "except", "finally", "with", "class", "def",   "case"};
  const std::string_view first = first_word(trimmed(part));
  const size_t colon = before.rfind(':');
  if (colon == kNone || first == "async" || first == "lambda") return false;
  const std::string_view type = before.substr(colon + 1);
  return std::all_of(
             type.begin(), type.end(),
             [](char c) { return name_char(c) || std::string_view(".| [],").find(c) != kNone; }) &&
         std::find(kOneLine.begin(), kOneLine.end(), first) == kOneLine.end();
}

// The names that stand behind a keyword.
std::unordered_set<std::string_view> names_behind(std::string_view keyword,
                                                  std::string_view bytes) {
  std::unordered_set<std::string_view> out;
  for (size_t at = bytes.find(keyword); at != kNone; at = bytes.find(keyword, at + 1)) {
    const size_t behind = at + keyword.size();
    if (at > 0 && name_char(bytes[at - 1])) continue;
    size_t begin = behind;
    while (begin < bytes.size() && (space(bytes[begin]) || bytes[begin] == '\\')) ++begin;
    size_t end = begin;
    while (end < bytes.size() && name_char(bytes[end])) ++end;
    if (begin > behind && end > begin) out.insert(bytes.substr(begin, end - begin));
  }
  return out;
}

struct Stored {
  std::string_view name, object;  // `module.NAME`; no object: one that has no name
  bool part = false;              // the object is a part of another: `owner.module.NAME`
};

// Calls visit(end, several) for the end of what stands before the `=` at `at`, and for the ends of
// its parts where it is several targets with commas between.
template <typename Visit>
void each_target(std::string_view bytes, size_t at, Visit visit) {
  visit(at, false);
  const size_t newline = at == 0 ? kNone : bytes.rfind('\n', at - 1);
  const size_t line = newline == kNone ? 0 : newline + 1;
  const std::string_view part = bytes.substr(line, at - line);
  if (part.find(',') == kNone || !std::all_of(part.begin(), part.end(), [](char c) {
        return name_char(c) || std::string_view(" \t.,()[]*").find(c) != kNone;
      })) {
    return;
  }
  visit(at, true);
  for (size_t comma = part.find(','); comma != kNone; comma = part.find(',', comma + 1)) {
    visit(line + comma, true);
  }
}

// The same for the targets behind `for` and `as`.
template <typename Visit>
void each_target_behind_keyword(std::string_view bytes, Visit visit) {
  for (const auto& [keyword, ends] :
       {std::pair<std::string_view, std::string_view>{"for ", "\n"},
        std::pair<std::string_view, std::string_view>{" as ", ":,)\n"}}) {
    for (size_t at = bytes.find(keyword); at != kNone; at = bytes.find(keyword, at + 1)) {
      const size_t begin = at + keyword.size();
      size_t end = std::min(bytes.find_first_of(ends, begin), bytes.size());
      if (keyword == "for ")
        end = begin + std::min(bytes.substr(begin, end - begin).find(" in "), end - begin);
      const std::string_view part = bytes.substr(begin, end - begin);
      if (part.find('.') == kNone) continue;
      for (size_t comma = part.find(','); comma != kNone; comma = part.find(',', comma + 1)) {
        visit(begin + comma, true);
      }
      visit(end, true);
    }
  }
}

// What stands before the `=` at `at` as NAME behind a dot; an empty name where it is `self.NAME` or
// says what something is; `several`: it is surely a target.
Stored stored_attribute(std::string_view bytes, size_t at, bool several) {
  size_t end = at;
  const std::string_view between = " \t\r\n\\)]+-*/%@&|^<>";  // `m.F += …`, `(m.F) = …`
  while (end > 0 && between.find(bytes[end - 1]) != kNone) --end;
  const std::string_view name = word_before(bytes, end);
  size_t dot = end - name.size();
  while (dot > 0 && (space(bytes[dot - 1]) || bytes[dot - 1] == '\\')) --dot;
  if (name.empty() || dot == 0 || bytes[dot - 1] != '.') return {};
  const std::string_view object = word_before(bytes, dot - 1);
  const size_t begin = dot - 1 - object.size();
  if (object == "self" && (begin == 0 || bytes[begin - 1] != '.')) return {};
  size_t chain = begin;  // where the names with dots begin
  while (chain > 0 && (name_char(bytes[chain - 1]) || bytes[chain - 1] == '.')) --chain;
  const size_t line_end = chain == 0 ? kNone : bytes.find_last_of("\r\n", chain - 1);
  const size_t line = line_end == kNone ? 0 : line_end + 1;
  if (!several && annotates(bytes.substr(line, end - line), chain - line)) return {};
  return {name, object, chain < begin};
}

}  // namespace

FileFacts file_facts(TSNode root, std::string_view source, std::string_view module, bool package,
                     bool test) {
  return FactsReader(source, module, package, test).read(root);
}

uint32_t patch_hash(std::string_view word) { return static_cast<uint32_t>(hash_of(word)); }

std::string_view last_name(std::string_view dotted) { return dotted.substr(dotted.rfind('.') + 1); }

std::vector<PatchedWord> patched_words(std::string_view bytes, std::string_view module) {
  std::vector<PatchedWord> out;
  std::optional<std::unordered_set<std::string_view>> aliases, modules;
  const auto add = [&](const Stored& stored) {
    if (!aliases) aliases = names_behind("as", bytes), modules = names_behind("import", bytes);
    const std::string_view object = stored.object;
    const bool any = object.empty() || object == "module" || object == "mod" ||
                     aliases->contains(object);  // which an import may have given to anything
    out.push_back({patch_hash(stored.name), any ? 0 : patch_hash(object),
                   !any && !stored.part && modules->contains(object), false});
  };
  const auto note = [&](size_t end, bool several) {
    const Stored stored = stored_attribute(bytes, end, several);
    if (!stored.name.empty()) add(stored);
  };
  for (size_t at = bytes.find('='); at != kNone; at = bytes.find('=', at + 1)) {
    if (at + 1 < bytes.size() && bytes[at + 1] == '=') {
      ++at;
      continue;
    }
    each_target(bytes, at, note);
  }
  each_target_behind_keyword(bytes, note);
  add_patched_by_text(bytes, module, out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  out.shrink_to_fit();
  return out;
}

bool test_file(std::string_view relative) {
  const std::string_view name = relative.substr(relative.rfind('/') + 1);
  if (name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py") return true;
  const std::string path = "/" + std::string(relative);
  return path.find("/tests/") != std::string::npos || path.find("/test/") != std::string::npos;
}

}  // namespace refit::python
