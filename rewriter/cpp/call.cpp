// Calls of C++ to the value graph: by the catalogue's signatures, with arguments bound by the names
// of the parameters of what clang resolved the call to; helper.cpp sees through short functions.
// Entry point: Lowering::call.
#include <algorithm>

#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

namespace {

size_t parameter_of(const std::vector<Parameter>& parameters, const std::string& name) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    if (p.name == name || std::ranges::find(p.also, name) != p.also.end()) return i;
  }
  // ATen calls the first tensor `self`, the Python API `input`.
  return name == "self" && !parameters.empty() ? 0 : SIZE_MAX;
}

}  // namespace

// What clang could not make sense of: a call by a known name is still a site.
ValueId Lowering::unresolved(const clang::RecoveryExpr* node) {
  Value v;
  v.kind = Kind::call;
  Value callee;
  callee.kind = Kind::unknown;
  callee.literal.text = "what is declared does not fit the call";
  for (const clang::Expr* part : node->subExpressions()) {
    const auto* lookup = llvm::dyn_cast<clang::OverloadExpr>(bare(part));
    const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(bare(part));
    if (lookup != nullptr) {
      callee.text = lookup->getName().getAsString();
    } else if (name != nullptr && llvm::isa<clang::FunctionDecl>(name->getDecl())) {
      callee.text = name->getDecl()->getNameAsString();
    } else {
      v.operands.push_back(expression(part));
      v.keywords.emplace_back();
    }
  }
  v.operands.insert(v.operands.begin(), add(std::move(callee), nullptr));
  ValueId id = add(std::move(v), node);
  use(id);
  for (const clang::Expr* part : node->subExpressions()) forget_handed(part);
  return id;
}

ValueId Lowering::call(const clang::CallExpr* node) {
  if (node->isTypeDependent() || llvm::isa<clang::UnresolvedLookupExpr>(bare(node->getCallee()))) {
    return dependent_call(node);
  }
  if (auto held = of_optional(node)) return *held;
  const clang::FunctionDecl* callee = node->getDirectCallee();
  if (const auto* method = llvm::dyn_cast<clang::CXXMemberCallExpr>(node)) {
    const clang::Expr* object = method->getImplicitObjectArgument();
    if (object != nullptr && callee != nullptr && is_tensor(method->getObjectType())) {
      std::string name = callee->getNameAsString();
      std::string attribute = knowledge_.names.attribute(name);
      if (!attribute.empty() && node->getNumArgs() == 0) {
        Value v;
        v.kind = Kind::attribute;
        v.text = std::move(attribute);
        v.operands = {expression(object)};
        return add(std::move(v), node);
      }
      // An undefined tensor is what Python calls None.
      if (name == "defined" && node->getNumArgs() == 0) {
        return operation("operator.is_not", {expression(object), none(nullptr)}, node);
      }
      if (name == "index" && node->getNumArgs() == 1) {
        ValueId base = expression(object);
        ValueId at = expression(node->getArg(0));
        if (g()[at].kind == Kind::list) {
          std::vector<ValueId> items = g()[at].operands;
          if (items.size() == 1) return subscript(base, items[0], node);
          g()[at].kind = Kind::tuple;
        }
        return subscript(base, at, node);
      }
      if (auto size = size_of(node, name, object)) return *size;
      if (auto part = part_of(node, name, object)) return *part;
      const Operation* op = knowledge_.catalogue.method(name);
      if (op != nullptr) {
        if (auto known = known_call(node, op, object)) return *known;
      }
      ValueId id = unknown_call(node, expression(object));
      if (name.ends_with("_")) forget_tensors();
      return id;
    }
    const auto* part = llvm::dyn_cast<clang::MemberExpr>(bare(node->getCallee()));
    if (part != nullptr && part->isArrow() && callee != nullptr && node->getNumArgs() == 1 &&
        callee->getNameAsString() == "forward") {
      if (auto known = layer_call(node, part->getBase(), node->getArg(0))) return *known;
    }
    if (object != nullptr && callee != nullptr && is_fixed(method)) {
      if (auto seen = see_through(node, callee)) return *seen;
    }
    ValueId object_value = object == nullptr ? kNone : expression(object);
    Value name;
    name.kind = Kind::attribute;
    if (object_value != kNone && callee != nullptr && node->getNumArgs() == 0 &&
        callee->getQualifiedNameAsString() == "torch::nn::Module::is_training") {
      name.text = "training";  // what Python has as an attribute
      name.operands = {object_value};
      return add(std::move(name), node);
    }
    name.text = callee == nullptr ? "" : callee->getNameAsString();
    if (object_value == kNone) {
      name.kind = Kind::unknown;
    } else {
      name.operands = {object_value};
    }
    return unknown_call(node, add(std::move(name), nullptr));
  }
  if (callee == nullptr) return unknown_call(node, expression(node->getCallee()));
  std::string qualified = callee->getQualifiedNameAsString();
  if ((qualified == "std::move" || qualified == "std::forward") && node->getNumArgs() == 1) {
    return expression(node->getArg(0));
  }
  const std::vector<const clang::Expr*> written(node->arg_begin(), node->arg_end());
  if ((qualified == "std::make_tuple" || qualified == "std::make_pair") &&
      holds(node->getType(), written)) {
    Value v;
    v.kind = Kind::tuple;
    for (const clang::Expr* argument : node->arguments()) {
      v.operands.push_back(expression(argument));
    }
    return add(std::move(v), node);
  }
  if (auto part = got(node)) return *part;
  if (auto number = limit(node, qualified)) return *number;
  if ((qualified == "at::slice" || qualified == "at::select") && !may_be_another(node)) {
    if (auto part = part_of(node, callee->getName(), nullptr)) return *part;
  }
  const Operation* op = knowledge_.catalogue.find(knowledge_.names.meaning(qualified));
  // `sqrt` and its kin are of numbers; a function of tensors by that name is somebody's own.
  const bool of_numbers = std::ranges::all_of(node->arguments(), [](const clang::Expr* argument) {
    return argument->getType()->isArithmeticType();
  });
  if (op != nullptr && op->library == "math" && !of_numbers) op = nullptr;
  if (op != nullptr && may_be_another(node)) {
    Value name;
    name.kind = Kind::unknown;
    name.text = callee->getNameAsString();
    name.literal.text =
        "what is not read of the file's headers may declare another; write the name's namespace";
    return unknown_call(node, add(std::move(name), nullptr));
  }
  if (op != nullptr) {
    if (auto known = known_call(node, op, nullptr)) return *known;
  } else if (!hidden_by_base(node)) {
    if (auto seen = see_through(node, callee)) return *seen;
  }
  Value name;
  name.kind = Kind::symbol;
  name.text = dotted(qualified);
  ValueId id = unknown_call(node, add(std::move(name), nullptr));
  if (!sources_.isInSystemHeader(callee->getLocation()) && seeing_ == 0) {
    unit_.project_calls.push_back({index_, id, dotted(qualified), kNone});
  }
  return id;
}

// `std::numeric_limits<float>::infinity()` and its neighbours, by which hidden scores are filled.
std::optional<ValueId> Lowering::limit(const clang::CallExpr* node, std::string_view qualified) {
  if (!node->getType()->isFloatingType()) return std::nullopt;
  const bool of_type = qualified.starts_with("std::numeric_limits<");
  if ((of_type && qualified.ends_with("::infinity")) || qualified == "__builtin_inff" ||
      qualified == "__builtin_inf" || qualified == "__builtin_huge_val") {
    return symbol("torch.inf", node);
  }
  const bool largest = of_type && qualified.ends_with("::max");
  if (!largest && !(of_type && qualified.ends_with("::lowest"))) return std::nullopt;
  const bool single = context_.hasSameUnqualifiedType(node->getType(), context_.FloatTy);
  if (!single && !context_.hasSameUnqualifiedType(node->getType(), context_.DoubleTy)) {
    return std::nullopt;
  }
  const ValueId type = symbol(single ? "torch.float32" : "torch.float64", node);
  Value v;
  v.kind = Kind::attribute;
  v.text = largest ? "max" : "min";
  v.operands = {operation("torch.finfo", {type}, node)};
  return add(std::move(v), node);
}

// The layer that the table of names knows a module for, a pointer or what holds one; null for none,
// and for a local variable, through which any call that names it may change the module. `holder` is
// then what stands in front of `->`.
const Operation* Lowering::layer_of(const clang::Expr* module, const clang::Expr*& holder) {
  holder = bare(module)->IgnoreImplicit();
  const clang::QualType type = holder->getType();
  const auto* arrow = llvm::dyn_cast<clang::CXXOperatorCallExpr>(holder);
  if (arrow != nullptr && arrow->getOperator() == clang::OO_Arrow) {
    holder = bare(arrow->getArg(0))->IgnoreImplicit();
  }
  if (named(holder) != nullptr) return nullptr;
  const auto* part = llvm::dyn_cast<clang::MemberExpr>(holder);
  const auto* field =
      part == nullptr ? nullptr : llvm::dyn_cast<clang::FieldDecl>(part->getMemberDecl());
  if (field != nullptr && varies(field)) return nullptr;
  const std::string layer =
      knowledge_.names.layer(record_name(type->isPointerType() ? type->getPointeeType() : type));
  return layer.empty() ? nullptr : knowledge_.catalogue.find(layer);
}

// `norm_->forward(x)` and `norm_(x)`.
std::optional<ValueId> Lowering::layer_call(const clang::CallExpr* node, const clang::Expr* module,
                                            const clang::Expr* operand) {
  const clang::Expr* holder = nullptr;
  const Operation* op = is_tensor(operand->getType()) ? layer_of(module, holder) : nullptr;
  if (op == nullptr) return std::nullopt;
  Value v;
  v.kind = Kind::call;
  v.operands = {expression(holder), expression(operand)};
  v.keywords = {""};
  const ValueId id = add(std::move(v), node);
  g().instances[id] = {op};
  return id;
}

// `softmax(x, -1)`: where not all that the file includes is known, a nearer function may have that
// name.
bool Lowering::may_be_another(const clang::CallExpr* node) const {
  const auto* name = llvm::dyn_cast<clang::DeclRefExpr>(bare(node->getCallee())->IgnoreImplicit());
  return unit_.incomplete && name != nullptr && !name->hasQualifier();
}

ValueId Lowering::unknown_call(const clang::CallExpr* node, ValueId callee) {
  Value v;
  v.kind = Kind::call;
  v.operands.push_back(callee);
  bool skip = llvm::isa<clang::CXXOperatorCallExpr>(node);  // its object is the callee
  for (const clang::Expr* argument : node->arguments()) {
    if (std::exchange(skip, false)) continue;
    if (llvm::isa<clang::CXXDefaultArgExpr>(argument)) continue;
    v.operands.push_back(expression(argument));
    v.keywords.emplace_back();
  }
  impure_ = true;
  ValueId id = add(std::move(v), node);
  use(id);  // it runs whether or not its result is read
  return id;
}

// What is called depends on a template's parameter, or could not be found.
ValueId Lowering::dependent_call(const clang::CallExpr* node) {
  Value callee;
  callee.kind = Kind::unknown;
  const clang::Expr* name = bare(node->getCallee());
  if (const auto* lookup = llvm::dyn_cast<clang::OverloadExpr>(name)) {
    callee.text = lookup->getName().getAsString();
  } else if (const auto* dependent = llvm::dyn_cast<clang::DependentScopeDeclRefExpr>(name)) {
    callee.text = dependent->getDeclName().getAsString();
  } else if (const auto* part = llvm::dyn_cast<clang::CXXDependentScopeMemberExpr>(name)) {
    callee.text = part->getMember().getAsString();
  } else if (const auto* known = llvm::dyn_cast<clang::DeclRefExpr>(name->IgnoreImplicit())) {
    callee.text = known->getDecl()->getNameAsString();
  }
  callee.literal.text =
      in_template_ ? "its arguments depend on a parameter of a template" : "it does not resolve";
  // Of `x.change()` with an unknown method, `x` stands there.
  if (llvm::isa<clang::RecoveryExpr>(name)) (void)expression(name);
  const ValueId id = unknown_call(node, add(std::move(callee), name));
  for (const clang::Expr* argument : node->arguments()) forget_handed(argument);
  return id;
}

// What takes a variable may take it by reference.
void Lowering::forget_handed(const clang::Expr* part) {
  const clang::ValueDecl* variable = named_or_held(part);
  if (variable == nullptr || !name_ids_.contains(variable)) return;
  const clang::QualType type = variable->getType();
  if (!type.isNull() && type.getNonReferenceType().isConstQualified()) return;
  forget(variable, "a call that does not resolve may change it");
}

// The arguments that a call writes out, by the names of the callee's parameters; nullopt where
// there are more than those.
std::optional<std::vector<Lowering::Given>> Lowering::given_to(const clang::CallExpr* node,
                                                               bool* options) {
  const clang::FunctionDecl* callee = node->getDirectCallee();
  std::vector<Given> given;
  for (unsigned i = 0; i < node->getNumArgs(); ++i) {
    const clang::Expr* argument = node->getArg(i);
    if (llvm::isa<clang::CXXDefaultArgExpr>(argument)) continue;
    if (i >= callee->getNumParams()) return std::nullopt;
    if (is_options(callee->getParamDecl(i)->getType())) {
      const auto set = options_of(argument, 0);
      if (!set) return std::nullopt;
      *options = true;
      given.insert(given.end(), set->begin(), set->end());
      continue;
    }
    const auto* list = llvm::dyn_cast<clang::InitListExpr>(bare(argument->IgnoreImplicit()));
    const clang::RecordDecl* record = list == nullptr || !list->getType()->isRecordType()
                                          ? nullptr
                                          : list->getType()->castAs<clang::RecordType>()->getDecl();
    if (record == nullptr) {
      given.push_back({callee->getParamDecl(i)->getNameAsString(), argument});
      continue;
    }
    // The fields of an aggregate are arguments by name.
    unsigned field = 0;
    for (const clang::FieldDecl* decl : record->fields()) {
      if (field >= list->getNumInits()) break;
      const clang::Expr* init = list->getInit(field++);
      if (init == nullptr || llvm::isa<clang::CXXDefaultInitExpr>(init) ||
          llvm::isa<clang::ImplicitValueInitExpr>(init)) {
        continue;
      }
      given.push_back({decl->getNameAsString(), init});
    }
  }
  return given;
}

// Where the parts of a known call stand in the file, for edits.
void Lowering::note_text(ValueId id, const clang::CallExpr* node, const clang::Expr* receiver,
                         const std::vector<Given>& given, const std::vector<size_t>& places,
                         bool options) {
  CallText call;
  call.options = options;
  std::string locked;
  if (receiver != nullptr) call.receiver = range(receiver->getSourceRange());
  if (auto where = range(node->getCallee()->getSourceRange())) call.callee = *where;
  if (auto where = range(node->getSourceRange())) call.close = where->end - 1;
  for (size_t i = call.callee.end; i < call.close; ++i) {
    if (unit_.text()[i] != '(') continue;
    call.open = static_cast<uint32_t>(i);
    break;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    auto where = range(given[i].expression->getSourceRange());
    if (!where) locked = "an argument comes out of a macro; write it out";
    call.arguments.push_back({places[i], where.value_or(ByteRange{})});
  }
  if (!locked.empty()) text().locked.emplace(id, locked);
  text().calls.emplace(id, std::move(call));
}

std::optional<ValueId> Lowering::known_call(const clang::CallExpr* node, const Operation* op,
                                            const clang::Expr* receiver) {
  bool options = false;
  const std::optional<std::vector<Given>> given = given_to(node, &options);
  if (!given) return std::nullopt;
  // Which signature: by the names alone, before anything is lowered.
  for (size_t which = 0; which <= op->overloads.size(); ++which) {
    const auto& parameters = which == 0 ? op->parameters : op->overloads[which - 1];
    std::vector<size_t> places;
    std::vector<bool> filled(parameters.size(), false);
    if (receiver != nullptr && !parameters.empty()) filled[0] = true;
    bool fits = !parameters.empty() || given->empty();
    for (const Given& g : *given) {
      // Numbers' functions are declared once by every standard library, under names of its own.
      size_t at = op->library == "math" ? places.size() : parameter_of(parameters, g.name);
      if (at >= parameters.size()) at = SIZE_MAX;
      fits = fits && at != SIZE_MAX && !filled[at];
      if (!fits) break;
      filled[at] = true;
      places.push_back(at);
    }
    for (size_t i = 0; i < parameters.size() && fits; ++i) {
      const Parameter& p = parameters[i];
      fits = filled[i] || p.default_value || p.variadic || p.variadic_keyword;
    }
    if (!fits) continue;
    Value v;
    v.kind = Kind::op;
    v.op = op;
    v.index = static_cast<int>(which);
    v.operands.assign(parameters.size(), kNone);
    if (receiver != nullptr) v.operands[0] = expression(receiver);
    for (size_t i = 0; i < given->size(); ++i) {
      ValueId value = expression((*given)[i].expression);
      const Parameter& p = parameters[places[i]];
      if (g()[value].kind == Kind::list) {
        if (p.name == "dim" && g()[value].operands.size() == 1) {
          value = g()[value].operands[0];  // ATen takes a list of axes where one will do
        } else if (p.variadic) {
          Value sizes = g()[value];
          sizes.kind = Kind::tuple;
          value = g().add(std::move(sizes));
        }
      } else if (p.variadic) {
        // One size, or a sequence of them that is not written out.
        Value sizes;
        sizes.kind = Kind::tuple;
        sizes.operands = {value};
        sizes.statement = current_;
        value = g().add(std::move(sizes));
      }
      v.operands[places[i]] = value;
    }
    if (!op->pure) impure_ = true;
    bool in_place = op->in_place;
    ValueId id = add(std::move(v), node);
    if (seeing_ == 0) note_text(id, node, receiver, *given, places, options);
    if (!op->pure) use(id);
    if (in_place) {
      use(id);
      forget_tensors();
    }
    return id;
  }
  return std::nullopt;
}

}  // namespace refit::cpp
