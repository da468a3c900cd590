// See only_reads.hpp.
#include "rewriter/python/lower/only_reads.hpp"

#include <algorithm>
#include <array>
#include <unordered_set>
#include <vector>

namespace refit::python {

namespace {

// What may stand anywhere in such a function; calls and assignments are looked at besides.
constexpr auto kHarmless = [] {
  std::array<NodeKind, 41> kinds{
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
  std::ranges::sort(kinds);
  return kinds;
}();

// Sorted. Of Python's own functions those that make numbers and sequences of what they are given.
constexpr std::array<std::string_view, 12> kBuiltins{"abs", "bool",  "enumerate", "float",
                                                     "int", "len",   "list",      "max",
                                                     "min", "range", "tuple",     "zip"};
static_assert(std::ranges::is_sorted(kBuiltins));

// Whether a name may mean something else than Python's own where a function calls it: the module
// binds it, the function does, or one around it might.
class Shadowed {
 public:
  Shadowed(TSNode function, std::string_view source,
           const std::function<bool(std::string_view name)>& bound)
      : function_(function), source_(source), bound_(bound) {}
  bool may_be(std::string_view name) {
    if (!read_) read();
    return nested_ || names_.contains(name) || bound_(name);
  }

 private:
  void read() {
    read_ = true;
    for (TSNode at = ts_node_parent(function_); present(at); at = ts_node_parent(at)) {
      nested_ = nested_ || is(at, "function_definition") || is(at, "lambda");
    }
    add_names(field(function_, "parameters"));
    std::vector<TSNode> work{field(function_, "body")};
    while (!work.empty()) {
      TSNode node = work.back();
      work.pop_back();
      if (is(node, "assignment") || is(node, "for_in_clause")) add_names(field(node, "left"));
      push_children(node, work);
    }
  }
  void add_names(TSNode root) {
    std::vector<TSNode> work{root};
    while (!work.empty()) {
      TSNode node = work.back();
      work.pop_back();
      if (!present(node)) continue;
      if (is(node, "identifier")) names_.insert(text_of(source_, node));
      push_children(node, work);
    }
  }

  TSNode function_;
  std::string_view source_;
  const std::function<bool(std::string_view name)>& bound_;
  bool read_ = false, nested_ = false;
  std::unordered_set<std::string_view> names_;
};

bool harmless_call(TSNode call, std::string_view source, const Catalogue& catalogue,
                   Shadowed& shadowed) {
  TSNode callee = field(call, "function");
  TSNode list = field(call, "arguments");
  if (is(callee, "identifier")) {
    auto arguments = children_of(list);
    std::string_view name = text_of(source, callee);
    return std::binary_search(kBuiltins.begin(), kBuiltins.end(), name) && !shadowed.may_be(name) &&
           std::ranges::none_of(
               arguments, [](TSNode a) { return is(a, "keyword_argument"); });  // `key` is called
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
  return is(target, "pattern_list") &&
         std::ranges::all_of(parts, [](TSNode part) { return is(part, "identifier"); });
}

}  // namespace

bool only_reads(TSNode function, std::string_view source, const Catalogue& catalogue,
                const std::function<bool(std::string_view name)>& bound) {
  if (text_of(source, function).starts_with("async")) return false;
  Shadowed shadowed(function, source, bound);
  bool returns = false;  // a body that was left out has none
  std::vector<TSNode> work{field(function, "body")};
  while (!work.empty()) {
    TSNode node = work.back();
    work.pop_back();
    const NodeKind type = type_of(node);
    if (!std::ranges::binary_search(kHarmless, type)) return false;
    returns = returns || type == "return_statement";
    if (type == "call" && !harmless_call(node, source, catalogue, shadowed)) return false;
    if (type == "assignment" && !own_names(field(node, "left"))) return false;
    if (type == "string") {
      auto parts = children_of(node);
      if (std::ranges::any_of(parts, [](TSNode part) { return is(part, "interpolation"); })) {
        return false;
      }
      continue;
    }
    push_children(node, work);
  }
  return returns;
}

}  // namespace refit::python
