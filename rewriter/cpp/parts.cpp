// Parts of tensors, however C++ takes them: `x.slice(-1, 0, h)` and `x.select(-1, 0)` are Python's
// subscripts. tuples.cpp has the parts of tuples. Entry points: Lowering::part_of, size_of.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

constexpr int64_t kAxes = 8;  // written out in front of the one that a part is taken along
constexpr int kDepth = 16;    // of arithmetic

std::optional<int64_t> whole_number(const Value& v) {
  if (v.kind != Kind::literal || v.literal.kind != Literal::Kind::integer) return std::nullopt;
  return v.literal.integer;
}

}  // namespace

// A size, or what is made of sizes and positive numbers by arithmetic that keeps the sign.
bool Lowering::not_negative(ValueId id, int depth) const {
  if (id == kNone || depth > kDepth) return false;
  const Value& v = unit_.functions[index_].graph[id];
  if (const auto number = whole_number(v)) return *number >= 0;
  if (v.kind == Kind::index) {
    const Value& base = unit_.functions[index_].graph[v.operands[0]];
    return base.kind == Kind::attribute && base.text == "shape";
  }
  if (v.kind != Kind::op) return false;
  if (v.op->id == "torch.Tensor.size") return true;
  return (v.op->id == "operator.floordiv" || v.op->id == "operator.mul" ||
          v.op->id == "operator.add") &&
         not_negative(v.operands[0], depth + 1) && not_negative(v.operands[1], depth + 1);
}

// Whether a value is the size of an axis of that tensor.
bool Lowering::same_size(ValueId id, ValueId base, int64_t axis) const {
  if (id == kNone) return false;
  const Value& v = unit_.functions[index_].graph[id];
  if (v.kind != Kind::index || whole_number(unit_.functions[index_].graph[v.operands[1]]) != axis)
    return false;
  const Value& sizes = unit_.functions[index_].graph[v.operands[0]];
  return sizes.kind == Kind::attribute && sizes.text == "shape" && sizes.operands[0] == base;
}

// `x.size(-1)` is Python's `x.shape[-1]`.
std::optional<ValueId> Lowering::size_of(const clang::CallExpr* node, std::string_view name,
                                         const clang::Expr* object) {
  if (name != "size" || node->getNumArgs() != 1) return std::nullopt;
  const ValueId axis = expression(node->getArg(0));
  if (!whole_number(g()[axis])) return std::nullopt;
  Value sizes;
  sizes.kind = Kind::attribute;
  sizes.text = "shape";
  sizes.operands = {expression(object)};
  sizes.statement = current_;
  Value one;
  one.kind = Kind::index;
  one.operands = {g().add(std::move(sizes)), axis};
  return add(std::move(one), node);
}

// `base[..., what]` or `base[:, :, what]`.
ValueId Lowering::along(ValueId base, int64_t axis, ValueId what, const clang::Expr* node) {
  if (axis == 0) return subscript(base, what, node);
  Value index;
  index.kind = Kind::tuple;
  index.statement = current_;
  if (axis == -1) index.operands.push_back(literal(Literal::symbol("..."), nullptr));
  for (int64_t before = 0; before < axis; ++before) {
    Value all;
    all.kind = Kind::slice;
    all.operands = {kNone, kNone, kNone};
    all.statement = current_;
    index.operands.push_back(g().add(std::move(all)));
  }
  index.operands.push_back(what);
  return subscript(base, g().add(std::move(index)), node);
}

// `x.slice(axis, start, end, step)` and `x.select(axis, place)`, as methods or functions.
std::optional<ValueId> Lowering::part_of(const clang::CallExpr* node, std::string_view name,
                                         const clang::Expr* object) {
  if (name != "slice" && name != "select") return std::nullopt;
  std::vector<const clang::Expr*> given;
  for (const clang::Expr* argument : node->arguments()) {
    if (!llvm::isa<clang::CXXDefaultArgExpr>(argument)) given.push_back(argument);
  }
  if (object == nullptr && !given.empty()) {
    object = given.front();
    given.erase(given.begin());
  }
  const bool slices = name == "slice";
  if (object == nullptr || given.size() > 4 || (!slices && given.size() != 2)) return std::nullopt;
  const auto axis_value = [&]() -> std::optional<int64_t> {
    if (given.empty()) return 0;
    clang::Expr::EvalResult result;
    if (!given[0]->isValueDependent() && given[0]->EvaluateAsInt(result, context_)) {
      return result.Val.getInt().getSExtValue();
    }
    return std::nullopt;
  }();
  if (!axis_value || *axis_value < -1 || *axis_value > kAxes) return std::nullopt;
  const int64_t axis = *axis_value;
  const ValueId base = expression(object);
  if (!slices) return along(base, axis, expression(given[1]), node);
  Value slice;
  slice.kind = Kind::slice;
  slice.statement = current_;
  for (size_t i = 1; i < given.size(); ++i) {
    ValueId bound = expression(given[i]);
    const Value& v = g()[bound];
    const bool none = v.kind == Kind::literal && v.literal.kind == Literal::Kind::none;
    const auto number = whole_number(v);
    const bool usual = none || (i == 1 && number == 0) ||
                       (i == 2 && (number == INT64_MAX || same_size(bound, base, axis))) ||
                       (i == 3 && number == 1);
    slice.operands.push_back(usual ? kNone : bound);
  }
  slice.operands.resize(3, kNone);
  return along(base, axis, g().add(std::move(slice)), node);
}

}  // namespace refit::cpp
