// Module graph: see project.hpp. Modules other than the one being planned are read when a name
// leads to them, once, and kept.
#include "rewriter/frontend/python/project.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace refit::python {

namespace fs = std::filesystem;

namespace {

std::string parent_package(std::string_view module, int levels) {
  std::string out(module);
  for (int i = 0; i < levels; ++i) {
    size_t dot = out.rfind('.');
    if (dot == std::string::npos) return "";
    out.resize(dot);
  }
  return out;
}

// The module named by `from X import`: X with leading dots resolved against the importing module.
std::string from_module(TSNode node, std::string_view source, std::string_view module,
                        bool package) {
  if (!is(node, "relative_import")) return std::string(text_of(source, node));
  int dots = 0;
  std::string rest;
  for (TSNode child : all_children_of(node)) {
    if (is(child, "import_prefix")) {
      for (char c : text_of(source, child)) dots += c == '.';
    } else if (is(child, "dotted_name")) {
      rest = text_of(source, child);
    }
  }
  std::string base = parent_package(module, package ? dots - 1 : dots);
  if (base.empty()) return rest;
  return rest.empty() ? base : base + "." + rest;
}

class Indexer {
 public:
  Indexer(std::string_view source, Module& out) : source_(source), out_(out) {}

  void run(TSNode root) {
    std::vector<std::pair<TSNode, bool>> work{{root, false}};
    while (!work.empty()) {
      auto [node, guarded] = work.back();
      work.pop_back();
      std::vector<std::pair<TSNode, bool>> inner;
      statement(node, guarded, inner);
      work.insert(work.end(), inner.rbegin(), inner.rend());
    }
  }

 private:
  void bind(std::string_view name, Binding binding) {
    out_.names.bindings[std::string(name)].push_back(std::move(binding));
  }

  void target(TSNode node, TSNode right, ByteRange at, bool guarded) {
    if (is(node, "identifier")) {
      Binding b{Binding::Kind::assignment, "", at, guarded};
      if (present(right) && is(right, "none")) b.kind = Binding::Kind::none;
      std::string_view name = text_of(source_, node);
      if (present(right) && (is(right, "attribute") || is(right, "identifier"))) {
        b.qualified = text_of(source_, right);  // an alias: `sdpa = F.scaled_dot_product_attention`
      }
      if (name == "__all__" && present(right)) {
        for (TSNode item : children_of(right)) {
          if (!is(item, "string")) continue;
          for (TSNode part : children_of(item)) {
            if (is(part, "string_content")) out_.all.emplace_back(text_of(source_, part));
          }
        }
      }
      bind(name, std::move(b));
      return;
    }
    if (is(node, "pattern_list") || is(node, "tuple_pattern") || is(node, "list_pattern")) {
      for (TSNode child : children_of(node)) target(child, TSNode{}, at, guarded);
    }
  }

  void statement(TSNode node, bool guarded, std::vector<std::pair<TSNode, bool>>& inner) {
    std::string_view type = type_of(node);
    if (type == "module" || type == "block") {
      for (TSNode child : children_of(node)) inner.emplace_back(child, guarded);
    } else if (type == "import_statement" || type == "import_from_statement") {
      for (const Imported& i : imported_names(node, source_, out_.name, out_.package)) {
        bind(i.local, {Binding::Kind::import, i.qualified, range_of(node), guarded});
      }
      std::string star = star_module(node, source_, out_.name, out_.package);
      if (!star.empty()) out_.names.stars.push_back(star);
    } else if (type == "function_definition" || type == "class_definition") {
      std::string_view name = text_of(source_, field(node, "name"));
      bind(name, {type == "class_definition" ? Binding::Kind::class_ : Binding::Kind::function,
                  out_.name + "." + std::string(name), range_of(node), guarded});
    } else if (type == "decorated_definition") {
      inner.emplace_back(field(node, "definition"), guarded);
    } else if (type == "expression_statement") {
      for (TSNode child : children_of(node)) {
        while (is(child, "assignment")) {
          TSNode right = field(child, "right");
          target(field(child, "left"), is(right, "assignment") ? TSNode{} : right, range_of(node),
                 guarded);
          child = right;
          if (!present(child)) break;
        }
        if (present(child) && is(child, "augmented_assignment")) {
          target(field(child, "left"), TSNode{}, range_of(node), guarded);
        }
      }
    } else if (type == "for_statement") {
      target(field(node, "left"), TSNode{}, range_of(node), true);
      for (TSNode child : children_of(node)) {
        if (is(child, "block") || is(child, "else_clause")) inner.emplace_back(child, true);
      }
    } else if (type == "if_statement" || type == "try_statement" || type == "while_statement" ||
               type == "with_statement" || type == "elif_clause" || type == "else_clause" ||
               type == "except_clause" || type == "except_group_clause" ||
               type == "finally_clause" || type == "match_statement" || type == "case_clause") {
      for (TSNode child : children_of(node)) {
        std::string_view t = type_of(child);
        if (t == "block" || t == "elif_clause" || t == "else_clause" || t == "except_clause" ||
            t == "except_group_clause" || t == "finally_clause" || t == "case_clause") {
          inner.emplace_back(child, true);
        }
      }
    }
  }

  std::string_view source_;
  Module& out_;
};

}  // namespace

std::vector<Imported> imported_names(TSNode statement, std::string_view source,
                                     std::string_view module, bool package) {
  std::vector<Imported> out;
  if (is(statement, "import_statement")) {
    for (TSNode name : fields_of(statement, "name")) {
      if (is(name, "aliased_import")) {
        out.push_back({std::string(text_of(source, field(name, "alias"))),
                       std::string(text_of(source, field(name, "name"))), name});
      } else {
        std::string dotted(text_of(source, name));
        std::string head = dotted.substr(0, dotted.find('.'));
        out.push_back({head, head, name});
      }
    }
  } else if (is(statement, "import_from_statement")) {
    std::string from = from_module(field(statement, "module_name"), source, module, package);
    for (TSNode name : fields_of(statement, "name")) {
      TSNode what = is(name, "aliased_import") ? field(name, "name") : name;
      TSNode local = is(name, "aliased_import") ? field(name, "alias") : name;
      std::string item(text_of(source, what));
      out.push_back(
          {std::string(text_of(source, local)), from.empty() ? item : from + "." + item, name});
    }
  }
  return out;
}

std::string star_module(TSNode statement, std::string_view source, std::string_view module,
                        bool package) {
  if (!is(statement, "import_from_statement")) return "";
  for (TSNode child : children_of(statement)) {
    if (is(child, "wildcard_import")) {
      return from_module(field(statement, "module_name"), source, module, package);
    }
  }
  return "";
}

Module index_module(TSNode root, std::string_view source, std::string name, bool package) {
  Module out;
  out.name = std::move(name);
  out.package = package;
  Indexer(source, out).run(root);
  return out;
}

Project::Project(const std::string& root, const std::vector<File>& files,
                 const std::vector<std::string>& module_roots) {
  std::unordered_map<std::string, bool> has_init;  // directory (relative) -> has __init__.py
  for (const File& file : files) {
    fs::path p(file.relative);
    if (p.filename() == "__init__.py") has_init[p.parent_path().generic_string()] = true;
  }
  // The folder itself may be (part of) a package whose top lies above it.
  std::string above;
  fs::path folder = fs::absolute(root).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  while (folder.has_filename() && fs::exists(folder / "__init__.py")) {
    above = folder.filename().string() + (above.empty() ? "" : "." + above);
    folder = folder.parent_path();
  }
  for (const File& file : files) {
    fs::path p(file.relative);
    bool package = p.filename() == "__init__.py";
    fs::path dir = p.parent_path();
    std::string by_package = package ? "" : p.stem().string();
    fs::path at = dir;
    bool inside = false;
    while (!at.empty() && has_init.contains(at.generic_string())) {
      by_package = at.filename().string() + (by_package.empty() ? "" : "." + by_package);
      at = at.parent_path();
      inside = true;
    }
    if (at.empty() && !above.empty()) {
      by_package = above + (by_package.empty() ? "" : "." + by_package);
      inside = true;
    }
    std::string by_path;
    for (const auto& part : dir) by_path += part.string() + ".";
    by_path += package ? "" : p.stem().string();
    if (!by_path.empty() && by_path.back() == '.') by_path.pop_back();
    std::string name = inside ? by_package : by_path;
    module_names_[file.relative] = name;
    packages_[name] = package;
    files_.emplace(name, file);
    if (by_path != name && files_.emplace(by_path, file).second) packages_[by_path] = package;
    for (const std::string& from : module_roots) {
      if (from.empty() || !std::string_view(file.relative).starts_with(from + "/")) continue;
      std::string by_root = by_path.substr(std::min(by_path.size(), from.size() + 1));
      if (!by_root.empty() && files_.emplace(by_root, file).second) packages_[by_root] = package;
    }
  }
}

std::string Project::module_of(std::string_view relative, bool* package) const {
  auto found = module_names_.find(std::string(relative));
  if (found == module_names_.end()) {
    fs::path p{std::string(relative)};
    if (package != nullptr) *package = false;
    return p.stem().string();
  }
  if (package != nullptr) *package = packages_.at(found->second);
  return found->second;
}

std::string Project::file_of(std::string_view module) const {
  auto found = files_.find(std::string(module));
  return found == files_.end() ? "" : found->second.relative;
}

const Module* Project::module(const std::string& name) {
  std::lock_guard lock(mutex_);
  auto known = modules_.find(name);
  if (known != modules_.end()) return known->second.get();
  auto& slot = modules_[name];
  auto found = files_.find(name);
  if (found == files_.end()) return nullptr;
  std::ifstream in(found->second.path, std::ios::binary);
  if (!in) return nullptr;
  std::ostringstream bytes;
  bytes << in.rdbuf();
  auto source = Source::decode(found->second.relative, bytes.str());
  if (!source) return nullptr;
  Tree tree(source->text());
  slot =
      std::make_unique<Module>(index_module(tree.root(), source->text(), name, packages_.at(name)));
  std::vector<TSNode> work{tree.root()};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    for (TSNode child : children_of(node)) {
      std::string_view type = type_of(child);
      if (type == "import_from_statement") {
        for (const Imported& i : imported_names(child, source->text(), name, slot->package)) {
          slot->inner_imports.insert(i.qualified);
        }
      } else if (type == "block" || type.ends_with("_statement") || type.ends_with("_definition") ||
                 type.ends_with("_clause")) {
        work.push_back(child);
      }
    }
  }
  return slot.get();
}

std::optional<std::string> Project::meaning(const std::vector<Binding>& bindings,
                                            std::string* why) {
  std::optional<std::string> one;
  for (const Binding& b : bindings) {
    switch (b.kind) {
      case Binding::Kind::none:
        continue;  // a probe: `except ImportError: f = None`
      case Binding::Kind::import:
      case Binding::Kind::function:
      case Binding::Kind::class_: {
        if (one && *one != b.qualified) {
          if (why != nullptr) {
            *why =
                "it may be " + *one + " or " + b.qualified + ", which one is decided at run time";
          }
          return std::nullopt;
        }
        one = b.qualified;
        break;
      }
      default:
        if (why != nullptr) *why = "it is assigned at module level";
        return std::nullopt;
    }
  }
  return one;
}

// One textual pass over the project: which files say `from ….LAST import` or `import ….LAST`.
void Project::index_importers() {
  for (const auto& [name, file] : files_) {
    std::ifstream in(file.path, std::ios::binary);
    std::ostringstream buffer;
    buffer << in.rdbuf();
    std::string bytes = buffer.str();
    bool star = bytes.find("import *") != std::string::npos;
    std::set<std::string> last;
    for (size_t at = bytes.find("from "); at != std::string::npos;
         at = bytes.find("from ", at + 1)) {
      size_t begin = at + 5;
      size_t end = bytes.find_first_of(" \t\r\n;#", begin);
      if (end == std::string::npos) break;
      std::string from = bytes.substr(begin, end - begin);
      size_t dot = from.rfind('.');
      std::string component = dot == std::string::npos ? from : from.substr(dot + 1);
      if (!component.empty()) last.insert(component);
    }
    for (const std::string& component : last) importers_[component].push_back({name, star});
  }
}

std::string Project::importer_of(const std::string& module_name, const std::string& name,
                                 const std::string& except) {
  std::call_once(importers_once_, [this] { index_importers(); });
  std::string component = module_name.substr(module_name.rfind('.') + 1);
  auto found = importers_.find(component);
  if (found == importers_.end()) return "";
  for (const Importer& importer : found->second) {
    auto file = files_.find(importer.module);
    if (file == files_.end() || file->second.relative == except) continue;
    if (!importer.star) {
      std::ifstream in(file->second.path, std::ios::binary);
      std::ostringstream bytes;
      bytes << in.rdbuf();
      if (bytes.str().find(name) == std::string::npos) continue;
    }
    const Module* m = module(importer.module);
    if (m == nullptr) continue;
    for (const std::string& star : m->names.stars) {
      if (star == module_name) return file->second.relative;
    }
    if (m->inner_imports.contains(module_name + "." + name)) return file->second.relative;
  }
  return "";
}

bool Project::subclassed(const std::string& module_name, const std::string& name) {
  std::call_once(importers_once_, [this] { index_importers(); });
  auto found = importers_.find(module_name.substr(module_name.rfind('.') + 1));
  if (found == importers_.end()) return false;
  for (const Importer& importer : found->second) {
    auto file = files_.find(importer.module);
    if (file == files_.end() || importer.module == module_name) continue;
    std::ifstream in(file->second.path, std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    std::string text = bytes.str();
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
      size_t line = text.rfind('\n', at);
      size_t begin = line == std::string::npos ? 0 : line + 1;
      begin = text.find_first_not_of(" \t", begin);
      if (begin != std::string::npos && text.compare(begin, 6, "class ") == 0 && begin + 6 < at) {
        return true;
      }
    }
  }
  return false;
}

std::optional<std::string> Project::resolve(const std::string& qualified) {
  return resolve(qualified, 0);
}

std::optional<std::string> Project::resolve(const std::string& qualified, int depth) {
  if (depth > 16) return std::nullopt;
  // The longest prefix that is a module of the project, short of the whole name.
  for (size_t dot = qualified.rfind('.'); dot != std::string::npos && dot > 0;
       dot = qualified.rfind('.', dot - 1)) {
    std::string prefix = qualified.substr(0, dot);
    if (!has_module(prefix)) continue;
    if (has_module(qualified)) return qualified;
    const Module* m = module(prefix);
    if (m == nullptr) return std::nullopt;
    std::string rest = qualified.substr(dot + 1);
    std::string head = rest.substr(0, rest.find('.'));
    std::string tail = rest.size() > head.size() ? rest.substr(head.size()) : "";
    auto found = m->names.bindings.find(head);
    if (found == m->names.bindings.end()) {
      for (const std::string& star : m->names.stars) {
        auto through = resolve(star + "." + rest, depth + 1);
        if (through && *through != star + "." + rest) return through;
      }
      return qualified;  // a lazily made attribute: the name stands for itself
    }
    auto one = meaning(found->second, nullptr);
    const Binding& only = found->second.front();
    if (!one && found->second.size() == 1 && only.kind == Binding::Kind::assignment &&
        !only.guarded && !only.qualified.empty()) {
      // An alias, bound once to a dotted name of that module.
      std::string first = only.qualified.substr(0, only.qualified.find('.'));
      auto base = m->names.bindings.find(first);
      if (first != head && base != m->names.bindings.end()) {
        one = meaning(base->second, nullptr);
        if (one) one = *one + only.qualified.substr(first.size());
      }
    }
    if (!one) return std::nullopt;
    std::string next = *one + tail;
    if (next == qualified) return next;
    return resolve(next, depth + 1);
  }
  return qualified;
}

}  // namespace refit::python
