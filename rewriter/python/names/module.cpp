// See module.hpp.
#include "rewriter/python/names/module.hpp"

#include <algorithm>

#include "rewriter/python/names/scope.hpp"
#include "rewriter/python/syntax/python_modules.hpp"

namespace refit::python {

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

std::optional<std::string_view> literal_text(TSNode node, std::string_view source) {
  if (!is(node, "string")) return std::nullopt;
  std::optional<std::string_view> content;
  for (TSNode part : children_of(node)) {
    if (is(part, "interpolation") || (is(part, "string_content") && content)) return std::nullopt;
    if (is(part, "string_content")) content = text_of(source, part);
  }
  return content;
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

namespace {

// Binds the name of an entry of `globals()` or, at the module's level, of `vars()` that a statement
// writes or deletes.
void add_table_entry(TSNode statement, TSNode target, std::string_view source, Module& out) {
  if (!is(target, "subscript")) return;
  const std::string_view table = text_of(source, field(target, "value"));
  if (table != "globals()" && table != "vars()") return;
  if (const auto name = literal_text(field(target, "subscript"), source)) {
    out.names.bindings[std::string(*name)].push_back(
        {Binding::Kind::other, "", range_of(statement), true});
  }
}

// What statements at any depth say of the whole module: the names that they import from other
// modules, and those that functions bind in this one by `global` or by an entry of `globals()`.
void add_inner_statements(TSNode root, std::string_view source, Module& out) {
  walk_tree(root, [&](TSNode node) {
    const NodeKind kind = type_of(node);
    if (kind == "import_from_statement") {
      for (Imported& i : imported_names(node, source, out.name, out.package)) {
        out.inner_imports.insert(std::move(i.qualified));
      }
    } else if (kind == "global_statement") {
      for (TSNode name : children_of(node)) {
        out.names.bindings[std::string(text_of(source, name))].push_back(
            {Binding::Kind::other, "", range_of(node), true});
      }
    } else if (kind == "delete_statement") {
      add_table_entry(node, children_of(node).front(), source, out);
    } else if (kind == "expression_statement" || kind == "assignment") {
      if (kind == "assignment") add_table_entry(node, field(node, "left"), source, out);
      return true;  // `a = b = c` is an assignment in an assignment
    }
    return holds_statements(kind);
  });
}

}  // namespace

Module index_module(TSNode root, std::string_view source, std::string name, bool package) {
  Module out;
  out.name = std::move(name);
  out.package = package;
  Indexer(source, out).run(root);
  add_inner_statements(root, source, out);
  return out;
}

std::vector<DefinitionNode> definitions_of(TSNode root, std::string_view source,
                                           std::string_view name) {
  std::vector<DefinitionNode> out;
  walk_tree(root, [&](TSNode node) {
    const bool decorated = is(node, "decorated_definition");
    const TSNode inner = decorated ? field(node, "definition") : node;
    if (is(inner, "function_definition") || is(inner, "class_definition")) {
      if (text_of(source, field(inner, "name")) == name) out.push_back({inner, node});
      return false;
    }
    const std::string_view kind = type_name(node);
    return kind == "module" || kind == "block" || kind.ends_with("_statement") ||
           kind.ends_with("_clause");
  });
  return out;
}

}  // namespace refit::python
