// See spelling.hpp. Recursion follows the value and is bounded.
#include "rewriter/draft/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "rewriter/graph/compare.hpp"

namespace refit {
namespace {

constexpr int kDepth = 40;
constexpr int kParts = 400;
// How deeply a value that has no text is looked into, to tell it from another of the same name.
constexpr int kTold = 4;
constexpr const char* kTooLarge =
    "the computation is too large for one pattern; write the rule by hand, with names for its "
    "parts";
constexpr std::string_view kTensor = "torch.Tensor.";

const std::map<std::string_view, std::string_view> kInfix = {
    {"operator.add", "+"},        {"operator.sub", "-"},       {"operator.mul", "*"},
    {"operator.truediv", "/"},    {"operator.floordiv", "//"}, {"operator.mod", "%"},
    {"operator.matmul", "@"},     {"operator.pow", "**"},      {"operator.and_", "&"},
    {"operator.or_", "|"},        {"operator.xor", "^"},       {"operator.lt", "<"},
    {"operator.le", "<="},        {"operator.gt", ">"},        {"operator.ge", ">="},
    {"operator.eq", "=="},        {"operator.ne", "!="},       {"operator.is_", "is"},
    {"operator.is_not", "is not"}};
const std::map<std::string_view, std::string_view> kPrefix = {{"operator.neg", "-"},
                                                              {"operator.pos", "+"},
                                                              {"operator.invert", "~"},
                                                              {"operator.not_", "not "}};

template <typename T>
void add_once(std::vector<T>& list, const T& item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

}  // namespace

bool is_operator(const Operation& operation) {
  return kInfix.contains(operation.id) || kPrefix.contains(operation.id);
}

std::string Holes::name_of(const std::string& what, std::string name) {
  const auto known = std::ranges::find(what_, what);
  if (known != what_.end()) return names_[static_cast<std::size_t>(known - what_.begin())];
  // `$_` and what begins so are no names of a hole's own.
  name.erase(0, std::min(name.find_first_not_of('_'), name.size()));
  if (name.empty()) name = "value";
  const std::string stem = name;
  for (int number = 2; std::ranges::find(names_, name) != names_.end(); ++number) {
    name = stem + std::to_string(number);
  }
  what_.push_back(what);
  names_.push_back(name);
  return name;
}

tl::unexpected<Error> RuleSpelling::unsaid(ValueId id) const {
  const Value& value = graph_[id];
  if (value.kind != Kind::call) {
    const std::string_view text = unit_.source().slice(value.range);
    return failure(fmt::format("a pattern cannot say `{}`",
                               text.empty() ? spelt_out(graph_, id) : std::string(text)));
  }
  if (value.op != nullptr) {
    return failure(fmt::format("the arguments do not fit the signature of {}", value.op->id));
  }
  const Value& callee = graph_[value.operands[0]];
  return failure(fmt::format(
      "{} is called, which the catalogue does not describe; give its signature in the catalogue of "
      "a rule package "
      "(docs/rules.md, \"The catalogue\") and name the package with --rules",
      callee.kind == Kind::symbol ? callee.text : spelt_out(graph_, value.operands[0])));
}

Expected<std::string> RuleSpelling::named(ValueId id) {
  const auto definitions = graph_.definitions_of(id);
  if (definitions.empty()) return unsaid(id);
  const std::string& name = graph_.names[graph_.definitions[definitions.front()].name];
  return "$" + holes_.name_of(name + " = " + dump(graph_, id, kTold), name);
}

Expected<std::string> RuleSpelling::value(ValueId id) {
  const Kind kind = graph_[id].kind;
  if (kind != Kind::op && kind != Kind::index) return unsaid(id);
  return bare(id, kDepth);
}

// Without the brackets around an operator, where nothing stands beside it.
Expected<std::string> RuleSpelling::bare(ValueId id, int depth) {
  auto text = written(id, depth);
  if (!text || graph_[id].kind != Kind::op || !is_operator(*graph_[id].op)) return text;
  return text->substr(1, text->size() - 2);
}

Expected<std::string> RuleSpelling::symbol(const Value& value) const {
  const bool own = value.text == unit_.module || value.text.starts_with(unit_.module + ".");
  if (own || value.text.find('.') == std::string::npos) {
    return failure(fmt::format(
        "`{}` is a name of the example's own file, which no other file has; write what it "
        "stands for into the function",
        value.text));
  }
  return value.text;
}

Expected<std::string> RuleSpelling::joined(const std::vector<ValueId>& parts, int depth) {
  std::string text;
  for (const ValueId part : parts) {
    auto one = bare(part, depth);
    if (!one) return one;
    text += (text.empty() ? "" : ", ") + *one;
  }
  return text;
}

Expected<std::string> RuleSpelling::call(const Value& value, int depth) {
  const auto& parameters = parameters_of(value);
  const std::string& name = value.op->id;
  // What is known as a method alone is written as one.
  const bool method =
      name.starts_with(kTensor) && !value.operands.empty() && value.operands[0] != kNone;
  std::string text;
  bool skipped = false;
  for (std::size_t i = method ? 1 : 0; i < value.operands.size() && i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (value.operands[i] == kNone) {
      skipped = true;
      continue;
    }
    if (parameter.variadic || parameter.variadic_keyword ||
        (skipped && parameter.positional_only)) {
      return failure(fmt::format("the arguments of {} cannot be written one by one", name));
    }
    auto argument = bare(value.operands[i], depth);
    if (!argument) return argument;
    const bool literal = graph_[value.operands[i]].kind == Kind::literal;
    const bool keyword =
        i > 0 && !parameter.positional_only && (skipped || parameter.keyword_only || literal);
    text += (text.empty() ? "" : ", ") + (keyword ? parameter.name + "=" : "") + *argument;
  }
  if (!method) return fmt::format("{}({})", name, text);
  auto object = written(value.operands[0], depth);
  if (!object) return object;
  return fmt::format("{}.{}({})", *object, name.substr(kTensor.size()), text);
}

Expected<std::string> RuleSpelling::operation(const Value& value, int depth) {
  if (!value.op->pure || value.op->in_place) {
    return failure(
        fmt::format("{} does more than give a value, which a pattern cannot say", value.op->id));
  }
  add_once(operations_, value.op);
  const auto prefix = kPrefix.find(value.op->id);
  const auto infix = kInfix.find(value.op->id);
  if (prefix == kPrefix.end() && infix == kInfix.end()) return call(value, depth);
  std::vector<std::string> sides;
  for (const ValueId operand : value.operands) {
    auto side = written(operand, depth);
    if (!side) return side;
    sides.push_back(std::move(*side));
  }
  if (prefix != kPrefix.end() && sides.size() == 1)
    return fmt::format("({}{})", prefix->second, sides[0]);
  if (infix != kInfix.end() && sides.size() == 2) {
    return fmt::format("({} {} {})", sides[0], infix->second, sides[1]);
  }
  return failure(fmt::format("{} has operands that a pattern cannot write", value.op->id));
}

Expected<std::string> RuleSpelling::written(ValueId id, int depth) {
  if (id == kNone) return failure("a part of the computation is missing");
  if (depth == 0) return failure("the computation is nested too deeply for one pattern");
  if (++parts_ > kParts) return failure(kTooLarge);
  const Value& value = graph_[id];
  const int inner = depth - 1;
  switch (value.kind) {
    case Kind::parameter:
      return "$" + holes_.name_of(value.text, value.text);
    case Kind::literal: {
      std::string text = frontend_.literal(value.literal);
      if (value.literal.kind != Literal::Kind::none) add_once(constants_, text);
      return text;
    }
    case Kind::symbol:
      return symbol(value);
    case Kind::attribute: {
      const Value& object = graph_[value.operands[0]];
      // What an object holds differs from class to class by its name.
      if (object.kind == Kind::parameter && object.text == "self") {
        return "$" + holes_.name_of("self." + value.text, value.text);
      }
      auto text = written(value.operands[0], inner);
      return text ? *text + "." + value.text : text;
    }
    case Kind::op:
      return operation(value, inner);
    case Kind::index: {
      auto base = written(value.operands[0], inner);
      if (!base) return base;
      auto at = bare(value.operands[1], inner);
      if (!at) return at;
      return fmt::format("{}[{}]", *base, *at);
    }
    case Kind::tuple: {
      auto items = joined(value.operands, inner);
      if (!items) return items;
      return fmt::format("({}{})", *items, value.operands.size() == 1 ? "," : "");
    }
    case Kind::list: {
      auto items = joined(value.operands, inner);
      if (!items) return items;
      return fmt::format("[{}]", *items);
    }
    default:
      return named(id);
  }
}

}  // namespace refit
