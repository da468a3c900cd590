// Two axes of an operation take each other's place in the source: `cat(…, dim=2)` becomes
// `dim=1`, `x[:, :, n:]` becomes `x[:, n:]`, "b s n d" becomes "b n s d". Entry: swap_edit.
#include <fmt/format.h>

#include <algorithm>

#include "rewriter/graph/axis_pattern.hpp"
#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/syntax/text_parts.hpp"

namespace refit::python {

namespace {

// An integer as it is written: digits with a sign perhaps.
std::optional<int> written_integer(std::string_view text) {
  bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  if (text.empty() || text.size() > 3) return std::nullopt;
  int out = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    out = 10 * out + (c - '0');
  }
  return negative ? -out : out;
}

class AxisSwapper {
 public:
  AxisSwapper(const PythonUnit& unit, uint32_t function, const AxisSwap& what)
      : unit_(unit),
        function_(function),
        what_(what),
        g_(unit.functions[function].graph),
        v_(g_[what.value]) {}

  Expected<Edit> run() {
    if (v_.syntax == kNone) return failure("the operation to adjust has no text of its own");
    TSNode node = unit_.nodes[v_.syntax];
    if (is_shape(what_.value)) return unpacked(node);
    if (v_.kind == Kind::index && is_shape(v_.operands[0])) {
      auto parts = fields_of(node, "subscript");
      return parts.size() == 1 ? number(parts.front())
                               : failure("expected one axis between the brackets");
    }
    if (v_.kind == Kind::index || v_.kind == Kind::update) return subscripts(node);
    if (v_.kind != Kind::op || !is(node, "call")) return failure("it is no call");
    if (v_.op->axes == AxisKind::permute) return permutation();
    if (v_.op->axes == AxisKind::pattern) return pattern();
    return axis(node);
  }

 private:
  // `x.shape`, or `x.size()` without the number of an axis.
  bool is_shape(ValueId id) const {
    const Value& v = g_[id];
    if (v.kind == Kind::attribute) return v.text == "shape";
    return v.kind == Kind::op && v.op->axes == AxisKind::query && !v.op->axis.empty() &&
           g_.argument(id, v.op->axis) == kNone;
  }

  // `b, n, s, d = x.shape`: the names of the two sizes change places.
  Expected<Edit> unpacked(TSNode node) const {
    TSNode assignment = ts_node_parent(node);
    bool plain = is(assignment, "assignment") && ts_node_eq(field(assignment, "right"), node) &&
                 is(ts_node_parent(assignment), "expression_statement");
    NodeList names;
    if (plain) names = children_of(field(assignment, "left"));
    if (static_cast<int>(names.size()) != what_.rank) return failure("expected a name a size");
    std::vector<std::string> texts;
    for (TSNode name : names) {
      std::string text(text_of(unit_.text(), name));
      bool again = text != "_" && std::ranges::find(texts, text) != texts.end();
      if (!is(name, "identifier") || again) return failure("expected a name of its own a size");
      texts.push_back(std::move(text));
    }
    std::swap(texts[static_cast<size_t>(what_.first)], texts[static_cast<size_t>(what_.second)]);
    return list_edit(names, texts);
  }

  // The argument of a parameter, where it is written.
  NodeList arguments_of(std::string_view parameter) const {
    NodeList out;
    auto places = unit_.arguments.find({function_, what_.value});
    if (places == unit_.arguments.end()) return out;
    const auto& parameters = parameters_of(v_);
    for (const auto& place : places->second) {
      if (place.parameter >= parameters.size() || parameters[place.parameter].name != parameter) {
        continue;
      }
      out.push_back(is(place.node, "keyword_argument") ? field(place.node, "value") : place.node);
    }
    return out;
  }

  int other(int axis) const {
    return axis == what_.first ? what_.second : axis == what_.second ? what_.first : axis;
  }

  Expected<Edit> number(TSNode node) const {
    auto written = written_integer(text_of(unit_.text(), node));
    if (!written) return failure("expected the axis as a plain number");
    int axis = *written < 0 ? *written + what_.rank : *written;
    int changed = other(axis);
    return Edit{range_of(node), std::to_string(*written < 0 ? changed - what_.rank : changed)};
  }

  // `dim=2`, or the default written out.
  Expected<Edit> axis(TSNode node) const {
    auto given = arguments_of(v_.op->axis);
    if (given.size() == 1) return number(given.front());
    if (!given.empty()) return failure("expected one axis");
    for (const Parameter& p : parameters_of(v_)) {
      if (p.name != v_.op->axis || !p.default_value ||
          p.default_value->kind != Literal::Kind::integer) {
        continue;
      }
      auto axis = static_cast<int>(p.default_value->integer);
      TSNode list = field(node, "arguments");
      if (!is(list, "argument_list")) break;
      auto items = children_of(list);
      if (items.empty() || is(items.back(), "comment")) break;
      uint32_t at = ts_node_end_byte(items.back());
      return Edit{{at, at},
                  fmt::format(", {}={}", p.name, other(axis < 0 ? axis + what_.rank : axis))};
    }
    return failure("the axis that it works along is not written");
  }

  // Entries of a permutation: those of the result change places, those of the operand names.
  Expected<Edit> permutation() const {
    auto items = arguments_of("dims");
    if (items.size() == 1 && (is(items[0], "tuple") || is(items[0], "list"))) {
      items = children_of(items[0]);
    }
    if (static_cast<int>(items.size()) != what_.rank) return failure("expected every axis");
    std::vector<std::string> texts;
    for (TSNode item : items) {
      auto written = written_integer(text_of(unit_.text(), item));
      if (!written) return failure("expected the axes as plain numbers");
      int axis = *written < 0 ? *written + what_.rank : *written;
      texts.push_back(std::to_string(what_.of_result ? axis : other(axis)));
    }
    if (what_.of_result) {
      std::swap(texts[static_cast<size_t>(what_.first)], texts[static_cast<size_t>(what_.second)]);
    }
    return list_edit(items, texts);
  }

  // A list written anew, from its first item to its last.
  Expected<Edit> list_edit(const NodeList& items, const std::vector<std::string>& texts) const {
    ByteRange range{ts_node_start_byte(items.front()), ts_node_end_byte(items.back())};
    if (!comments_in(unit_.tree, unit_.text(), range).empty()) {
      return failure("comments stand between the axes, and would be lost");
    }
    return Edit{range, fmt::format("{}", fmt::join(texts, ", "))};
  }

  Expected<Edit> pattern() const {
    auto items = arguments_of("pattern");
    if (items.size() != 1 || !is(items[0], "string")) return failure("expected a plain pattern");
    std::string_view text = text_of(unit_.text(), items[0]);
    size_t quote = text.find_first_of("\"'");
    if (quote == std::string_view::npos || text.substr(quote).starts_with("\"\"\"") ||
        text.size() < quote + 2) {
      return failure("expected a plain pattern");
    }
    std::string_view inner = text.substr(quote + 1, text.size() - quote - 2);
    std::string changed = swap_axes(inner, what_.of_result, what_.first, what_.second);
    if (changed.empty()) return failure("the pattern has no such axes");
    uint32_t begin = ts_node_start_byte(items[0]) + static_cast<uint32_t>(quote) + 1;
    return Edit{{begin, begin + static_cast<uint32_t>(inner.size())}, changed};
  }

  // `[:, :, n:]` and `[:, n:]`: axes 1 and 2 of what is indexed.
  Expected<Edit> subscripts(TSNode node) const {
    auto parts = fields_of(node, "subscript");
    // What each of them is, is asked of the graph: `x[:, n]` may stand where n is None.
    const Value& at = g_[v_.operands[1]];
    auto values = at.kind == Kind::tuple ? at.operands : std::vector<ValueId>{v_.operands[1]};
    if (values.size() != parts.size())
      return failure("expected every subscript between the brackets");
    auto literal = [&](size_t i, Literal::Kind kind) {
      return g_[values[i]].kind == Kind::literal && g_[values[i]].literal.kind == kind;
    };
    int hidden = what_.rank;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!literal(i, Literal::Kind::none) && !literal(i, Literal::Kind::symbol)) --hidden;
    }
    std::vector<std::string> texts;
    std::vector<int> axis_of_part;
    std::vector<bool> numbers;
    int axis = 0;
    auto add = [&](std::string text, bool is_number = false) {
      texts.push_back(std::move(text));
      numbers.push_back(is_number);
      axis_of_part.push_back(axis++);
    };
    for (size_t i = 0; i < parts.size(); ++i) {
      std::string text(text_of(unit_.text(), parts[i]));
      if (literal(i, Literal::Kind::symbol)) {  // an ellipsis
        for (; hidden > 0; --hidden) add(":");
      } else if (literal(i, Literal::Kind::none)) {
        texts.push_back(std::move(text));
        numbers.push_back(false);
        axis_of_part.push_back(-1);
      } else {
        add(std::move(text), literal(i, Literal::Kind::integer));
      }
    }
    while (axis <= std::max(what_.first, what_.second)) add(":");
    auto place = [&](int a) {
      return static_cast<size_t>(std::ranges::find(axis_of_part, a) - axis_of_part.begin());
    };
    // A number takes its axis away, and a new axis between the two then stands elsewhere.
    bool between = std::any_of(axis_of_part.begin() + static_cast<long>(place(what_.first)),
                               axis_of_part.begin() + static_cast<long>(place(what_.second)),
                               [](int axis_of) { return axis_of < 0; });
    if (between && numbers[place(what_.first)] != numbers[place(what_.second)]) {
      return failure("a new axis stands between a number and an axis that stays");
    }
    std::string& first = texts[place(what_.first)];
    std::string& second = texts[place(what_.second)];
    auto runs = [](const std::string& text) { return text.find_first_of("(=") != text.npos; };
    if (runs(first) && runs(second)) return failure("two subscripts would be computed in turn");
    std::swap(first, second);
    while (texts.size() > 1 && texts.back() == ":") texts.pop_back();
    return list_edit(parts, texts);
  }

  const PythonUnit& unit_;
  uint32_t function_;
  const AxisSwap& what_;
  const Graph& g_;
  const Value& v_;
};

}  // namespace

Expected<Edit> swap_edit(const PythonUnit& unit, uint32_t function, const AxisSwap& swap) {
  return AxisSwapper(unit, function, swap).run();
}

}  // namespace refit::python
