// What a program runs or stores without its name being written as a call's or a target's:
// properties and other methods that operators and `with` call, readers of generators, and
// attributes that are stored by their names in quotes. Entry points:
// FunctionLowering::read_attribute, run_of_context, end_of_context, yielded, store_attribute,
// note_named_stores.
#include <algorithm>
#include <array>

#include "rewriter/graph/storage.hpp"
#include "rewriter/python/lower/lowering.hpp"

namespace refit::python {

namespace {

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

// The text of a literal string; "" for anything else, which may be any name.
std::string named(const Graph& g, ValueId id) {
  if (id == kNone || g[id].kind != Kind::literal) return "";
  return g[id].literal.kind == Literal::Kind::string ? g[id].literal.text : "";
}

}  // namespace

// A call, of a method of this file that may write, which stands for what calls it.
ValueId FunctionLowering::hidden_call(ValueId callee, const std::vector<ValueId>& given,
                                      TSNode node) {
  Value v;
  v.kind = Kind::call;
  v.operands = {callee};
  v.operands.insert(v.operands.end(), given.begin(), given.end());
  v.keywords.resize(given.size());
  impure_ = true;
  const ValueId id = add(std::move(v), node);
  use(id);
  g().writers.emplace(id, kNone);
  return id;
}

// `yield x`: whoever reads the generator runs until it asks for more, and may write whatever it
// has: what it is given, what it made the generator of, what functions around it share.
ValueId FunctionLowering::yielded(TSNode node) {
  impure_ = true;
  const ValueId given = opaque_children("yield", node);
  if (context_.pattern) {
    use(given);
    return given;
  }
  Value reader;
  reader.kind = Kind::call;
  reader.operands = {given};
  const std::vector<ValueId> values = g()[given].operands;
  reader.operands.insert(reader.operands.end(), values.begin(), values.end());
  for (ValueId id = 0; id < g().values.size(); ++id) {
    if (g()[id].kind == Kind::parameter && g()[id].text != "self") reader.operands.push_back(id);
  }
  reader.keywords.resize(reader.operands.size() - 1);
  const ValueId id = add(std::move(reader), node);
  use(id);
  g().writers.emplace(id, kNone);
  return id;
}

// Whether to run a value may run code in sight that writes: a function of this file, one of
// several, an object of a class of this file, a method that writes in place.
bool FunctionLowering::runs_a_writer(ValueId value, int depth) {
  constexpr int kDepth = 6;
  if (context_.pattern || value == kNone) return false;
  if (depth > kDepth || g().writers.contains(value)) return true;
  const Value& v = g()[value];
  switch (v.kind) {
    case Kind::symbol:
    case Kind::function:
    case Kind::attribute:
      return may_write(value) || (v.text.ends_with('_') && !v.text.ends_with("__"));
    case Kind::call: {
      const Value& made_by = g()[v.operands[0]];
      return made_by.kind == Kind::symbol && made_by.text.starts_with(unit_.module + ".") &&
             !body_writes().knows(last_part(made_by.text)) && body_writes().objects_write();
    }
    case Kind::opaque:  // an item of a loop, an entry of a dictionary, what a round left
    case Kind::phi:
    case Kind::list:
    case Kind::tuple:
    case Kind::element:
    case Kind::index:
    case Kind::starred:
    case Kind::update: {
      const std::vector<ValueId> parts = v.operands;
      return std::ranges::any_of(parts,
                                 [&](ValueId part) { return runs_a_writer(part, depth + 1); });
    }
    default:
      return false;
  }
}

// Something is stored that is not followed: whatever may be shared may be something else.
void FunctionLowering::write_anything() {
  const ValueId id = opaque("stored out of sight", {}, TSNode{});
  use(id);
  g().writers.emplace(id, kNone);
}

// What reading an attribute gives: the attribute, or what the getter of a property returns.
ValueId FunctionLowering::read_attribute(ValueId attribute, TSNode node) {
  if (context_.pattern || !body_writes().computes(g()[attribute].text)) return attribute;
  if (body_writes().read_writes(g()[attribute].text)) return hidden_call(attribute, {}, node);
  g().properties.insert(attribute);
  return attribute;
}

// Whether a class of this file has a method of that name, which may write, for what an operator
// does to an object that is not shown to be a tensor.
bool FunctionLowering::entry_writes(ValueId object, ValueId index, std::string_view method) {
  if (context_.pattern || !body_writes().may_write(method)) return false;
  const Kind kind = index == kNone ? Kind::slice : g()[index].kind;
  if (g()[object].kind == Kind::attribute && holds_no_storage(g()[object].text)) return false;
  return kind != Kind::slice && kind != Kind::tuple && g()[object].kind != Kind::op;
}

// `with context:` runs two methods of the context, before its block and behind it. What stands for
// them is added where the file has such a method that may write and the context may be of its
// class.
void FunctionLowering::run_of_context(ValueId context, std::string_view method, TSNode node) {
  if (context_.pattern || context == kNone || !body_writes().may_write(method)) return;
  const Value& c = g()[context];
  if (c.kind == Kind::op) return;
  if (c.kind == Kind::call) {  // of a class of another file, as `torch.no_grad()`
    const Value& made_by = g()[c.operands[0]];
    const bool here = made_by.text.starts_with(unit_.module + ".");
    if (made_by.kind == Kind::op || (made_by.kind == Kind::symbol && !here)) return;
  }
  Value callee;
  callee.kind = Kind::attribute;
  callee.text = method;
  callee.operands = {context};
  callee.statement = current_;
  hidden_call(g().add(std::move(callee)), {}, node);
}

// Behind its block a context that a call gave may write what that call was handed; one that code in
// sight made, behind its `yield`, what that code may write.
void FunctionLowering::end_of_context(ValueId context, TSNode node) {
  run_of_context(context, "__exit__", node);
  if (context_.pattern || context == kNone || g()[context].kind != Kind::call) return;
  Value left;
  left.kind = Kind::call;
  left.keywords.resize(1);
  Value callee;
  callee.kind = Kind::attribute;
  callee.text = "__exit__";
  callee.operands = {context};
  callee.statement = current_;
  left.operands = {g().add(std::move(callee)), context};
  const ValueId id = add(std::move(left), node);
  if (g().writers.contains(context)) g().writers.emplace(id, kNone);
}

// `object.name = value`, however it is written; without a name it may be any attribute.
void FunctionLowering::store_attribute(ValueId object, std::string name, ValueId value,
                                       TSNode node) {
  g().stored_attributes.push_back(name);
  g().attribute_writes.push_back({static_cast<ValueId>(g().values.size()), object, name, value});
  // Another storage for a tensor, whatever names it has.
  if (name == "data") forget_aliases(object, "");
  if (context_.pattern || !body_writes().store_writes(name)) return;
  Value target;
  target.kind = Kind::attribute;
  target.text = std::move(name);
  target.operands = {object};
  target.statement = current_;
  const ValueId callee = g().add(std::move(target));
  hidden_call(callee, value == kNone ? std::vector<ValueId>{} : std::vector{value}, node);
}

// `x[index] = value` where x holds the attributes of an object: `self._buffers["k"] = y`.
void FunctionLowering::store_in_table(ValueId table, ValueId index, ValueId value, TSNode node) {
  const ValueId object = object_of_table(g(), table);
  if (object != kNone) store_attribute(object, named(g(), index), value, node);
}

// Calls that store an attribute by its name: `setattr(x, "k", y)`, `x.__setattr__("k", y)`,
// `object.__setattr__(x, "k", y)`, `x.register_buffer("k", y)`, `x.__dict__.update(k=y)`. And
// `getattr(x, "k")`, which may run the getter of a property.
void FunctionLowering::note_named_stores(ValueId call, TSNode node) {
  const Value v = g()[call];
  const Value callee = g()[v.operands[0]];
  const std::string_view name = last_part(callee.text);
  const bool method = callee.kind == Kind::attribute;
  auto argument = [&](size_t position, std::string_view keyword) {
    for (size_t i = 0; i < v.keywords.size(); ++i) {
      if (!keyword.empty() && v.keywords[i] == keyword) return v.operands[i + 1];
    }
    return position < v.keywords.size() && v.keywords[position].empty() ? v.operands[position + 1]
                                                                        : kNone;
  };
  static constexpr std::array<std::string_view, 4> kRegister = {
      "register_buffer", "register_parameter", "register_module", "add_module"};
  if (method && std::ranges::find(kRegister, name) != kRegister.end()) {
    ValueId value = argument(1, "tensor");
    for (const std::string_view keyword : {"param", "module"}) {
      if (value == kNone) value = argument(1, keyword);
    }
    store_attribute(callee.operands[0], named(g(), argument(0, "name")), value, node);
  } else if (name == "setattr" || name == "delattr" || name == "__setattr__" ||
             name == "__delattr__") {
    // A method that is handed its object as well is one of a class.
    const size_t all = name.find("set") != std::string_view::npos ? 3 : 2;
    const bool bound = method && v.keywords.size() < all;
    const size_t first = bound ? 0 : 1;
    ValueId object = bound ? callee.operands[0] : argument(0, "");
    if (bound && g()[object].kind == Kind::call) object = name_value("self", TSNode{});  // super()
    if (object == kNone) return;
    const ValueId value = all == 3 ? argument(first + 1, "value") : kNone;
    store_attribute(object, named(g(), argument(first, "name")), value, node);
  } else if (method && changes_entries(name)) {
    const ValueId object = object_of_table(g(), callee.operands[0]);
    if (object == kNone) return;
    store_attribute(object, "", kNone, node);
    for (size_t i = 1; i < v.operands.size(); ++i) {
      g().attribute_writes.push_back(
          {static_cast<ValueId>(g().values.size()), object, "", v.operands[i]});
    }
  } else if (name == "getattr" && !method &&
             body_writes().read_writes(named(g(), argument(1, "")))) {
    g().writers.emplace(call, kNone);
  }
}

}  // namespace refit::python
