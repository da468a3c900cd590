// See only_reads.hpp.
#include "rewriter/frontend/python/only_reads.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace refit::python {

namespace {

// Sorted. What may stand anywhere in such a function; calls and assignments are looked at besides.
constexpr std::array<std::string_view, 41> kHarmless{
    "argument_list",
    "assert_statement",
    "assignment",
    "attribute",
    "binary_operator",
    "block",
    "boolean_operator",
    "call",
    "comment",
    "comparison_operator",
    "conditional_expression",
    "elif_clause",
    "ellipsis",
    "else_clause",
    "expression_list",
    "expression_statement",
    "false",
    "float",
    "for_in_clause",
    "generator_expression",
    "identifier",
    "if_clause",
    "if_statement",
    "integer",
    "keyword_argument",
    "list",
    "list_comprehension",
    "list_splat",
    "none",
    "not_operator",
    "parenthesized_expression",
    "pass_statement",
    "pattern_list",
    "return_statement",
    "slice",
    "string",
    "string_content",
    "subscript",
    "true",
    "tuple",
    "unary_operator",
};
static_assert(std::is_sorted(kHarmless.begin(), kHarmless.end()));

// Sorted. Of Python's own functions those that make numbers and sequences of what they are given.
constexpr std::array<std::string_view, 12> kBuiltins{"abs", "bool",  "enumerate", "float",
                                                     "int", "len",   "list",      "max",
                                                     "min", "range", "tuple",     "zip"};
static_assert(std::is_sorted(kBuiltins.begin(), kBuiltins.end()));

bool harmless_call(TSNode call, std::string_view source, const Catalogue& catalogue) {
  TSNode callee = field(call, "function");
  TSNode list = field(call, "arguments");
  if (is(callee, "identifier")) {
    auto arguments = children_of(list);
    return std::binary_search(kBuiltins.begin(), kBuiltins.end(), text_of(source, callee)) &&
           std::none_of(arguments.begin(), arguments.end(),
                        [](TSNode a) { return is(a, "keyword_argument"); });  // `key` is called
  }
  if (!is(callee, "attribute")) return false;
  const Operation* op = catalogue.method(text_of(source, field(callee, "attribute")));
  if (op == nullptr || !op->pure || op->in_place) return false;
  for (TSNode a : children_of(list)) {
    if (!is(a, "keyword_argument")) continue;
    std::string_view name = text_of(source, field(a, "name"));
    if (name == "out" || name == "inplace") return false;
  }
  return true;
}

bool own_names(TSNode target) {
  if (is(target, "identifier")) return true;
  auto parts = children_of(target);
  return is(target, "pattern_list") && std::all_of(parts.begin(), parts.end(), [](TSNode part) {
           return is(part, "identifier");
         });
}

}  // namespace

bool only_reads(TSNode function, std::string_view source, const Catalogue& catalogue) {
  if (text_of(source, function).starts_with("async")) return false;
  bool returns = false;  // a body that was left out has none
  std::vector<TSNode> work{field(function, "body")};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    std::string_view type = type_of(node);
    if (!std::binary_search(kHarmless.begin(), kHarmless.end(), type)) return false;
    returns = returns || type == "return_statement";
    if (type == "call" && !harmless_call(node, source, catalogue)) return false;
    if (type == "assignment" && !own_names(field(node, "left"))) return false;
    if (type == "string") {
      auto parts = children_of(node);
      if (std::any_of(parts.begin(), parts.end(),
                      [](TSNode part) { return is(part, "interpolation"); })) {
        return false;
      }
      continue;
    }
    for (TSNode child : children_of(node)) work.push_back(child);
  }
  return returns;
}

}  // namespace refit::python
