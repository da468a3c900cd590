// Classes of the project that merely cast: they compute as their base does, in float32, and give
// the type of what they were given. Entry point: Project::casting.
#include <algorithm>
#include <map>

#include "rewriter/python/names/project.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/text/source.hpp"

namespace refit::python {

namespace {

constexpr std::string_view kOperand = "$x";  // what `forward` is given, in texts of this file

bool is_remark(TSNode statement) {
  if (!is(statement, "expression_statement")) return false;
  const NodeList parts = children_of(statement);
  return parts.size() == 1 && is(parts[0], "string");
}

// The names of a definition's parameters; nullopt where one has a default or a star.
std::optional<std::vector<std::string_view>> plain_parameters(TSNode definition,
                                                              std::string_view text) {
  std::vector<std::string_view> out;
  for (TSNode parameter : children_of(field(definition, "parameters"))) {
    const bool typed = is(parameter, "typed_parameter");
    const TSNode name = typed ? children_of(parameter).front() : parameter;
    if (!is(name, "identifier")) return std::nullopt;
    out.push_back(text_of(text, name));
  }
  return out;
}

// Writes expressions without blanks and comments, with what a function's names stand for.
class Expander {
 public:
  Expander(std::string_view text, std::string_view operand) : text_(text) {
    names_[operand] = kOperand;
  }

  // nullopt for an expression with a string in it, or a deep one.
  std::optional<std::string> expanded(TSNode expression) const {
    std::string out;
    return append(expression, 0, out) ? std::optional(std::move(out)) : std::nullopt;
  }
  void give(std::string_view name, std::string value) { names_[name] = std::move(value); }

 private:
  static constexpr int kDeepest = 100;
  bool append(TSNode node, int depth, std::string& out) const {
    if (is(node, "string") || depth > kDeepest) return false;
    if (is(node, "attribute")) {
      if (!append(field(node, "object"), depth + 1, out)) return false;
      out += '.';
      out += text_of(text_, field(node, "attribute"));
      return true;
    }
    if (is(node, "keyword_argument")) {
      out += text_of(text_, field(node, "name"));
      out += '=';
      return append(field(node, "value"), depth + 1, out);
    }
    if (ts_node_child_count(node) == 0) {
      const std::string_view token = text_of(text_, node);
      auto known = is(node, "identifier") ? names_.find(token) : names_.end();
      out += known == names_.end() ? token : known->second;
      return true;
    }
    for (TSNode child : all_children_of(node)) {
      if (!is(child, "comment") && !append(child, depth + 1, out)) return false;
    }
    return true;
  }

  std::string_view text_;
  std::map<std::string_view, std::string> names_;
};

// What `forward` returns, in terms of its operand; "" where it does more than that.
std::string returned(std::string_view text, TSNode forward) {
  auto parameters = plain_parameters(forward, text);
  if (!parameters || parameters->size() != 2 || (*parameters)[0] != "self") return "";
  Expander names(text, (*parameters)[1]);
  std::vector<std::string> assigned;
  const NodeList body = children_of(field(forward, "body"));
  for (size_t i = 0; i < body.size(); ++i) {
    if (i == 0 && is_remark(body[i])) continue;
    const NodeList parts = children_of(body[i]);
    if (parts.size() != 1) return "";
    if (is(body[i], "return_statement")) {
      const auto result = names.expanded(parts[0]);
      if (!result || i + 1 != body.size()) return "";
      // What is assigned and not read may have done something.
      bool all = std::all_of(assigned.begin(), assigned.end(), [&](const std::string& value) {
        return value == "$x.dtype" || result->find(value) != std::string::npos;
      });
      return all ? *result : "";
    }
    if (!is(parts[0], "assignment") || present(field(parts[0], "type"))) return "";
    const TSNode left = field(parts[0], "left"), right = field(parts[0], "right");
    if (!is(left, "identifier") || is(right, "assignment")) return "";
    auto value = names.expanded(right);
    if (!value) return "";
    assigned.push_back(*value);
    names.give(text_of(text, left), std::move(*value));
  }
  return "";
}

bool one_of(std::string_view text, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

// `$x.float()` and its like.
bool widens(std::string_view text) {
  return one_of(text, {"$x.float()", "$x.to(torch.float32)", "$x.to(dtype=torch.float32)",
                       "$x.type(torch.float32)", "$x.to(torch.float)", "$x.type(torch.float)"});
}

bool narrows(std::string_view text) {
  return one_of(text, {".type_as($x)", ".to($x.dtype)", ".to(dtype=$x.dtype)", ".type($x.dtype)"});
}

// An attribute as it is or cast, with or without `if it is not None`.
bool is_cast_of(std::string_view text, const std::string& plain) {
  const std::string wide = plain + ".float()";
  return text == plain || text == wide || text == wide + "if" + plain + "isnotNoneelseNone" ||
         text == wide + "if" + plain + "elseNone";
}

// The one base of a class that has `forward` and nothing else that a call of its object would meet.
std::optional<std::string_view> base_of(std::string_view text, TSNode root, std::string_view name,
                                        TSNode* forward) {
  const auto own = definitions_of(root, text, name);
  if (own.size() != 1 || !is(own[0].node, "class_definition") || own[0].node != own[0].whole) {
    return std::nullopt;
  }
  for (TSNode statement : children_of(field(own[0].node, "body"))) {
    if (is_remark(statement)) continue;
    if (!is(statement, "function_definition")) return std::nullopt;
    const std::string_view method = text_of(text, field(statement, "name"));
    if (!one_of(method, {"__init__", "forward", "extra_repr"})) return std::nullopt;
    if (method != "forward") continue;
    if (present(*forward)) return std::nullopt;
    *forward = statement;
  }
  const TSNode bases = field(own[0].node, "superclasses");
  if (!present(*forward) || !present(bases)) return std::nullopt;
  const NodeList all = children_of(bases);
  if (all.size() != 1 || !(is(all[0], "identifier") || is(all[0], "attribute"))) {
    return std::nullopt;
  }
  return text_of(text, all[0]);
}

}  // namespace

const Operation* Project::casting(const std::string& qualified) {
  return casting_.of(qualified, [&] { return read_casting(qualified); });
}

const Operation* Project::read_casting(const std::string& qualified) {
  size_t dot = qualified.rfind('.');
  if (dot == std::string::npos || !has_module(qualified.substr(0, dot))) return nullptr;
  const std::string home = qualified.substr(0, dot), name = qualified.substr(dot + 1);
  const uint32_t file = files_.find(home)->second.file;
  const bool may_be = std::ranges::any_of(catalogue_.operations(), [&](const auto& operation) {
    const std::string& base = operation->casts.base;
    return !base.empty() && index().mentions(file, mention(Use::base, last_name(base)));
  });
  if (!may_be) return nullptr;
  bool package = false;
  auto source = source_of(home, &package);
  if (!source) return nullptr;
  const std::string_view text = source->text();
  const Tree tree(text);
  TSNode forward{};
  auto base = base_of(text, tree.root(), name, &forward);
  if (!base || ts_node_has_error(forward)) return nullptr;
  auto meant = resolve(home + "." + std::string(*base));
  const Operation* like = meant ? catalogue_.casting(*meant) : nullptr;
  if (like == nullptr) return nullptr;
  auto names = [&](const std::string& written, std::string_view what) {
    auto resolved = resolve(home + "." + written);
    return resolved && *resolved == what;
  };
  const std::string result = returned(text, forward);
  bool says_torch = result.find("torch.") != std::string::npos;
  if (says_torch && !names("torch.float32", "torch.float32")) return nullptr;
  size_t bracket = result.find('('), end = result.rfind(").");
  if (end == std::string::npos || !narrows(std::string_view(result).substr(end + 1)))
    return nullptr;
  // The base's own forward, or the function that it is.
  for (const std::string& call : {std::string("super()"), "super(" + name + ",self)"}) {
    const std::string begins = call + ".forward(";
    if (!result.starts_with(begins) || end < begins.size()) continue;
    std::string_view given = std::string_view(result).substr(begins.size(), end - begins.size());
    return widens(given) ? like : nullptr;
  }
  if (bracket >= end || !names(result.substr(0, bracket), like->casts.function)) return nullptr;
  std::string_view list = std::string_view(result).substr(bracket + 1, end - bracket - 1);
  auto given = Lines(list).parts(list);
  const auto& wanted = like->casts.arguments;
  bool casts = given.size() == wanted.size() + 1 && widens(given[0]) &&
               std::equal(given.begin() + 1, given.end(), wanted.begin(), is_cast_of);
  return casts ? like : nullptr;
}

}  // namespace refit::python
