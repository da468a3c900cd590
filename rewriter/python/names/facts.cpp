// See facts.hpp. One walk collects imports, classes and the nodes that facts are read from. They
// are read behind it, because an import may follow the function that uses its name.
#include "rewriter/python/names/facts.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "rewriter/python/names/mentions.hpp"
#include "rewriter/python/syntax/lines.hpp"

namespace refit::python {

namespace {

template <typename Hash>
void make_set(std::vector<Hash>& names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.shrink_to_fit();
}

bool title(std::string_view name) { return !name.empty() && name[0] >= 'A' && name[0] <= 'Z'; }

class FactsReader {
 public:
  FactsReader(std::string_view source, std::string_view module, bool package, FileFacts& out)
      : names_(source, module, package), out_(out) {}

  void read(TSNode root, bool test) {
    walk_tree(root, [&](TSNode node) { return visit(node); });
    for (const FileNodes::Statement& store : nodes_.stores) note_held(store.node);
    for (const FileNodes::Statement& call : nodes_.calls) note_question(call.node);
    for (TSNode chain : nodes_.chains) note_reads(chain);
    for (TSNode attribute : found_) note_found(attribute);
    for (size_t i = 0; i < bases_.size(); ++i) note_bases(bases_[i], out_.classes[i]);
    note_writes(nodes_, names_, test, out_);
    if (!test) note_scripted(nodes_, names_, out_);
    note_classes();
    for (ClassFact& c : out_.classes) make_set(c.stores);
    for (auto* list : {&out_.asked, &out_.exchanged, &out_.scripted, &out_.compilers}) {
      make_set(*list);
    }
    make_set(out_.reads);
  }

 private:
  struct Scope {
    uint32_t end;
    uint32_t class_;
    bool method;
  };

  bool visit(TSNode node) {
    const NodeKind type = type_of(node);
    while (scopes_.back().end <= ts_node_start_byte(node)) scopes_.pop_back();
    const Scope scope = scopes_.back();
    if (type == "comment") return false;
    if (type == "import_statement" || type == "import_from_statement") {
      names_.add_import(node);
      return false;
    }
    if (type == "string") {
      note_text(node);
    } else if (type == "class_definition") {
      define_class(node, scope);
    } else if (type == "function_definition") {
      if (!scope.method) own_name(field(node, "name"), scope);
      nodes_.functions.push_back(node);
      scopes_.push_back({ts_node_end_byte(node), scope.class_, true});
    } else if (type == "decorated_definition") {
      nodes_.decorated.push_back(node);
    } else if (type == "assignment" || type == "augmented_assignment" || type == "for_statement" ||
               type == "as_pattern" || type == "delete_statement") {
      nodes_.stores.push_back({node, scope.class_, scope.method});
    } else if (type == "call") {
      nodes_.calls.push_back({node, scope.class_, scope.method});
    } else if (type == "attribute") {
      const bool chain = is_chain(node);
      (chain ? nodes_.chains : found_).push_back(node);
      return !chain;
    } else if (type == "comparison_operator") {
      note_comparison(node);
    } else if (type == "pair") {
      const TSNode key = field(node, "key");
      if (is_chain(key) && title(last_name(names_.text(key)))) asked_.push_back(key);
    }
    return true;
  }

  void define_class(TSNode node, const Scope& scope) {
    if (!scope.method) own_name(field(node, "name"), scope);
    const std::string_view name = names_.text(field(node, "name"));
    local_.insert(name);
    bases_.push_back(field(node, "superclasses"));
    scopes_.push_back({ts_node_end_byte(node), static_cast<uint32_t>(out_.classes.size()), false});
    out_.classes.push_back({std::string(name), {}, {}});
  }

  // A function or class in a class is an attribute of its objects.
  void own_name(TSNode name, const Scope& scope) {
    if (scope.class_ == FileNodes::kNoClass) return;
    out_.classes[scope.class_].stores.push_back(hash_of(names_.text(name)));
  }

  void note_bases(TSNode list, ClassFact& out) const {
    for (TSNode base : children_of(list)) {
      while (is(base, "subscript") || is(base, "call")) {  // `Base[T]`
        base = field(base, is(base, "call") ? FieldName("function") : FieldName("value"));
      }
      if (!is(base, "identifier") && !is(base, "attribute")) continue;
      const std::string_view written = last_name(names_.text(base));
      const bool local = local_.contains(written);
      out.bases.push_back({hash_of(local ? written : last_meaning(base)), local});
    }
  }

  // The last part of what a name or an attribute means.
  std::string last_meaning(TSNode node) const {
    const std::string whole = names_.meaning(node);
    return std::string(last_name(whole.empty() ? names_.text(node) : whole));
  }

  // `isinstance(x, (m.A, B))`
  void note_question(TSNode call) {
    const std::string_view callee = names_.text(field(call, "function"));
    if (callee != "isinstance" && callee != "issubclass") return;
    const NodeList arguments = positional(call);
    if (arguments.size() < 2) return;
    std::vector<TSNode> work{arguments[1]};
    while (!work.empty()) {
      const TSNode node = work.back();
      work.pop_back();
      if (is(node, "identifier") || is(node, "attribute")) {
        asked_.push_back(node);
      } else {
        push_children(node, work);
      }
    }
  }

  // `type(x) is m.A`, `x.__class__ == A`
  void note_comparison(TSNode comparison) {
    const std::string_view text = names_.text(comparison);
    if (text.find("type") == std::string_view::npos &&
        text.find("__class__") == std::string_view::npos) {
      return;
    }
    bool of_type = false;
    NodeList classes;
    walk_tree(comparison, [&](TSNode node) {
      if (!is(node, "identifier") && !is(node, "attribute")) return true;
      const std::string_view name = names_.text(node), last = last_name(name);
      of_type = of_type || name == "type" || last == "__class__";
      if (title(last)) classes.push_back(node);
      return !is_chain(node);
    });
    if (of_type) compared_.insert(compared_.end(), classes.begin(), classes.end());
  }

  // A name in quotes: of something that is looked up in a module or patched there, "F" or
  // "package.module.F"; or of a class, where something is done to objects by a table of them.
  void note_text(TSNode string) {
    constexpr size_t kLongest = 200;
    const std::string_view written = names_.text(string);
    if (written.size() > kLongest) return;
    const auto text = names_.literal(string);
    if (!text) return;
    const std::string_view name = last_name(*text);
    std::string_view owner = text->substr(0, text->size() - name.size());
    if (!owner.empty()) owner.remove_suffix(1);  // its dot
    out_.reads.push_back(read_of(last_name(owner), name));
    if (title(name)) quoted_.push_back(*text);
  }

  void note_classes() {
    for (TSNode name : asked_) {
      if (!local_.contains(names_.text(name))) out_.asked.push_back(hash_of(last_meaning(name)));
    }
    for (std::string_view text : quoted_) {
      const std::string_view last = last_name(text);
      const bool dotted = last.size() < text.size();
      if (dotted && !local_.contains(last)) out_.asked.push_back(hash_of(last));
      if (out_.computes) out_.exchanged.push_back(hash_of(last));
    }
    if (!out_.computes) return;
    for (const NodeList* names : {&asked_, &compared_}) {
      for (TSNode name : *names) out_.exchanged.push_back(hash_of(last_meaning(name)));
    }
  }

  // `held = package.module`, `held = import_module("module")`: a name for a module, unless another
  // assignment gives it something else.
  void note_held(TSNode assignment) {
    const TSNode left = field(assignment, "left"), right = field(assignment, "right");
    if (!is(left, "identifier")) return;
    const std::string_view name = names_.text(left);
    std::string meaning;
    if (const auto found = present(right) ? names_.module_found(right) : std::nullopt) {
      meaning = *found;
    } else if (is_chain(right) && names_.imported(first_word(names_.text(right)))) {
      meaning = names_.meaning(right);
    }
    const auto [at, fresh] = held_.try_emplace(name, meaning);
    if (at->second != meaning) at->second.clear();
  }

  // What a chain of names means where its first name stands for a module, or something in one; else
  // "".
  std::string meaning_by_module(TSNode chain) const {
    const std::string_view first = first_word(names_.text(chain));
    if (names_.imported(first)) return names_.meaning(chain);
    const auto held = held_.find(first);
    if (held == held_.end() || held->second.empty() || held->second == kAnyModule) return "";
    return held->second + names_.meaning(chain).substr(first.size());
  }

  // In a chain that an import begins each name is read of the one before it; in another one of
  // something that may be a module, unless it is `self`.
  void note_reads(TSNode chain) {
    std::string whole = meaning_by_module(chain);
    const bool known = !whole.empty();
    if (!known) whole = names_.meaning(chain);
    std::string_view rest = whole;
    constexpr std::string_view kSelf = "self.";
    if (rest.starts_with(kSelf)) rest.remove_prefix(kSelf.size());
    for (size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      const std::string_view owner = known ? rest.substr(0, dot) : std::string_view{};
      rest.remove_prefix(dot + 1);
      out_.reads.push_back(read_of(owner, rest.substr(0, rest.find('.'))));
    }
  }

  // `import_module("m").F`, and `modules[i].F` of what may be a module.
  void note_found(TSNode attribute) {
    const auto module = names_.module_found(field(attribute, "object"));
    const std::string_view owner =
        !module || *module == kAnyModule ? std::string_view{} : last_name(*module);
    out_.reads.push_back(read_of(owner, names_.text(field(attribute, "attribute"))));
  }

  FileNames names_;
  FileFacts& out_;
  FileNodes nodes_;
  std::vector<Scope> scopes_{{UINT32_MAX, FileNodes::kNoClass, false}};
  NodeList bases_, asked_, compared_;
  NodeList found_;                              // attributes of other expressions than names
  std::vector<std::string_view> quoted_;        // names of classes
  std::unordered_set<std::string_view> local_;  // classes of the file
  std::unordered_map<std::string_view, std::string> held_;  // what is assigned to a name: a module
};

}  // namespace

FileFacts file_facts(TSNode root, std::string_view source, std::string module, bool package,
                     bool test) {
  FileFacts out;
  out.module = index_module(root, source, std::move(module), package);
  FactsReader(source, out.module.name, package, out).read(root, test);
  return out;
}

uint32_t read_of(std::string_view owner, std::string_view name) {
  uint64_t hash = hash_of(owner);
  hash = with_byte(hash, '.');
  for (char c : name) hash = with_byte(hash, c);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

bool test_file(std::string_view relative) {
  const std::string_view name = relative.substr(relative.rfind('/') + 1);
  if (name.starts_with("test_") || name.ends_with("_test.py") || name == "conftest.py") return true;
  const std::string path = "/" + std::string(relative);
  return path.find("/tests/") != std::string::npos || path.find("/test/") != std::string::npos;
}

}  // namespace refit::python
