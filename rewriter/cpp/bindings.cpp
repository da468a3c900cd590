// What a local name is bound to, statement by statement, and the joins of what two branches bound.
// Entry points: Lowering::bind, Lowering::join.
#include "rewriter/cpp/lowering.hpp"

namespace refit::cpp {

uint32_t Lowering::name_of(const clang::ValueDecl* decl) {
  auto [found, fresh] = name_ids_.emplace(decl, static_cast<uint32_t>(g().names.size()));
  if (fresh) {
    g().names.push_back(decl->getNameAsString());
    text().locals.push_back(
        {decl->getNameAsString(), scope_, changing_.contains(decl), holds_tensor(decl->getType())});
    env_.push_back(kNone);
  }
  return found->second;
}

void Lowering::bind(const clang::ValueDecl* decl, ValueId value) {
  uint32_t id = name_of(decl);
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
  if (current_ != kNone) g().statements[current_].definitions.push_back(definition);
}

Lowering::Changes Lowering::end_branch() {
  Changes old = std::move(frames_.back());
  frames_.pop_back();
  if (!frames_.empty()) {
    for (const auto& [name, before] : old) frames_.back().emplace(name, before);
  }
  return old;
}

Lowering::Changes Lowering::take(const Changes& changes) const {
  Changes now;
  for (const auto& [name, before] : changes) now[name] = env_[name];
  return now;
}

void Lowering::put(const Changes& values) {
  for (const auto& [name, definition] : values) {
    if (env_[name] == definition) continue;
    env_[name] = definition;
    g().record(name, ++clock_, definition);
  }
}

// The operands of a choice; `x.defined()` and its negation with the sides exchanged are one form.
std::vector<ValueId> Lowering::choice(ValueId condition, ValueId a, ValueId b) {
  const Value& c = g()[condition];
  if (c.kind != Kind::op || c.op->id != "operator.is_not") return {condition, a, b};
  Value flipped = c;
  flipped.op = knowledge_.catalogue.find("operator.is_");
  return {g().add(std::move(flipped)), b, a};
}

void Lowering::join(ValueId condition, const Changes& old, bool then_falls,
                    const Changes& then_values, bool else_falls, const Changes& else_values) {
  if (!then_falls && !else_falls) return;
  for (const auto& [name, before] : old) {
    auto side = [&, name = name, before = before](const Changes& values) {
      auto found = values.find(name);
      return found == values.end() ? before : found->second;
    };
    DefinitionId a = side(then_values), b = side(else_values);
    DefinitionId result = then_falls ? a : b;
    // A name of one side alone is out of scope here.
    if (then_falls && else_falls && a != b && a != kNone && b != kNone) {
      Value both;
      both.kind = Kind::phi;
      both.operands = choice(condition, g().definitions[a].value, g().definitions[b].value);
      both.statement = current_;
      Definition d;
      d.name = name;
      d.value = both.operands[1] == both.operands[2] ? both.operands[1] : g().add(std::move(both));
      d.statement = current_;
      d.previous = before;
      d.join = true;
      d.then_side = a;
      d.else_side = b;
      g().definitions.push_back(d);
      result = static_cast<DefinitionId>(g().definitions.size() - 1);
      if (current_ != kNone) g().statements[current_].definitions.push_back(result);
    }
    if (env_[name] != result) {
      env_[name] = result;
      g().record(name, ++clock_, result);
    }
  }
}

}  // namespace refit::cpp
