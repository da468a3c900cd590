// See unroll.hpp; and the lowering of such a comprehension: FunctionLowering::unrolled.
#include "rewriter/python/lower/unroll.hpp"

#include <algorithm>
#include <array>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/python/syntax/lines.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

constexpr size_t kMostTurns = 8;

bool is_display(TSNode node) { return is(node, "tuple") || is(node, "list"); }

bool is_unpacking(TSNode target) {
  return is(target, "pattern_list") || is(target, "tuple_pattern") || is(target, "list_pattern");
}

}  // namespace

namespace {

bool comprehended(TSNode node, Unrolled& out) {
  auto parts = children_of(node);
  if (parts.size() != 2 || !is(parts[1], "for_in_clause")) return false;
  auto clause = all_children_of(parts[1]);
  if (clause.empty() || type_of(clause.front()) != "for") return false;  // `async for`
  out.body = parts[0];
  out.name = field(parts[1], "left");
  out.over = field(parts[1], "right");
  return true;
}

bool mapped(TSNode node, std::string_view source, Unrolled& out) {
  TSNode function = field(node, "function"), list = field(node, "arguments");
  if (!is(function, "identifier") || text_of(source, function) != "map") return false;
  auto arguments = is(list, "argument_list") ? children_of(list) : NodeList{};
  if (arguments.size() != 2 || !is(arguments[0], "lambda")) return false;
  const NodeKind given = type_of(arguments[1]);
  if (given == "list_splat" || given == "keyword_argument" || given == "dictionary_splat") {
    return false;
  }
  TSNode names = field(arguments[0], "parameters");
  auto parameters = present(names) ? children_of(names) : NodeList{};
  if (parameters.size() != 1) return false;
  out.name = parameters[0];
  out.body = field(arguments[0], "body");
  out.over = arguments[1];
  return present(out.body);
}

}  // namespace

std::optional<Unrolled> unrolled_by(TSNode node, std::string_view source, size_t count) {
  Unrolled out;
  out.node = node;
  bool comprehension = is(node, "generator_expression") || is(node, "list_comprehension");
  bool known = comprehension      ? comprehended(node, out)
               : is(node, "call") ? mapped(node, source, out)
                                  : false;
  if (!known || !is(out.name, "identifier") || !present(out.over)) return std::nullopt;
  if (!is_display(out.over)) return out;
  out.items = children_of(out.over);
  bool starred = std::ranges::any_of(out.items, [](TSNode item) { return is(item, "list_splat"); });
  if (starred || out.items.size() < 2 || (count != 0 && out.items.size() != count)) {
    return std::nullopt;
  }
  return out;
}

std::optional<Unrolled> unrolled_around(TSNode body, std::string_view source) {
  TSNode node = ts_node_parent(body);
  if (is(node, "lambda")) node = ts_node_parent(ts_node_parent(node));
  auto turns = present(node) ? unrolled_by(node, source, 0) : std::nullopt;
  return turns && ts_node_eq(turns->body, body) ? turns : std::nullopt;
}

NamesItself names_itself(const PythonUnit& unit, TSNode node, TSNode kept, UnpackedParts* parts) {
  auto text = [&](TSNode at) { return text_of(unit.text(), at); };
  auto plain = [&](TSNode assignment) {
    return is(assignment, "assignment") && !present(field(assignment, "type")) &&
           is(ts_node_parent(assignment), "expression_statement");
  };
  TSNode parent = ts_node_parent(node);
  TSNode above = ts_node_parent(parent);
  if (plain(parent) && ts_node_eq(field(parent, "right"), node)) {
    return text(field(parent, "left")) == text(kept) ? NamesItself::whole : NamesItself::no;
  }
  const auto turns = unrolled_around(node, unit.text());
  if (turns) above = ts_node_parent(turns->node);
  if (!plain(above)) return NamesItself::no;
  TSNode left = field(above, "left");
  auto targets = is_unpacking(left) ? children_of(left) : NodeList{};
  if (turns) {
    if (text(kept) != text(turns->name)) return NamesItself::no;
    bool same = !turns->items.empty() &&
                std::equal(targets.begin(), targets.end(), turns->items.begin(), turns->items.end(),
                           [&](TSNode a, TSNode b) { return text(a) == text(b); });
    return same ? NamesItself::whole : NamesItself::turns;
  }
  if (!is(parent, "expression_list") || !is(left, "pattern_list")) return NamesItself::no;
  auto values = children_of(parent);
  if (targets.size() != values.size()) return NamesItself::no;
  if (parts->all == 0) {
    for (size_t i = 0; i < values.size(); ++i) parts->own += text(targets[i]) == text(values[i]);
  }
  parts->all = values.size();
  for (size_t i = 0; i < values.size(); ++i) {
    parts->own += ts_node_eq(values[i], node) && text(targets[i]) == text(kept);
  }
  return NamesItself::no;
}

// Whether values only arrange what they read: nothing among them is a site of its own, so that the
// text they share is edited for their layout alone.
bool FunctionLowering::only_shapes(size_t values, size_t end) const {
  static constexpr std::array kShapes{AxisKind::transpose, AxisKind::permute, AxisKind::contiguous,
                                      AxisKind::cast,      AxisKind::view,    AxisKind::unflatten,
                                      AxisKind::flatten,   AxisKind::pattern, AxisKind::query};
  for (size_t id = values; id < end; ++id) {
    const Value& v = g().values[id];
    if (v.inlined) return false;
    switch (v.kind) {
      case Kind::literal:
      case Kind::symbol:
      case Kind::attribute:
      case Kind::tuple:
      case Kind::list:
      case Kind::index:
      case Kind::slice:
        break;
      case Kind::op: {
        bool arithmetic = v.op->id.starts_with("operator.") && v.op->pure && !v.op->in_place;
        if (!arithmetic && std::ranges::find(kShapes, v.op->axes) == kShapes.end()) {
          return false;
        }
        break;
      }
      default:
        return false;
    }
  }
  return true;
}

ValueId FunctionLowering::part_of(ValueId whole, size_t index, size_t count) {
  Value part;
  part.kind = Kind::element;
  part.operands = {whole};
  part.index = static_cast<int>(index);
  part.count = static_cast<int>(count);
  return add(std::move(part), TSNode{});
}

// What a text names besides `own` is read once, so that every turn of it makes values alike.
void FunctionLowering::read_names(TSNode body, std::string_view own) {
  std::vector<TSNode> work{body};
  while (!work.empty()) {
    TSNode at = work.back();
    work.pop_back();
    if (is(at, "identifier")) {
      if (text(at) != own && !scope_->locals.contains(text(at))) identifier(at);
    } else if (is(at, "attribute")) {
      work.push_back(field(at, "object"));
    } else if (is(at, "keyword_argument")) {
      work.push_back(field(at, "value"));
    } else {
      for (TSNode inner : children_of(at)) work.push_back(inner);
    }
  }
}

// Whether nothing but Python gives a name its meaning.
bool FunctionLowering::is_builtin(std::string_view name) const {
  for (auto s = scope_; s; s = s->parent) {
    if (s->locals.contains(name)) return false;
  }
  const Names& names = unit_.names.names;
  return names.stars.empty() && !names.bindings.contains(name);
}

std::optional<ValueId> FunctionLowering::unrolled(TSNode target, TSNode node) {
  if (!is_unpacking(target)) return std::nullopt;
  auto names = children_of(target);
  auto turns = unrolled_by(node, unit_.text(), names.size());
  bool starred =
      std::ranges::any_of(names, [](TSNode name) { return is(name, "list_splat_pattern"); });
  if (!turns || starred || names.size() < 2 || names.size() > kMostTurns) return std::nullopt;
  if (is(node, "call") && !is_builtin("map")) return std::nullopt;

  // On trial: a body that does more than arrange is lowered as any comprehension is.
  const size_t values = g().values.size(), marks = seen_log_.size(), sinks = g().sinks.size();
  const size_t uses = current_ == kNone ? 0 : g().statements[current_].uses.size();
  const size_t calls = unit_.project_calls.size();
  const bool outer_impure = impure_;
  impure_ = false;
  std::vector<ValueId> items;
  if (turns->items.empty()) {
    ValueId whole = expression(turns->over);
    const bool list = g()[whole].kind == Kind::list;
    for (size_t i = 0; i < names.size(); ++i) items.push_back(part_of(whole, i, names.size()));
    if (list) impure_ = true;
  } else {
    for (TSNode item : turns->items) items.push_back(expression(item));
  }
  read_names(turns->body, text(turns->name));
  const size_t first = g().values.size();
  std::vector<ValueId> parts;
  std::vector<size_t> begins;
  bool ok = !impure_ && turns->items.size() != 1;
  for (size_t i = 0; i < items.size() && ok; ++i) {
    overlays_.emplace_back();
    overlays_.back()[std::string(text(turns->name))] = items[i];
    begins.push_back(g().values.size());
    parts.push_back(expression(turns->body));
    overlays_.pop_back();
    ok = !impure_ && only_shapes(begins.back(), g().values.size()) && parts.back() >= begins.back();
  }
  begins.push_back(g().values.size());
  const size_t size = ok ? begins[1] - begins[0] : 0;
  for (size_t i = 0; i + 1 < begins.size() && ok; ++i) {
    ok = begins[i + 1] - begins[i] == size && parts[i] - begins[i] == parts[0] - begins[0];
    for (size_t j = 0; j < size && ok; ++j) {
      const Value &a = g().values[first + j], &b = g().values[begins[i] + j];
      ok = a.kind == b.kind && a.op == b.op && a.range == b.range;
    }
  }
  impure_ = outer_impure || impure_;
  ok = ok && (current_ == kNone || g().statements[current_].uses.size() == uses) &&
       g().sinks.size() == sinks;
  if (!ok) {
    impure_ = outer_impure;
    unit_.project_calls.resize(calls);
    unit_.arguments.erase(unit_.arguments.lower_bound({index_, static_cast<ValueId>(values)}),
                          unit_.arguments.lower_bound({index_ + 1, 0}));
    take_back(values, marks);
    g().forget_layers(static_cast<ValueId>(values));
    g().methods_seen.erase(g().methods_seen.lower_bound(static_cast<ValueId>(values)),
                           g().methods_seen.end());
    g().sinks.resize(sinks);
    if (current_ != kNone) g().statements[current_].uses.resize(uses);
    return std::nullopt;
  }
  for (size_t i = 1; i < items.size(); ++i) {
    for (size_t j = 0; j < size; ++j) {
      Value& v = g().values[begins[i] + j];
      v.inlined = true;
      v.range = {};
      v.syntax = kNone;
      g().repeats.emplace(static_cast<ValueId>(begins[i] + j), static_cast<ValueId>(first + j));
    }
  }
  Value all;
  all.kind = Kind::tuple;
  all.operands = std::move(parts);
  return add(std::move(all), node);
}

Expected<void> take_out_turns(const PythonUnit& unit, TSNode body, EditSet& edits) {
  const std::string_view text = unit.text();
  const Unrolled turns = *unrolled_around(body, text);
  const ByteRange all = range_of(turns.node);
  const bool written = !turns.items.empty();
  const ByteRange kept{ts_node_start_byte(written ? turns.items.front() : turns.over),
                       ts_node_end_byte(written ? turns.items.back() : turns.over)};
  if (!comments_in(unit.tree, unit.text(), {all.begin, kept.begin}).empty() ||
      !comments_in(unit.tree, unit.text(), {kept.end, all.end}).empty()) {
    return failure("a comment stands inside the text around it that would go; move it out");
  }
  // Lines that the brackets around them held together.
  size_t code_end = 0;
  const std::string_view inner = text.substr(kept.begin, kept.size());
  bool apart = Lines(inner).logical_line(0, &code_end) != inner.size();
  if (apart && written && comments_in(unit.tree, unit.text(), kept).empty()) {
    EditSet joined;
    bool short_parts = true;
    size_t width = all.begin - line_of(text, all.begin).begin;
    for (size_t i = 0; i < turns.items.size(); ++i) {
      const ByteRange part = range_of(turns.items[i]);
      short_parts = short_parts && one_line(text, part.begin, part.end);
      width += part.size() + 2;
      if (i == 0) continue;
      auto done = joined.add({{ts_node_end_byte(turns.items[i - 1]), part.begin}, ", "});
      if (!done) return done;
    }
    if (short_parts && width <= line_limit(text) && !edits.conflicts(joined)) {
      auto done = edits.add_all(joined);
      if (!done) return done;
      apart = false;
    }
  }
  auto done = edits.add({{all.begin, kept.begin}, apart ? "(" : ""});
  return done ? edits.add({{kept.end, all.end}, apart ? ")" : ""}) : done;
}

}  // namespace refit::python
