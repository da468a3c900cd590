// The value graph of one function: what is computed from what, with the place in the source that
// each value came from. It is the same structure for every source language and knows no syntax; a
// front end fills it, matching and planning read it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/rule/catalogue.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

using ValueId = uint32_t;
using StatementId = uint32_t;
using DefinitionId = uint32_t;
inline constexpr uint32_t kNone = UINT32_MAX;

// The text of an opaque value that stands for its operand after a write through another name.
inline constexpr std::string_view kStoredElsewhere = "stored to through another name";
// The text of an opaque value that runs code when it is asked for its items.
inline constexpr std::string_view kGenerator = "generator";
// How the texts of opaque values begin that stand for a name when a round of a loop begins, and
// behind the loop.
inline constexpr std::string_view kInLoop = "loop ";
inline constexpr std::string_view kAfterLoop = "after the loop ";

enum class Kind : uint8_t {
  parameter,  // text: its name
  literal,    // literal
  symbol,     // text: a qualified name outside the function (import, module level)
  unknown,    // text: a name whose value is not known (unbound, captured, loop-carried)
  function,   // a function defined in this one; index: its number in the unit
  hole,       // patterns only; text: the metavariable's name, "_" for any value
  attribute,  // operands[0].text
  op,         // a known operation; operands in the order of op->parameters, kNone when not passed
  call,       // any other call: operands[0] is the callee, then the arguments; keywords name them
  index,      // operands[0][operands[1]]
  slice,      // operands: start, stop, step; kNone when absent
  tuple,      // operands
  list,       // operands
  starred,    // *operands[0]
  element,    // part `index` of `count` of the unpacked operands[0]; count 0: not known
  phi,        // operands: condition, value if true, value if false
  update,     // operands: base, index, value: the base after base[index] = value
  opaque,     // anything else; operands: what it reads; text: why
};

struct Value {
  Kind kind = Kind::opaque;
  const Operation* op = nullptr;  // op; for call: the known callee whose arguments did not bind
  std::string text;
  // What a literal is; of a parameter its kind as the declaration shows it: a number, or the class.
  Literal literal;
  std::vector<ValueId> operands;
  // call: one an argument, "" for a positional one; unknown: the qualified names that it may mean
  std::vector<std::string> keywords;
  bool inlined = false;  // stands in another function's text, seen through a call
  bool number = false;   // by its type, in a language that has types; a truth value is none
  int index = 0;         // of an element; of the overload that an op's arguments bound to
  int count = 0;         // or of a parameter: the items of the tuple that it is declared to be
  int axes = 0;     // how many an op's spelling in the source named, a call's callee gives; or 0
  ByteRange range;  // the expression in the source; empty for joins
  StatementId statement = kNone;  // in which it is computed
  uint32_t syntax = kNone;        // the front end's own handle
};

enum class StatementKind : uint8_t {
  assign,      // binds names to values, nothing else
  expression,  // evaluated for its effect
  give,        // return, yield
  branch,      // if
  other,       // loops, with, try, definitions, stores, everything else
};

// `object.name = …`, which makes no value: behind the values below `at`. Without a name it may be
// any attribute of the object.
struct AttributeWrite {
  ValueId at = kNone, object = kNone;
  std::string name;
  ValueId value = kNone;  // what is stored, where it is known
};

struct Statement {
  StatementKind kind = StatementKind::other;
  ByteRange range;             // without the line's indentation and line ending
  StatementId parent = kNone;  // enclosing compound statement
  uint32_t block = 0;          // which block of the parent: 0 body, 1 else, …
  bool pure = false;           // evaluating it only defines its names
  bool names_only = false;     // it binds names and stores nowhere
  bool caught = false;         // its function may catch what it raises
  bool carried = false;        // it gives a name a value that a further round of a loop may read
  std::vector<ValueId> uses;   // values it consumes besides defining names
  std::vector<DefinitionId> definitions;
  std::vector<StatementId> children;
  uint32_t time = 0;  // when it begins, in the order of Graph::reaching
  uint32_t time_end = 0;
};

// A name gets a value: by an assignment, or where branches meet.
struct Definition {
  uint32_t name = 0;  // index into Graph::names
  ValueId value = kNone;
  StatementId statement = kNone;
  DefinitionId previous = kNone;  // what the name meant just before
  bool join = false;              // made where branches meet:
  DefinitionId then_side = kNone, else_side = kNone;
};

// The parameters that an op value's operands stand for.
inline const std::vector<Parameter>& parameters_of(const Value& value) {
  return value.index == 0 ? value.op->parameters
                          : value.op->overloads[static_cast<size_t>(value.index) - 1];
}

// How many axes a value has, where that was asked and is shown.
struct Rank {
  enum class State : uint8_t { unknown, asked, known } state = State::unknown;
  std::optional<int> axes;
};

class Graph {
 public:
  std::vector<Value> values;
  std::vector<Statement> statements;
  std::vector<Definition> definitions;
  std::vector<std::string> names;
  std::vector<ValueId> sinks;  // used whatever happens: captured by closures, deleted, …
  // Statements that only take names away (`del q, k`), which reads nothing: the names must mean
  // something there.
  std::vector<StatementId> unbinding;
  std::vector<ValueId> results;  // what `return` gives, in source order
  std::set<ValueId> captured;    // given to names that functions inside this one read
  // Names of attributes written anywhere in it; an empty one may be any.
  std::vector<std::string> stored_attributes;
  std::vector<AttributeWrite> attribute_writes;
  std::set<ValueId> in_place;  // `x *= y`: written where x lies, by a statement that is no value
  // Calls of layers: the catalogue's classes, one of which the callee is an object of.
  std::map<ValueId, std::vector<const Operation*>> instances;
  // Calls of functions that change nothing of what they are given.
  std::set<ValueId> readers;
  // Calls of functions whose bodies, in sight, may write to what the function did not make: to
  // parts of the object that is the second, or to anything where that is kNone. Stores into
  // entries, too, where a class of the file has a method of its own for that.
  std::map<ValueId, ValueId> writers;
  // Calls on an object that store no attribute of it: of a layer that it holds, or of a method
  // whose body, in sight, does not.
  std::set<ValueId> keepers;
  // Reads of attributes that run code in sight, which writes nothing: those of properties.
  std::set<ValueId> properties;
  // Reads of attributes that hold a number, whoever stores them.
  std::set<ValueId> numbers;
  // Reads of attributes that hold a tensor which the class made and gave to no other attribute.
  std::set<ValueId> own_storage;
  // What decides, beside the conditions of an `if`, which block runs: the subject and the guards of
  // a `match`, and sizes that are unpacked inside a `try` with handlers.
  std::vector<ValueId> questions;
  // Calls of a private method that were seen through, and the class that defines it: true as long
  // as no class of another file overrides it.
  std::map<ValueId, std::string> methods_seen;
  // Values of a text that makes several in turn (`q, k = (x.t() for x in (q, k))`): the one that
  // stands for the same text in the first turn. That one has the text's range, the others none.
  std::map<ValueId, ValueId> repeats;

  ValueId add(Value value) {
    values.push_back(std::move(value));
    return static_cast<ValueId>(values.size() - 1);
  }
  const Value& operator[](ValueId id) const { return values[id]; }
  Value& operator[](ValueId id) { return values[id]; }

  std::optional<uint32_t> name_index(std::string_view name) const;
  // The definition of a name that reaches a moment (kNone: none does).
  DefinitionId reaching(uint32_t name, uint32_t time) const;
  void record(uint32_t name, uint32_t time, DefinitionId definition);

  // Values that some statement or sink needs. Computed when asked for, then kept.
  const std::vector<bool>& live() const;
  // Values that have `id` among their operands, read or not: what is written runs.
  std::span<const ValueId> users(ValueId id) const;
  // Whether a statement consumes the value directly (returns it, tests it, stores it, …).
  bool used_by_statement(ValueId id) const;
  void forget_derived() { users_ready_ = false; }
  // Kept for whoever works them out (match/facts.hpp: rank_of), by value: the ranks, and those that
  // the readers of a value show.
  std::vector<Rank>& ranks() const;
  std::vector<Rank>& ranks_read() const;
  // The values whose rank a condition asks for; nullopt until somebody has worked them out.
  std::optional<std::set<ValueId>>& rank_asked() const;
  // Values from this one on are taken back.
  void forget_layers(ValueId from) {
    instances.erase(instances.lower_bound(from), instances.end());
    properties.erase(properties.lower_bound(from), properties.end());
    numbers.erase(numbers.lower_bound(from), numbers.end());
    readers.erase(readers.lower_bound(from), readers.end());
    writers.erase(writers.lower_bound(from), writers.end());
    keepers.erase(keepers.lower_bound(from), keepers.end());
    std::erase_if(questions, [from](ValueId id) { return id >= from; });
    std::erase_if(attribute_writes, [from](const AttributeWrite& w) { return w.at >= from; });
  }

  bool stores(std::string_view attribute) const;

  // The operand bound to a parameter of an op value; kNone when not passed or unknown.
  ValueId argument(ValueId op, std::string_view parameter) const;

  // The object at the root of a chain of attributes.
  ValueId owner(ValueId id) const;
  // Where a value is made: its expression, or the whole statement that gives a name its value, as
  // an `if` does where branches meet and a store does into a slice.
  ByteRange place(ValueId id) const;
  bool made_by_statement(ValueId id) const {
    return values[id].range.size() == 0 || values[id].kind == Kind::update;
  }

  // Whether a call may change attributes of an object: it is a method of it, or takes it.
  bool touches(ValueId call, ValueId object) const;

  // The definitions that give some name this value, ascending.
  std::vector<DefinitionId> definitions_of(ValueId id) const;

  // Equal as computations: the same value, or pure reads of the same shape. Values that an
  // intervening store may change are only equal to themselves.
  bool same(ValueId a, ValueId b) const;

 private:
  bool changed_between(ValueId x, ValueId y) const;

  struct Event {
    uint32_t time;
    DefinitionId definition;
  };
  std::vector<std::vector<Event>> events_;  // by name
  void derive() const;
  mutable bool users_ready_ = false;
  mutable std::vector<bool> live_;
  mutable std::vector<ValueId> users_;         // of all values, and
  mutable std::vector<uint32_t> users_begin_;  // where those of each begin
  mutable std::vector<bool> statement_use_;
  mutable std::vector<Rank> ranks_, ranks_read_;
  mutable std::optional<std::set<ValueId>> rank_asked_;
  mutable std::vector<std::pair<ValueId, DefinitionId>> definers_;  // ascending
  mutable std::map<std::string, uint32_t, std::less<>> name_numbers_;
};

// What a definition that reaches a place becomes once some statements are gone.
DefinitionId effective(const Graph& graph, DefinitionId definition,
                       const std::set<StatementId>& dead);

// A compact dump for tests and debugging: `add(mul(x, 2), y)`.
std::string dump(const Graph& graph, ValueId id, int depth = 32);

}  // namespace refit
