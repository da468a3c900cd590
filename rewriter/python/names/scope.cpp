// See scope.hpp. One walk over a function's nodes that stays out of inner functions and classes.
#include "rewriter/python/names/scope.hpp"

#include <algorithm>
#include <array>

#include "rewriter/text/byte_scan.hpp"

namespace refit::python {

namespace {

using NameSet = std::set<std::string, std::less<>>;

void add_targets(TSNode node, std::string_view source, NameSet& out) {
  std::vector<TSNode> work{node};
  while (!work.empty()) {
    TSNode at = work.back();
    work.pop_back();
    const NodeKind type = type_of(at);
    // The walk comes to a pattern inside a pattern by itself.
    if (type == "case_pattern" && !ts_node_eq(at, node)) continue;
    if (type == "identifier") {
      out.emplace(text_of(source, at));
    } else if (type == "pattern_list" || type == "tuple_pattern" || type == "list_pattern" ||
               type == "list_splat_pattern" || type == "tuple" || type == "list" ||
               type == "as_pattern_target" || type == "parenthesized_expression" ||
               type == "expression_list" || type == "list_splat" || type == "case_pattern" ||
               type == "splat_pattern" || type == "union_pattern" || type == "class_pattern" ||
               type == "dict_pattern" || type == "keyword_pattern" || type == "as_pattern") {
      auto parts = children_of(at);
      // The class of a pattern and the name of its attribute are read.
      bool named = type == "class_pattern" || type == "keyword_pattern";
      work.insert(work.end(), parts.begin() + (named && !parts.empty() ? 1 : 0), parts.end());
    } else if (type == "dotted_name" && ts_node_named_child_count(at) == 1) {
      out.emplace(text_of(source, at));  // a capture in a `case`
    }
  }
}

// What a kind of node is to the walk.
enum class Part : uint8_t {
  around,      // what is inside it may bind names
  expression,  // binds no name but by a walrus
  binding,
};

// By the grammar's number.
const std::array<Part, kNoKind + 1>& parts() {
  static const auto kParts = [] {
    constexpr NodeKind kExpressions[] = {"call",
                                         "attribute",
                                         "subscript",
                                         "binary_operator",
                                         "identifier",
                                         "string",
                                         "integer",
                                         "float",
                                         "argument_list",
                                         "boolean_operator",
                                         "comparison_operator",
                                         "unary_operator",
                                         "not_operator",
                                         "dictionary",
                                         "list_comprehension",
                                         "conditional_expression",
                                         "set",
                                         "await",
                                         "none",
                                         "true",
                                         "false",
                                         "parameters",
                                         "type",
                                         "decorator",
                                         "pass_statement",
                                         "string_content",
                                         "comment",
                                         "concatenated_string"};
    constexpr NodeKind kBindings[] = {
        "function_definition", "class_definition",     "lambda",
        "assignment",          "augmented_assignment", "for_statement",
        "named_expression",    "as_pattern_target",    "except_clause",
        "except_group_clause", "case_pattern",         "type_alias_statement",
        "delete_statement",    "import_statement",     "import_from_statement",
        "global_statement",    "nonlocal_statement"};
    std::array<Part, kNoKind + 1> out{};
    for (size_t kind = 0; kind < out.size(); ++kind) {
      const NodeKind type(kKindNames.numbers[kind]);
      if (std::ranges::find(kExpressions, type) != std::end(kExpressions)) {
        out[kind] = Part::expression;
      } else if (std::ranges::find(kBindings, type) != std::end(kBindings)) {
        out[kind] = Part::binding;
      }
    }
    return out;
  }();
  return kParts;
}

// Adds what a node of the kinds that bind names binds itself; whether nodes inside it may bind
// more.
bool add_bound(TSNode node, std::string_view source, NameSet& out, Scope* scope) {
  const NodeKind type = type_of(node);
  if (type == "function_definition" || type == "class_definition") {
    out.emplace(text_of(source, field(node, "name")));
    return false;
  }
  if (type == "lambda") return false;
  if (type == "assignment" || type == "augmented_assignment" || type == "for_statement") {
    add_targets(field(node, "left"), source, out);
  } else if (type == "named_expression") {
    add_targets(field(node, "name"), source, out);
  } else if (type == "as_pattern_target" || type == "case_pattern") {
    add_targets(node, source, out);
  } else if (type == "except_clause" || type == "except_group_clause") {
    TSNode alias = field(node, "alias");
    if (present(alias)) add_targets(alias, source, out);
  } else if (type == "type_alias_statement") {
    out.emplace(alias_name(node, source));
    return false;
  } else if (type == "delete_statement") {
    for (TSNode child : children_of(node)) add_targets(child, source, out);
  } else if (type == "import_statement" || type == "import_from_statement") {
    for (const Imported& i : imported_names(node, source, "", false)) out.insert(i.local);
    return false;
  } else if (type == "global_statement" && scope != nullptr) {
    for (TSNode child : children_of(node)) scope->globals.emplace(text_of(source, child));
  } else if (type == "nonlocal_statement" && scope != nullptr) {
    for (TSNode child : children_of(node)) scope->nonlocals.emplace(text_of(source, child));
  }
  return true;
}

void walk(TSNode start, std::string_view source, NameSet& out, Scope* scope) {
  if (!present(start)) return;
  const auto& part_of = parts();
  const bool walrus = contains_text(text_of(source, start), ":=");
  walk_tree(start, [&](TSNode node) {
    if (node != start && !ts_node_is_named(node)) return false;
    const Part part = part_of[kind_index(node)];
    return part == Part::around || (part == Part::expression && walrus) ||
           (part == Part::binding && add_bound(node, source, out, scope));
  });
}

}  // namespace

std::string_view alias_name(TSNode statement, std::string_view source) {
  TSNode node = field(statement, "left");
  while (present(node) && !is(node, "identifier")) {
    auto parts = children_of(node);  // of `type`, and of `generic_type` before its parameters
    node = parts.empty() ? TSNode{} : parts.front();
  }
  return present(node) ? text_of(source, node) : std::string_view{};
}

void collect_locals(TSNode body, std::string_view source, Scope& scope) {
  NameSet bound;
  walk(body, source, bound, &scope);
  scope.locals.reserve(bound.size());
  while (!bound.empty()) {
    auto name = bound.extract(bound.begin());
    if (!scope.globals.contains(name.value()) && !scope.nonlocals.contains(name.value())) {
      scope.locals.insert(std::move(name.value()));
    }
  }
  if (!contains_text(text_of(source, body), "nonlocal")) return;
  std::vector<TSNode> work{body};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    for (TSNode child : children_of(node)) {
      if (is(node, "nonlocal_statement")) scope.rebound.emplace(text_of(source, child));
      work.push_back(child);
    }
  }
}

NameSet bound_names(TSNode node, std::string_view source) {
  NameSet bound;
  walk(node, source, bound, nullptr);
  return bound;
}

}  // namespace refit::python
