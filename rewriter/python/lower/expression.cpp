// Expressions of Python to the value graph: names by scope, calls by the catalogue's signatures,
// operators as operations. Every value made is brought to its normal form at once.
#include <algorithm>
#include <ranges>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

namespace {

// Nesting of expressions, as far as the stack goes; deeper ones stay opaque and are said. Matching
// recurses over patterns, so those are kept shallow.
constexpr int kDepthBound = 12000;
constexpr int kPatternDepthBound = 200;

// Python's operators by the catalogue's names for them (rules/catalogue/operator.yaml).
std::string_view binary_operation(std::string_view token) {
  static const std::map<std::string_view, std::string_view> kTable = {
      {"+", "operator.add"},
      {"-", "operator.sub"},
      {"*", "operator.mul"},
      {"/", "operator.truediv"},
      {"//", "operator.floordiv"},
      {"%", "operator.mod"},
      {"**", "operator.pow"},
      {"@", "operator.matmul"},
      {"|", "operator.or_"},
      {"&", "operator.and_"},
      {"^", "operator.xor"},
      {"<<", "operator.lshift"},
      {">>", "operator.rshift"},
      {"<", "operator.lt"},
      {"<=", "operator.le"},
      {"==", "operator.eq"},
      {"!=", "operator.ne"},
      {">=", "operator.ge"},
      {">", "operator.gt"},
      {"is", "operator.is_"},
      {"is not", "operator.is_not"},
      {"in", "operator.contains"},
      {"not in", "operator.not_contains"},
      {"and", "operator.logical_and"},
      {"or", "operator.logical_or"}};
  auto found = kTable.find(token);
  return found == kTable.end() ? std::string_view{} : found->second;
}

}  // namespace

ValueId FunctionLowering::add(Value value, TSNode node) {
  value.statement = current_;
  if (present(node)) {
    value.range = range_of(node);
    value.syntax = static_cast<uint32_t>(unit_.nodes.size());
    unit_.nodes.push_back(node);
  }
  ValueId id = g().add(std::move(value));
  if (context_.isomorphisms != nullptr) context_.isomorphisms->normalise(g(), id);
  return id;
}

ValueId FunctionLowering::literal_value(Literal literal, TSNode node) {
  Value v;
  v.kind = Kind::literal;
  v.literal = std::move(literal);
  return add(std::move(v), node);
}

ValueId FunctionLowering::opaque(std::string why, std::vector<ValueId> operands, TSNode node) {
  Value v;
  v.kind = Kind::opaque;
  v.text = std::move(why);
  v.operands = std::move(operands);
  return add(std::move(v), node);
}

ValueId FunctionLowering::opaque_children(std::string why, TSNode node) {
  std::vector<ValueId> operands;
  for (TSNode child : children_of(node)) {
    const NodeKind type = type_of(child);
    if (type == "string_start" || type == "string_content" || type == "string_end" ||
        type == "format_specifier" || type == "type_conversion" || type == "escape_sequence") {
      continue;
    }
    if (type == "interpolation" || type == "pair" || type == "dictionary_splat" ||
        type == "format_expression") {
      for (TSNode inner : children_of(child)) {
        const NodeKind t = type_of(inner);
        if (t != "format_specifier" && t != "type_conversion")
          operands.push_back(expression(inner));
      }
      continue;
    }
    operands.push_back(expression(child));
  }
  return opaque(std::move(why), std::move(operands), node);
}

ValueId FunctionLowering::phi(ValueId condition, ValueId a, ValueId b, TSNode node) {
  // `x is not None` and `x is None` with the sides exchanged are one form.
  const Value& c = g()[condition];
  if (c.kind == Kind::op && c.op->id == "operator.is_not") {
    Value flipped = c;
    flipped.op = context_.catalogue.find("operator.is_");
    condition = g().add(std::move(flipped));
    std::swap(a, b);
  }
  Value v;
  v.kind = Kind::phi;
  v.operands = {condition, a, b};
  return add(std::move(v), node);
}

ValueId FunctionLowering::operation(std::string_view id, std::vector<ValueId> operands,
                                    TSNode node) {
  const Operation* op = context_.catalogue.find(id);
  if (op == nullptr) return opaque(std::string(id), std::move(operands), node);
  Value v;
  v.kind = Kind::op;
  v.op = op;
  operands.resize(op->parameters.size(), kNone);
  v.operands = std::move(operands);
  return add(std::move(v), node);
}

ValueId FunctionLowering::expression(TSNode node) {
  if (!present(node)) return kNone;
  const int bound = context_.pattern ? kPatternDepthBound : kDepthBound;
  if (++depth_ > bound || stack_is_low()) {
    --depth_;
    impure_ = true;
    unit_.too_deep.push_back(range_of(node));
    return opaque("nested too deeply", {}, node);
  }
  ValueId id = expression_inner(node);
  --depth_;
  return id;
}

ValueId FunctionLowering::expression_inner(TSNode node) {
  const NodeKind type = type_of(node);
  if (type == "identifier") return identifier(node);
  if (type == "attribute") return attribute(node);
  if (type == "call") return call(node);
  if (type == "subscript") return subscript(node);
  if (type == "binary_operator" || type == "boolean_operator") return binary(node);
  if (type == "comparison_operator") return comparison(node);
  if (type == "parenthesized_expression") {
    auto inner = children_of(node);
    if (inner.size() == 1) return expression(inner.front());
    return opaque_children("parenthesis", node);
  }
  if (type == "integer" || type == "float") return number(node);
  if (type == "string") return string(node);
  if (type == "none") return literal_value({}, node);
  if (type == "true" || type == "false") {
    return literal_value(Literal::truth(type == "true"), node);
  }
  if (type == "ellipsis") return literal_value(Literal::symbol("..."), node);
  if (type == "tuple" || type == "expression_list") return sequence(node, Kind::tuple);
  if (type == "list") return sequence(node, Kind::list);
  if (type == "unary_operator") return unary(node);
  if (type == "not_operator") {
    return operation("operator.not_", {expression(field(node, "argument"))}, node);
  }
  if (type == "conditional_expression") {
    auto parts = children_of(node);
    if (parts.size() != 3) return opaque_children("conditional", node);
    ValueId condition = expression(parts[1]);
    ValueId a = expression(parts[0]);
    ValueId b = expression(parts[2]);
    return phi(condition, a, b, node);
  }
  if (type == "named_expression") {
    ValueId value = expression(field(node, "value"));
    impure_ = true;
    bind(text(field(node, "name")), value);
    return opaque("walrus", {value}, node);
  }
  if (type == "list_splat") {
    Value v;
    v.kind = Kind::starred;
    for (TSNode inner : children_of(node)) v.operands.push_back(expression(inner));
    return add(std::move(v), node);
  }
  if (type == "slice") return slice(node);
  if (type == "list_comprehension" || type == "set_comprehension" ||
      type == "generator_expression" || type == "dictionary_comprehension") {
    return comprehension(node);
  }
  if (type == "lambda") return lambda(node);
  if (type == "yield") return yielded(node);
  if (type == "await") {
    impure_ = true;
    ValueId id = opaque_children(std::string(type_name(node)), node);
    use(id);
    return id;
  }
  if (type == "concatenated_string" || type == "dictionary" || type == "set") {
    return opaque_children(std::string(type_name(node)), node);
  }
  impure_ = true;
  return opaque_children(std::string(type_name(node)), node);
}

ValueId FunctionLowering::unary(TSNode node) {
  TSNode argument = field(node, "argument");
  std::string_view token = text(field(node, "operator"));
  ValueId inner = expression(argument);
  const Value& v = g()[inner];
  if (v.kind == Kind::literal && token == "-" &&
      (v.literal.kind == Literal::Kind::integer || v.literal.kind == Literal::Kind::real)) {
    Literal l = v.literal;
    l.integer = -l.integer;
    l.real = -l.real;
    return literal_value(std::move(l), node);
  }
  if (token == "+" && v.kind == Kind::literal) return inner;
  return operation(token == "-"   ? "operator.neg"
                   : token == "~" ? "operator.invert"
                                  : "operator.pos",
                   {inner}, node);
}

ValueId FunctionLowering::slice(TSNode node) {
  Value v;
  v.kind = Kind::slice;
  v.operands = {kNone, kNone, kNone};
  size_t part = 0;
  for (TSNode child : all_children_of(node)) {
    if (text(child) == ":") {
      ++part;
    } else if (ts_node_is_named(child) && !is(child, "comment") && part < 3) {
      v.operands[part] = expression(child);
    }
  }
  return add(std::move(v), node);
}

ValueId FunctionLowering::sequence(TSNode node, Kind kind) {
  Value v;
  v.kind = kind;
  for (TSNode child : children_of(node)) v.operands.push_back(expression(child));
  return add(std::move(v), node);
}

ValueId FunctionLowering::number(TSNode node) {
  constexpr size_t kShort = 18;  // digits, which fit any integer of a literal
  const std::string_view written = text(node);
  // A fold has the place of a body, and that may be long.
  const bool number = (written.front() >= '0' && written.front() <= '9') || written.front() == '.';
  if (!number) return opaque("number", {}, node);
  if (written.size() <= kShort &&
      std::ranges::all_of(written, [](char c) { return c >= '0' && c <= '9'; })) {
    int64_t value = 0;
    for (char c : written) value = 10 * value + (c - '0');
    return literal_value(Literal::whole(value), node);
  }
  std::string digits;
  if (written.find('_') != std::string_view::npos) {
    for (char c : written) {
      if (c != '_') digits += c;
    }
  }
  auto parsed = parse_literal(digits.empty() ? written : digits);
  if (!parsed) return opaque("number", {}, node);
  return literal_value(std::move(*parsed), node);
}

ValueId FunctionLowering::string(TSNode node) {
  std::string content;
  for (TSNode part : children_of(node)) {
    if (is(part, "interpolation")) return opaque_children("string", node);
    if (is(part, "string_content")) content += text(part);
  }
  return literal_value(Literal::string(std::move(content)), node);
}

void FunctionLowering::capture(std::string_view name) {
  for (auto s = scope_->parent; s; s = s->parent) {
    if (s->locals.contains(name)) {
      s->captured.emplace(name);
      return;
    }
  }
}

ValueId FunctionLowering::name_value(std::string_view name, TSNode node) {
  for (const auto& overlay : std::views::reverse(overlays_)) {
    auto found = overlay.find(name);
    if (found != overlay.end()) return found->second;
  }
  bool local = scope_->locals.contains(name);
  // Each read of what another function binds, too, may be of another value.
  if (scope_->rebound.contains(name) && (local || scope_->nonlocals.contains(name))) {
    capture(name);
    return opaque("bound by another function", {}, node);
  }
  if (local) {
    DefinitionId d = env_[name_id(name)];
    if (d != kNone) {
      ValueId v = g().definitions[d].value;
      settle(v);
      return v;
    }
    if (index_ != 0) {
      Value v;
      v.kind = Kind::unknown;
      v.text = name;
      return add(std::move(v), node);
    }
  }
  if (context_.pattern && name.starts_with(kHolePrefix)) {
    auto [at, fresh] = outer_.emplace(name, kNone);
    if (fresh || name.substr(kHolePrefix.size()) == "_") {
      Value v;
      v.kind = Kind::hole;
      v.text = name.substr(kHolePrefix.size());
      at->second = add(std::move(v), node);
    }
    return at->second;
  }
  auto known = outer_.find(name);
  if (known != outer_.end() && index_ != 0) return known->second;
  capture(name);
  std::string why;
  auto symbol = symbol_of(name, &why);
  Value v;
  if (symbol) {
    v.kind = Kind::symbol;
    v.text = *symbol;
  } else {
    v.kind = Kind::unknown;
    v.text = name;
    if (!why.empty()) {
      v.literal.text = why;
      v.keywords = candidates(name);
    }
  }
  ValueId id = add(std::move(v), node);
  bool rebound = scope_->globals.contains(name) || scope_->nonlocals.contains(name);
  if (!rebound) outer_[std::string(name)] = id;
  return id;
}

ValueId FunctionLowering::identifier(TSNode node) { return name_value(text(node), node); }

ValueId FunctionLowering::attribute(TSNode node) {
  ValueId base = expression(field(node, "object"));
  std::string name(text(field(node, "attribute")));
  const Value& b = g()[base];
  if (b.kind == Kind::symbol) {
    Value v;
    auto meaning = context_.project.resolve(b.text + "." + name, &v.literal.text);
    v.kind = meaning ? Kind::symbol : Kind::unknown;
    v.text = meaning ? *meaning : name;
    return add(std::move(v), node);
  }
  Value v;
  v.kind = Kind::attribute;
  v.text = std::move(name);
  v.operands = {base};
  return read_attribute(add(std::move(v), node), node);
}

ValueId FunctionLowering::subscript(TSNode node) {
  const auto [base, index] = object_and_index(node);
  const Value& b = g()[base];
  const Value& i = g()[index];
  if (i.kind == Kind::literal && i.literal.kind == Literal::Kind::integer && keeps_items(base)) {
    int64_t n = i.literal.integer;
    auto size = static_cast<int64_t>(b.operands.size());
    bool plain = true;
    for (ValueId item : b.operands) plain = plain && g()[item].kind != Kind::starred;
    if (n < 0) n += size;
    if (plain && n >= 0 && n < size) return b.operands[static_cast<size_t>(n)];
  }
  const ValueId entry = entry_of(base, index, node);
  if (!entry_writes(base, index, "__getitem__")) return entry;
  g()[entry].range = {};  // the call has it
  return hidden_call(entry, {}, node);
}

std::pair<ValueId, ValueId> FunctionLowering::object_and_index(TSNode node) {
  ValueId base = expression(field(node, "value"));
  auto parts = fields_of(node, "subscript");
  ValueId index;
  if (parts.size() == 1 && text(node).back() == ']') {
    // `x[a,]` is a tuple of one
    bool comma = false;
    for (TSNode child : all_children_of(node)) comma = comma || text(child) == ",";
    index = expression(parts[0]);
    if (comma) {
      Value t;
      t.kind = Kind::tuple;
      t.operands = {index};
      index = add(std::move(t), parts[0]);
    }
  } else {
    Value t;
    t.kind = Kind::tuple;
    for (TSNode p : parts) t.operands.push_back(expression(p));
    t.statement = current_;
    index = g().add(std::move(t));
  }
  return {base, index};
}

ValueId FunctionLowering::entry_of(ValueId object, ValueId index, TSNode node) {
  Value v;
  v.kind = Kind::index;
  v.operands = {object, index};
  return add(std::move(v), node);
}

ValueId FunctionLowering::binary(TSNode node) {
  ValueId a = expression(field(node, "left"));
  ValueId b = expression(field(node, "right"));
  std::string_view id = binary_operation(text(field(node, "operator")));
  if (id.empty()) return opaque("operator", {a, b}, node);
  note_number(a);
  note_number(b);
  return operation(id, {a, b}, node);
}

ValueId FunctionLowering::comparison(TSNode node) {
  auto parts = children_of(node);
  std::string token;
  for (TSNode op : fields_of(node, "operators")) {
    if (!token.empty()) token += ' ';
    token += text(op);
  }
  if (parts.size() != 2) return opaque_children("comparison", node);
  if (token == "is not" || token == "not in" || token.find(' ') == std::string::npos) {
    std::string_view id = binary_operation(token);
    ValueId a = expression(parts[0]);
    ValueId b = expression(parts[1]);
    if (!id.empty()) return operation(id, {a, b}, node);
    return opaque("comparison", {a, b}, node);
  }
  return opaque_children("comparison", node);
}

}  // namespace refit::python
