// Parts of tensors and of tuples, however C++ takes them: `x.slice(-1, 0, h)` and `x.select(-1, 0)`
// are Python's subscripts, `std::get` and `std::tie` its unpacking. Entry points:
// Lowering::part_of, got, tied, bind_parts.
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

// The call of a function by that name that an expression is; null where it is none.
const clang::CallExpr* Lowering::call_of(const clang::Expr* node, std::string_view qualified) {
  const auto* made = llvm::dyn_cast<clang::CallExpr>(bare(node));
  const clang::FunctionDecl* callee = made == nullptr ? nullptr : made->getDirectCallee();
  if (callee == nullptr || llvm::isa<clang::CXXMethodDecl>(callee)) return nullptr;
  return callee->getQualifiedNameAsString() == qualified ? made : nullptr;
}

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

// `std::get<1>(t)`
std::optional<ValueId> Lowering::got(const clang::CallExpr* node) {
  if (call_of(node, "std::get") == nullptr || node->getNumArgs() != 1) return std::nullopt;
  const clang::TemplateArgumentList* arguments =
      node->getDirectCallee()->getTemplateSpecializationArgs();
  if (arguments == nullptr || arguments->size() == 0 ||
      arguments->get(0).getKind() != clang::TemplateArgument::Integral) {
    return std::nullopt;
  }
  const std::string from = record_name(node->getArg(0)->getType());
  if (from != "std::tuple" && from != "std::pair") return std::nullopt;
  const auto place = static_cast<size_t>(arguments->get(0).getAsIntegral().getZExtValue());
  const ValueId whole = expression(node->getArg(0));
  const Value& v = g()[whole];
  if (v.kind == Kind::tuple && place < v.operands.size()) return v.operands[place];
  const auto* record = llvm::dyn_cast_or_null<clang::ClassTemplateSpecializationDecl>(
      node->getArg(0)->getType().getNonReferenceType()->getAsCXXRecordDecl());
  if (record == nullptr) return std::nullopt;
  const clang::TemplateArgumentList& types = record->getTemplateArgs();
  Value part;
  part.kind = Kind::element;
  part.operands = {whole};
  part.index = static_cast<int>(place);
  part.count =
      static_cast<int>(types.size() == 1 && types[0].getKind() == clang::TemplateArgument::Pack
                           ? types[0].pack_size()
                           : types.size());
  return add(std::move(part), node);
}

// The variables of `std::tie(a, b) = …`, whose left side this is: local ones, each once.
std::optional<std::vector<const clang::ValueDecl*>> Lowering::tied(const clang::Expr* node) const {
  const clang::CallExpr* made = call_of(node->IgnoreImplicit(), "std::tie");
  if (made == nullptr || made->getNumArgs() == 0) return std::nullopt;
  std::vector<const clang::ValueDecl*> out;
  for (const clang::Expr* argument : made->arguments()) {
    const auto* variable = llvm::dyn_cast_or_null<clang::VarDecl>(named(argument));
    if (variable == nullptr || !variable->isLocalVarDeclOrParm() || variable->isStaticLocal() ||
        variable->getType()->isReferenceType() || !plain_value(variable->getType()) ||
        std::ranges::find(out, variable) != out.end()) {
      return std::nullopt;
    }
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(argument->IgnoreParenImpCasts());
    if (reference == nullptr || reference->refersToEnclosingVariableOrCapture()) {
      return std::nullopt;
    }
    out.push_back(variable);
  }
  return out;
}

void Lowering::bind_parts(const std::vector<const clang::ValueDecl*>& names, ValueId whole) {
  const bool known = whole != kNone && g()[whole].kind == Kind::tuple &&
                     g()[whole].operands.size() == names.size();
  const std::vector<ValueId> parts = known ? g()[whole].operands : std::vector<ValueId>();
  for (size_t i = 0; i < names.size(); ++i) {
    if (known) {
      bind(names[i], parts[i]);
      continue;
    }
    Value part;
    part.kind = whole == kNone ? Kind::unknown : Kind::element;
    if (whole != kNone) part.operands = {whole};
    part.index = static_cast<int>(i);
    part.count = static_cast<int>(names.size());
    part.statement = current_;
    bind(names[i], g().add(std::move(part)));
  }
}

}  // namespace refit::cpp
