// Statements of Python to the value graph: assignments, branches with joins, loops and the rest,
// which make opaque exactly the names they may change. Entry point: lower_unit.
#include "rewriter/python/lower/lower.hpp"

#include <algorithm>

#include "rewriter/python/lower/lowering.hpp"
#include "rewriter/text/stack.hpp"

namespace refit::python {

namespace {

constexpr size_t kBytesPerValue = 16;  // of a function, about; values are costly to move

}  // namespace

FunctionLowering::FunctionLowering(UnitLowering& shared, uint32_t index,
                                   std::shared_ptr<Scope> scope)
    : shared_(shared),
      unit_(shared.unit),
      context_(shared.context),
      index_(index),
      scope_(std::move(scope)) {
  scope_->function = index_;
}

uint32_t FunctionLowering::name_id(std::string_view name) {
  auto found = name_ids_.find(name);
  if (found != name_ids_.end()) return found->second;
  auto id = static_cast<uint32_t>(g().names.size());
  g().names.emplace_back(name);
  name_ids_.emplace(name, id);
  env_.push_back(kNone);
  return id;
}

void FunctionLowering::run(TSNode definition) {
  TSNode body = field(definition, "body");
  g().values.reserve(range_of(definition).size() / kBytesPerValue);
  collect_locals(body, unit_.text(), *scope_);
  scope_->body = body;
  auto function = open(definition, StatementKind::other);
  for (TSNode node : children_of(field(definition, "parameters"))) parameter(node);
  current_ = kNone;
  g().statements[function].time_end = ++clock_;
  block(body);
  note_own_storage();
}

void FunctionLowering::run_module(TSNode root) {
  collect_locals(root, unit_.text(), *scope_);
  own_statements_ = !unit_.is_left_out(kOwnStatements);
  if (own_statements_) {
    block(root);
    return;
  }
  for (TSNode node : statements_within(root)) {
    if (!definition(node)) note_old_syntax(node);
  }
}

StatementId FunctionLowering::open(TSNode node, StatementKind kind) {
  Statement s;
  s.kind = kind;
  s.range = range_of(node);
  s.parent = current_;
  s.block = block_number_;
  s.caught = catching_ > 0;
  s.time = ++clock_;
  g().statements.push_back(std::move(s));
  auto id = static_cast<StatementId>(g().statements.size() - 1);
  if (current_ != kNone) g().statements[current_].children.push_back(id);
  current_ = id;
  impure_ = false;
  return id;
}

void FunctionLowering::close(StatementId id) {
  g().statements[id].time_end = ++clock_;
  current_ = g().statements[id].parent;
}

void FunctionLowering::use(ValueId id) {
  if (id == kNone) return;
  if (current_ == kNone) {
    g().sinks.push_back(id);
  } else {
    use_in(current_, id);
  }
}

void FunctionLowering::bind(std::string_view name, ValueId value) {
  if (trials_ > 0) {  // a helper on trial may change no name of its caller
    impure_ = true;
    return;
  }
  if (scope_->globals.contains(name) || scope_->nonlocals.contains(name)) {
    g().sinks.push_back(value);
    write_anything();
    return;
  }
  uint32_t id = name_id(name);
  Definition d;
  d.name = id;
  d.value = value;
  d.statement = current_;
  d.previous = env_[id];
  g().definitions.push_back(d);
  auto definition = static_cast<DefinitionId>(g().definitions.size() - 1);
  if (!frames_.empty()) frames_.back().emplace(id, env_[id]);
  env_[id] = definition;
  g().record(id, ++clock_, definition);
  note_binding(id);
  if (current_ != kNone) g().statements[current_].definitions.push_back(definition);
}

void FunctionLowering::begin_branch() { frames_.emplace_back(); }

FunctionLowering::Changes FunctionLowering::end_branch() {
  Changes old = std::move(frames_.back());
  frames_.pop_back();
  if (!frames_.empty()) {
    for (const auto& [name, before] : old) frames_.back().emplace(name, before);
  }
  return old;
}

FunctionLowering::Changes FunctionLowering::take(const Changes& changes) const {
  Changes now;
  for (const auto& [name, before] : changes) now[name] = env_[name];
  return now;
}

void FunctionLowering::put(const Changes& values) {
  for (const auto& [name, definition] : values) {
    if (env_[name] == definition) continue;
    env_[name] = definition;
    g().record(name, ++clock_, definition);
    note_binding(name);
  }
}

void FunctionLowering::join(ValueId condition, const Changes& old, bool then_falls,
                            const Changes& then_values, bool else_falls,
                            const Changes& else_values) {
  if (!then_falls && !else_falls) return;
  for (const auto& [name, before] : old) {
    auto side = [&](const Changes& values) {
      auto found = values.find(name);
      return found == values.end() ? before : found->second;
    };
    DefinitionId a = side(then_values), b = side(else_values);
    DefinitionId result = !then_falls ? b : a;
    if (then_falls && else_falls && a != b) {
      auto value_of = [&](DefinitionId d) {
        if (d != kNone) {
          settle(g().definitions[d].value);
          return g().definitions[d].value;
        }
        Value unbound;
        unbound.kind = Kind::unknown;
        unbound.text = "unbound " + g().names[name];
        return g().add(std::move(unbound));
      };
      ValueId va = value_of(a), vb = value_of(b);
      if (va == vb) {
        result = a;
      } else {
        Definition d;
        d.name = name;
        d.value = phi(condition, va, vb, TSNode{});
        d.statement = current_;
        d.previous = before;
        d.join = true;
        d.then_side = a;
        d.else_side = b;
        g().definitions.push_back(d);
        result = static_cast<DefinitionId>(g().definitions.size() - 1);
        if (current_ != kNone) g().statements[current_].definitions.push_back(result);
      }
    }
    if (env_[name] != result) {
      env_[name] = result;
      g().record(name, ++clock_, result);
      note_binding(name);
    }
  }
}

bool FunctionLowering::block(TSNode node) {
  if (stack_is_low()) {
    unit_.too_deep.push_back(range_of(node));
    opaque_names(bound_names(node, unit_.text()), "nested too deeply", {});
    return true;
  }
  bool falls = true;
  for (TSNode child : statements_of(node)) {
    if (!falls) {
      // Not reached; its names keep what they have, its sites are not sites.
      break;
    }
    falls = statement(child);
  }
  return falls;
}

bool FunctionLowering::statement(TSNode node) {
  const NodeKind type = type_of(node);
  if (type == "if_statement") return if_statement(node);
  if (type == "for_statement" || type == "while_statement") {
    loop(node);
    return true;
  }
  if (type == "try_statement") return try_statement(node);
  if (type == "with_statement") return with_statement(node);
  if (type == "match_statement") {
    match_statement(node);
    return true;
  }
  if (definition(node)) return true;
  if (type == "import_statement" || type == "import_from_statement" ||
      type == "future_import_statement") {
    import(node);
    return true;
  }
  return simple(node);
}

// What Python 3 does not have and the grammar takes.
void FunctionLowering::note_old_syntax(TSNode node) {
  if (is(node, "print_statement") || is(node, "exec_statement")) {
    unit_.syntax_errors.push_back(range_of(node));
  }
}

namespace {

// `x` of `x.f(…)`, where that is all that is written.
TSNode receiver_name(TSNode call) {
  if (!is(call, "call")) return {};
  const TSNode function = field(call, "function");
  if (!is(function, "attribute") || !is(field(function, "object"), "identifier")) return {};
  return field(function, "object");
}

}  // namespace

bool FunctionLowering::simple(TSNode node) {
  const NodeKind type = type_of(node);
  if (type == "expression_statement") {
    auto inside = children_of(node);
    if (inside.size() == 1 && is(inside[0], "assignment")) {
      assignment(node);
      return true;
    }
    if (inside.size() == 1 && is(inside[0], "augmented_assignment")) {
      augmented(inside[0]);
      return true;
    }
    auto id = open(node, StatementKind::expression);
    const TSNode name = inside.size() == 1 ? receiver_name(inside[0]) : TSNode{};
    const bool local = present(name) && scope_->locals.contains(text(name));
    const ValueId before = local ? expression(name) : kNone;
    const bool own = before != kNone && fresh(before) && !escaped(before);
    ValueId value = kNone;
    for (TSNode child : inside) use(value = expression(child));
    g().statements[id].pure = !impure_;
    // `x.add_(y)` gives x back: of a tensor made here it is `x = x.add_(y)`.
    const Value* v = own && value != kNone ? &g()[value] : nullptr;
    if (v != nullptr && v->kind == Kind::op && v->op->in_place && v->operands[0] == before) {
      // The call took the name for unknown; nobody reads that meaning.
      const auto index = g().name_index(text(name));
      std::erase_if(g().statements[id].definitions,
                    [&](DefinitionId d) { return g().definitions[d].name == index; });
      bind(text(name), value);
      g().statements[id].kind = StatementKind::assign;
      g().statements[id].names_only = true;
    }
    close(id);
    return true;
  }
  if (type == "break_statement" || type == "continue_statement") leave_round();
  note_old_syntax(node);
  StatementKind kind = type == "return_statement" ? StatementKind::give : StatementKind::other;
  auto id = open(node, kind);
  const bool unbinds = type == "delete_statement" && only_local_names(node);
  if (unbinds) g().unbinding.push_back(id);
  for (TSNode child : children_of(node)) {
    if (unbinds || type == "global_statement" || type == "nonlocal_statement") break;
    if (type == "delete_statement") remove_entries(child);
    ValueId value = is(child, "expression_list") ? sequence(child, Kind::tuple) : expression(child);
    use(value);
    if (kind == StatementKind::give) g().results.push_back(value);
  }
  // `type(x).k = y` is read as the alias of a type, which Python has as well.
  if (type == "type_alias_statement") write_anything();
  if (type == "delete_statement") {
    const std::vector<ValueId> targets = g().statements[id].uses;
    for (ValueId target : targets) {
      const Value v = g()[target];
      if (v.kind == Kind::attribute) store_attribute(v.operands[0], v.text, kNone, node);
    }
    for (const std::string& name : bound_names(node, unit_.text())) {
      Value gone;
      gone.kind = Kind::unknown;
      gone.text = "deleted " + name;
      bind(name, g().add(std::move(gone)));
    }
  }
  close(id);
  return type != "return_statement" && type != "raise_statement" && type != "continue_statement" &&
         type != "break_statement";
}

// Whether a `del` takes away nothing but names of this function that no other one knows.
bool FunctionLowering::only_local_names(TSNode target) const {
  if (is(target, "identifier")) {
    const std::string name(text(target));
    return scope_->locals.contains(name) && !scope_->captured.contains(name) &&
           !scope_->rebound.contains(name);
  }
  if (!is(target, "delete_statement") && !is(target, "expression_list") &&
      !is(target, "parenthesized_expression") && !is(target, "tuple") && !is(target, "list")) {
    return false;
  }
  return std::ranges::all_of(children_of(target),
                             [this](TSNode part) { return only_local_names(part); });
}

// `del x[0]`: another entry is there, or none.
void FunctionLowering::remove_entries(TSNode target) {
  if (is(target, "subscript")) {
    assign(target, literal_value({}, TSNode{}));
  } else if (!is(target, "attribute")) {
    for (TSNode part : children_of(target)) remove_entries(part);
  }
}

bool FunctionLowering::if_statement(TSNode node) {
  // An `elif` is an `if` inside the `else` of the one before it.
  struct Level {
    StatementId statement;
    ValueId condition;
    bool then_falls;
    Changes then_changes, then_values;
  };
  std::vector<Level> levels;
  const NodeList alternatives = fields_of(node, "alternative");
  TSNode at = node;
  size_t next = 0;
  uint32_t outer_block = block_number_;
  bool falls = true;
  while (true) {
    Level level;
    level.statement = open(at, StatementKind::branch);
    level.condition = expression(field(at, "condition"));
    use(level.condition);
    g().statements[level.statement].pure = !impure_;
    begin_branch();
    block_number_ = 0;
    level.then_falls = block(field(at, "consequence"));
    level.then_changes = end_branch();
    level.then_values = take(level.then_changes);
    put(level.then_changes);
    begin_branch();
    block_number_ = 1;
    levels.push_back(std::move(level));
    if (next < alternatives.size() && is(alternatives[next], "elif_clause")) {
      at = alternatives[next++];
      continue;
    }
    if (next < alternatives.size()) falls = block(field(alternatives[next], "body"));
    break;
  }
  while (!levels.empty()) {
    Level level = std::move(levels.back());
    levels.pop_back();
    Changes else_changes = end_branch();
    Changes else_values = take(else_changes);
    Changes old = level.then_changes;
    for (const auto& [name, before] : else_changes) old.emplace(name, before);
    join(level.condition, old, level.then_falls, level.then_values, falls, else_values);
    if (!frames_.empty()) {
      for (const auto& [name, before] : old) frames_.back().emplace(name, before);
    }
    falls = falls || level.then_falls;
    // The body of an `elif` belongs to the whole chain's text.
    g().statements[level.statement].range.end = ts_node_end_byte(node);
    close(level.statement);
  }
  block_number_ = outer_block;
  return falls;
}

void FunctionLowering::import(TSNode node) {
  auto id = open(node, StatementKind::other);
  for (const Imported& i :
       imported_names(node, unit_.text(), unit_.names.name, unit_.names.package)) {
    Value v;
    v.kind = Kind::symbol;
    v.text = own_library(i.qualified, unit_.module, context_);
    v.statement = id;
    ValueId made = g().add(std::move(v));
    unsettled_.insert(made);
    bind(i.local, made);
  }
  close(id);
}

void FunctionLowering::settle(ValueId id) {
  if (unsettled_.erase(id) == 0) return;
  Value& v = g()[id];
  if (auto meaning = context_.project.resolve(v.text, &v.literal.text)) {
    v.text = *meaning;
  } else {
    v.kind = Kind::unknown;
    v.text = v.text.substr(v.text.rfind('.') + 1);
  }
}

void lower_unit(PythonUnit& unit, const LoweringContext& context) {
  UnitLowering shared{unit, context, {}, {}, {}};
  unit.functions.emplace_back();
  unit.functions.front().range = range_of(unit.tree.root());
  unit.classes = class_facts(unit.text(), unit.names, context);
  for (TSNode s : statements_of(unit.tree.root())) {
    if (!is(s, "function_definition")) continue;
    std::string name(text_of(unit.text(), field(s, "name")));
    auto bound = unit.names.names.bindings.find(name);
    if (bound != unit.names.names.bindings.end() && bound->second.size() == 1) {
      shared.top_level.emplace(std::move(name), s);
    }
  }
  FunctionLowering(shared, 0, std::make_shared<Scope>()).run_module(unit.tree.root());
  std::vector<std::shared_ptr<Scope>> scopes;
  while (!shared.pending.empty()) {
    Pending next = shared.pending.front();
    shared.pending.pop_front();
    if (unit.is_left_out(range_of(next.definition))) continue;
    auto scope = std::make_shared<Scope>();
    scope->parent = next.enclosing;
    FunctionLowering(shared, next.index, scope).run(next.definition);
    scopes.push_back(scope);
  }
  // A name that an inner function reads is needed whatever happens to it here.
  for (const auto& scope : scopes) {
    Graph& g = unit.functions[scope->function].graph;
    for (const Definition& d : g.definitions) {
      if ((scope->reads_all || scope->captured.contains(g.names[d.name])) && d.value != kNone) {
        g.sinks.push_back(d.value);
        g.captured.insert(d.value);
      }
    }
    g.forget_derived();
  }
}

}  // namespace refit::python
