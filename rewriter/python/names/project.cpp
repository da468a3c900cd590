// Module graph: see project.hpp. Modules other than the one being planned are read when a name
// leads to them, once, and kept.
#include "rewriter/python/names/project.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "rewriter/python/names/outline.hpp"
#include "rewriter/python/names/scope.hpp"
#include "rewriter/python/syntax/python_modules.hpp"
#include "rewriter/text/disk.hpp"

namespace refit::python {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kReadLimit = uint64_t{1} << 31;
constexpr uint64_t kKeepLimit = uint64_t{1} << 16;  // names of modules that are kept unasked

std::string parent_package(std::string_view module, int levels) {
  std::string out(module);
  for (int i = 0; i < levels; ++i) {
    size_t dot = out.rfind('.');
    if (dot == std::string::npos) return "";
    out.resize(dot);
  }
  return out;
}

std::string from_module(TSNode node, std::string_view source, std::string_view module,
                        bool package) {
  if (!is(node, "relative_import")) return std::string(text_of(source, node));
  std::string written;
  for (TSNode child : all_children_of(node)) {
    if (is(child, "import_prefix")) {
      for (char c : text_of(source, child)) {
        if (c == '.') written += c;
      }
    } else if (is(child, "dotted_name")) {
      written += text_of(source, child);
    }
  }
  return absolute_module(written, module, package);
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

  void target(TSNode whole, TSNode value, ByteRange at, bool guarded) {
    std::vector<TSNode> work{whole};
    while (!work.empty()) {
      TSNode node = work.back();
      work.pop_back();
      if (is(node, "identifier")) {
        bind_name(node, ts_node_eq(node, whole) ? value : TSNode{}, at, guarded);
      } else if (is(node, "pattern_list") || is(node, "tuple_pattern") ||
                 is(node, "list_pattern") || is(node, "list_splat_pattern")) {
        auto parts = children_of(node);
        work.insert(work.end(), parts.rbegin(), parts.rend());
      }
    }
  }

  void bind_name(TSNode node, TSNode right, ByteRange at, bool guarded) {
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
  }

  // What a statement binds beside its own targets: names behind `as`, in the patterns of a `case`,
  // before `:=`; those of the statements inside it are theirs.
  void header(TSNode statement) {
    std::set<std::string, std::less<>> names;
    std::vector<TSNode> work{statement};
    while (!work.empty()) {
      TSNode node = work.back();
      work.pop_back();
      const NodeKind type = type_of(node);
      const bool handler = type == "except_clause" || type == "except_group_clause";
      TSNode alias = handler ? field(node, "alias") : TSNode{};
      if (type == "as_pattern_target" || type == "case_pattern" || present(alias)) {
        names.merge(bound_names(present(alias) ? alias : node, source_));
        if (!present(alias)) continue;
      } else if (type == "named_expression") {
        names.emplace(text_of(source_, field(node, "name")));
      }
      for (TSNode child : children_of(node)) {
        const NodeKind t = type_of(child);
        bool own = t == "block" || t == "lambda" || type_name(child).ends_with("_clause");
        if (!own || t == "with_clause" || t == "for_in_clause" || t == "if_clause") {
          work.push_back(child);
        }
      }
    }
    for (const std::string& name : names) {
      bind(name, {Binding::Kind::other, "", range_of(statement), true});
    }
  }

  void statement(TSNode node, bool guarded, std::vector<std::pair<TSNode, bool>>& inner) {
    const NodeKind type = type_of(node);
    if (type == "with_statement" || type == "case_clause" || type == "except_clause" ||
        type == "except_group_clause" ||
        (type != "module" && type != "block" && type != "decorated_definition" &&
         text_of(source_, node).find(":=") != std::string_view::npos)) {
      header(node);
    }
    if (type == "module" || type == "block") {
      for (TSNode child : children_of(node)) inner.emplace_back(child, guarded);
    } else if (type == "import_statement" || type == "import_from_statement") {
      for (const Imported& i : imported_names(node, source_, out_.name, out_.package)) {
        bind(i.local, {Binding::Kind::import, i.qualified, range_of(node), guarded});
      }
      std::string star = star_module(node, source_, out_.name, out_.package);
      if (!star.empty() && !has_types_only(star)) out_.names.stars.push_back(star);
    } else if (type == "function_definition" || type == "class_definition") {
      std::string_view name = text_of(source_, field(node, "name"));
      bind(name, {type == "class_definition" ? Binding::Kind::class_ : Binding::Kind::function,
                  out_.name + "." + std::string(name), range_of(node), guarded});
    } else if (type == "decorated_definition") {
      for (TSNode child : children_of(node)) {
        if (is(child, "decorator")) header(child);
      }
      inner.emplace_back(field(node, "definition"), guarded);
    } else if (type == "expression_statement") {
      for (TSNode child : children_of(node)) {
        TSNode given = child;  // to all of `a = b = None`
        while (present(given) && is(given, "assignment")) given = field(given, "right");
        while (present(child) && is(child, "assignment")) {
          target(field(child, "left"), given, range_of(node), guarded);
          child = field(child, "right");
        }
        if (present(child) && is(child, "augmented_assignment")) {
          target(field(child, "left"), TSNode{}, range_of(node), guarded);
        }
      }
    } else if (type == "type_alias_statement") {
      bind(alias_name(node, source_), {Binding::Kind::other, "", range_of(node), guarded});
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
        const NodeKind t = type_of(child);
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

std::string absolute_module(std::string_view written, std::string_view module, bool package) {
  size_t dots = std::min(written.find_first_not_of('.'), written.size());
  std::string rest(written.substr(dots));
  if (dots == 0) return rest;
  auto levels = static_cast<int>(dots);
  std::string base = parent_package(module, package ? levels - 1 : levels);
  if (base.empty()) return rest;
  return rest.empty() ? base : base + "." + rest;
}

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
                 const std::vector<std::string>& module_roots)
    : all_(files),
      notes_(files.size()),
      noted_(files.size(), 0),
      index_(files.size(), [this](uint32_t file) { return read_facts(file); }) {
  std::unordered_set<std::string_view> has_init;  // directories (relative) with an __init__.py
  auto parent_of = [](std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
  };
  auto name_of = [](std::string_view path) {
    size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  };
  for (const File& file : all_) {
    if (name_of(file.relative) == "__init__.py") has_init.insert(parent_of(file.relative));
  }
  // The folder itself may be (part of) a package whose top lies above it.
  std::string above;
  fs::path folder = fs::absolute(root).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  while (folder.has_filename() && fs::exists(folder / "__init__.py")) {
    above = folder.filename().string() + (above.empty() ? "" : "." + above);
    folder = folder.parent_path();
  }
  for (uint32_t number = 0; number < all_.size(); ++number) {
    const File& file = all_[number];
    numbers_.emplace(file.relative, number);
    std::string_view base = name_of(file.relative);
    bool package = base == "__init__.py";
    std::string_view dir = parent_of(file.relative);
    std::string_view stem = base.substr(0, base.rfind('.'));
    auto joined = [](std::string_view a, std::string_view b) {
      std::string out(a);
      if (!a.empty() && !b.empty()) out += '.';
      out += b;
      return out;
    };
    std::string by_package(package ? std::string_view{} : stem);
    std::string_view at = dir;
    bool inside = false;
    while (!at.empty() && has_init.contains(at)) {
      by_package = joined(name_of(at), by_package);
      at = parent_of(at);
      inside = true;
    }
    folders_.push_back(at);
    if (at.empty() && !above.empty()) {
      by_package = joined(above, by_package);
      inside = true;
    }
    std::string by_path(dir);
    std::replace(by_path.begin(), by_path.end(), '/', '.');
    by_path = joined(by_path, package ? std::string_view{} : stem);
    const std::string& name = inside ? by_package : by_path;
    // Of `a.py` and `a/__init__.py` Python takes the package.
    auto give = [&](const std::string& called) {
      const auto own = files_.emplace(called, Named{number, package}).first;
      if (package && !own->second.package) own->second = Named{number, package};
      return own;
    };
    module_names_.push_back(give(name)->first);
    if (by_path != name) give(by_path);
    for (const std::string& from : module_roots) {
      if (from.empty() || !std::string_view(file.relative).starts_with(from + "/")) continue;
      std::string by_root = by_path.substr(std::min(by_path.size(), from.size() + 1));
      if (!by_root.empty()) give(by_root);
    }
  }
  for (const auto& [name, number] : files_) {
    components_.emplace(std::string_view(name).substr(name.rfind('.') + 1),
                        static_cast<uint32_t>(components_.size()));
  }
}

std::string Project::module_of(std::string_view relative, bool* package) const {
  auto found = numbers_.find(relative);
  if (found == numbers_.end()) {
    fs::path p{std::string(relative)};
    if (package != nullptr) *package = false;
    return p.stem().string();
  }
  const std::string_view name = module_names_[found->second];
  if (package != nullptr) *package = fs::path(relative).filename() == "__init__.py";
  return std::string(name);
}

std::string Project::file_of(std::string_view module) const {
  auto found = files_.find(module);
  return found == files_.end() ? "" : std::string(all_[found->second.file].relative);
}

const Module* Project::module(const std::string& name) {
  {
    std::shared_lock lock(mutex_);
    auto known = modules_.find(name);
    if (known != modules_.end()) return known->second.get();
  }
  auto made = read_module(name);
  std::unique_lock lock(mutex_);
  return modules_.emplace(name, std::move(made)).first->second.get();
}

std::optional<Source> Project::source_of(const std::string& module, bool* package) const {
  auto found = files_.find(module);
  if (found == files_.end()) return std::nullopt;
  const File& file = all_[found->second.file];
  auto bytes = real_disk().read(std::string(file.path), kReadLimit);
  if (!bytes) return std::nullopt;
  auto source = Source::decode(std::string(file.relative), std::move(*bytes));
  if (!source) return std::nullopt;
  *package = found->second.package;
  return std::move(*source);
}

void Project::add_late_names(uint32_t file, std::string_view text, Module& module) {
  read_unnoted();
  if (notes_[file].globals) add_globals(text, module);
  if (notes_[file].bound_by_text) add_bound_by_text(text, module);
}

bool Project::may_bind_by_text(std::string_view relative) {
  read_unnoted();
  auto known = numbers_.find(relative);
  return known == numbers_.end() || notes_[known->second].bound_by_text;
}

void Project::keep(std::string_view relative, std::string_view text, Module outlined) {
  auto file = numbers_.find(relative);
  auto named = files_.find(outlined.name);
  const size_t names = outlined.names.bindings.size() + outlined.inner_imports.size();
  if (file == numbers_.end() || named == files_.end() || named->second.file != file->second ||
      kept_ + names > kKeepLimit) {
    return;
  }
  {
    std::shared_lock lock(mutex_);
    if (modules_.contains(outlined.name)) return;
  }
  kept_ += names;
  std::string name = outlined.name;
  auto made = std::make_unique<Module>(std::move(outlined));
  add_late_names(file->second, text, *made);
  std::unique_lock lock(mutex_);
  modules_.emplace(std::move(name), std::move(made));
}

std::unique_ptr<Module> Project::read_module(const std::string& name) {
  bool package = false;
  auto source = source_of(name, &package);
  if (!source) return nullptr;
  if (auto outlined = outline(source->text(), name, package)) {
    auto out = std::make_unique<Module>(std::move(outlined->module));
    add_late_names(files_.find(name)->second.file, source->text(), *out);
    return out;
  }
  // What the scan of lines cannot make sense of, the parser may.
  Tree tree(source->text());
  auto out = std::make_unique<Module>(index_module(tree.root(), source->text(), name, package));
  std::vector<TSNode> work{tree.root()};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    for (TSNode child : children_of(node)) {
      const NodeKind type = type_of(child);
      const std::string_view kind = type_name(child);
      if (type == "import_from_statement") {
        for (const Imported& i : imported_names(child, source->text(), name, out->package)) {
          out->inner_imports.insert(i.qualified);
        }
      } else if (type == "block" || kind.ends_with("_statement") || kind.ends_with("_definition") ||
                 kind.ends_with("_clause")) {
        work.push_back(child);
      }
    }
  }
  add_globals(tree.root(), source->text(), *out);
  add_bound_by_text(source->text(), *out);
  return out;
}

const Project::Classes& Project::classes() {
  std::call_once(classes_once_, [this] {
    read_unnoted();
    for (uint32_t file = 0; file < all_.size(); ++file) {
      const TextNotes notes = std::move(notes_[file].text);
      classes_.subclasses.add(file, notes);
      classes_.stores.add(notes);
      classes_.scripted.insert(notes.scripted.begin(), notes.scripted.end());
      classes_.scripting.insert(notes.scripting.begin(), notes.scripting.end());
      for (const auto& [name, alias] : notes_[file].aliases) {
        auto& others = classes_.known_as[name];
        if (std::find(others.begin(), others.end(), alias) == others.end()) others.push_back(alias);
      }
    }
  });
  return classes_;
}

bool Project::compared(const std::string& name) { return classes().subclasses.compared(name); }

std::vector<Subclass> Project::subclasses_of(const std::string& module_name,
                                             const std::string& name) {
  auto known = numbers_.find(file_of(module_name));
  uint32_t own = known == numbers_.end() ? static_cast<uint32_t>(all_.size()) : known->second;
  std::vector<Subclass> out = classes().subclasses.of(name, own);
  std::erase_if(out, [&](const Subclass& subclass) { return subclass.file == own; });
  return out;
}

bool Project::subclassed(const std::string& module_name, const std::string& name) {
  return !subclasses_of(module_name, name).empty();
}

std::vector<std::string> Project::subclasses_storing(const std::string& module_name,
                                                     const std::string& name,
                                                     const std::string& attribute) {
  std::vector<std::string> out;
  for (const Subclass& subclass : subclasses_of(module_name, name)) {
    auto bytes = real_disk().read(std::string(all_[subclass.file].path), kReadLimit);
    if (!bytes) continue;
    if (!stores_attribute(class_text(*bytes, subclass.begin), attribute)) continue;
    out.push_back(module_of(all_[subclass.file].relative, nullptr) + "." +
                  std::string(class_name(*bytes, subclass.begin)));
  }
  return out;
}

bool Project::subclass_writes(const std::string& module_name, const std::string& name,
                              const std::string& attribute) {
  std::string key = module_name + "." + name + "." + attribute;
  {
    std::shared_lock lock(mutex_);
    auto known = subclass_writes_.find(key);
    if (known != subclass_writes_.end()) return known->second;
  }
  bool found = !subclasses_storing(module_name, name, attribute).empty();
  std::unique_lock lock(mutex_);
  subclass_writes_[key] = found;
  return found;
}

}  // namespace refit::python
