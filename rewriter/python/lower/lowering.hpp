// Internal: the lowering of one function, shared by statements (lower.cpp) and expressions
// (expression.cpp).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rewriter/python/lower/body_writes.hpp"
#include "rewriter/python/lower/lower.hpp"

namespace refit::python {

struct Pending {  // a function to lower after the one that defines it
  TSNode definition;
  uint32_t index;
  std::shared_ptr<Scope> enclosing;
};

// The names of a function's parameters; nullopt where one has a default or a star.
std::optional<std::vector<std::string>> plain_parameters(TSNode definition, std::string_view text);

struct UnitLowering {
  PythonUnit& unit;
  const LoweringContext& context;
  std::deque<Pending> pending;
  std::map<std::string, TSNode, std::less<>> top_level;  // functions of the module, by name
  std::map<uint32_t, TSNode> definitions;                // functions of the unit, by number
  std::optional<bool> may_end_errors{};     // an object of a `with` that is not torch's, once asked
  std::map<std::string, bool> catching{};   // what makes objects that may end errors, once asked
  std::optional<BodyWrites> body_writes{};  // once asked
  // What names of the module mean, once they were asked for.
  struct Symbol {
    std::optional<std::string> meaning;
    std::string why_not;
  };
  std::unordered_map<std::string, Symbol, NameHash, std::equal_to<>> symbols{};
};

class FunctionLowering {
 public:
  FunctionLowering(UnitLowering& shared, uint32_t index, std::shared_ptr<Scope> scope);
  void run(TSNode definition);  // a function_definition
  void run_module(TSNode root);

 private:
  // Statements. Each returns whether control can reach what follows.
  bool block(TSNode node);
  bool statement(TSNode node);
  bool simple(TSNode node);
  void note_old_syntax(TSNode node);
  bool only_local_names(TSNode target) const;
  void remove_entries(TSNode target);
  bool if_statement(TSNode node);
  // A loop makes opaque the names that its rounds bind; leave_round notes what they mean where a
  // round ends.
  void loop(TSNode node);
  void leave_round();
  // Where a `try` has handlers, each handler and what follows takes every name that the body binds
  // for uncertain.
  bool try_statement(TSNode node);
  bool with_statement(TSNode node);
  bool may_end_errors(TSNode object, ValueId context);
  bool made_to_catch(ValueId context);
  void note_tried(ValueId first, ValueId last);
  // Of a `match` every case may run, and its patterns bind names to what is not followed.
  void match_statement(TSNode node);
  void import(TSNode node);
  // Defines what a definition of a function or a class defines; false where the node is none. What
  // runs where a definition stands is lowered only where the statements around it are, and its
  // decorators and defaults only where the function itself is.
  bool definition(TSNode node);
  void define_function(TSNode node, std::vector<std::string> decorators);
  uint32_t add_function(TSNode node, std::vector<std::string> decorators,
                        std::string_view class_name);
  void lower_defaults(TSNode definition);
  std::vector<std::string> decorators(TSNode node);
  bool library_function(std::string_view qualified) const;
  void note_scripted(Function& function, std::string_view class_name) const;
  void define_class(TSNode node, const std::vector<std::string>& decorators_of);
  std::vector<TSNode> statements_within(TSNode body);
  // Stores: a name is bound, a part of a tensor becomes an update, anything else is an effect.
  void assign(TSNode target, ValueId value);
  void assignment(TSNode node);
  void augmented(TSNode node);
  void bind(std::string_view name, ValueId value);
  // After a store every name that may share the storage means something uncertain, but `except`.
  void forget_aliases(ValueId stored, std::string_view except);
  // Statements nest: `open` makes one the current one, `close` goes back to the one around it.
  StatementId open(TSNode node, StatementKind kind);
  void close(StatementId id);
  void use(ValueId id);
  // Gives each name an opaque value that reads `reads`: what it means is not followed further.
  void opaque_names(const std::set<std::string, std::less<>>& names, const std::string& why,
                    const std::vector<ValueId>& reads);

  // What runs or stores without being written as that (hidden.cpp).
  ValueId hidden_call(ValueId callee, const std::vector<ValueId>& given, TSNode node);
  ValueId yielded(TSNode node);
  void write_anything();
  ValueId read_attribute(ValueId attribute, TSNode node);
  bool runs_a_writer(ValueId value, int depth);
  void run_of_context(ValueId context, std::string_view method, TSNode node);
  void end_of_context(ValueId context, TSNode node);
  bool entry_writes(ValueId object, ValueId index, std::string_view method);
  void store_attribute(ValueId object, std::string name, ValueId value, TSNode node);
  void store_in_table(ValueId table, ValueId index, ValueId value, TSNode node);
  void note_named_stores(ValueId call, TSNode node);

  // Branches: names changed since the mark, with what they were.
  using Changes = std::map<uint32_t, DefinitionId>;
  void begin_branch();
  Changes end_branch();                        // undoes nothing
  Changes take(const Changes& changes) const;  // what those names are now
  void put(const Changes& values);
  void join(ValueId condition, const Changes& old, bool then_falls, const Changes& then_values,
            bool else_falls, const Changes& else_values);

  // Expressions.
  // Each returns the value of its node, in its normal form; kNone where the node is absent.
  ValueId expression(TSNode node);
  ValueId expression_inner(TSNode node);
  ValueId identifier(TSNode node);
  ValueId name_value(std::string_view name, TSNode node);
  ValueId attribute(TSNode node);
  ValueId call(TSNode node);
  ValueId subscript(TSNode node);
  std::pair<ValueId, ValueId> object_and_index(TSNode subscript);
  ValueId entry_of(ValueId object, ValueId index, TSNode node);  // read or stored to
  ValueId slice(TSNode node);
  ValueId unary(TSNode node);
  ValueId binary(TSNode node);
  ValueId comparison(TSNode node);
  void read_later(TSNode body);
  ValueId comprehension(TSNode node);
  // The parts of a comprehension that is unpacked at once into names, as a tuple.
  std::optional<ValueId> unrolled(TSNode target, TSNode node);
  bool only_shapes(size_t values, size_t end) const;
  void read_names(TSNode body, std::string_view own);
  bool is_builtin(std::string_view name) const;
  ValueId part_of(ValueId whole, size_t index, size_t count);
  ValueId lambda(TSNode node);
  ValueId number(TSNode node);
  ValueId string(TSNode node);
  ValueId sequence(TSNode node, Kind kind);
  ValueId operation(std::string_view id, std::vector<ValueId> operands, TSNode node);
  ValueId literal_value(Literal literal, TSNode node);
  ValueId opaque(std::string why, std::vector<ValueId> operands, TSNode node);
  ValueId opaque_children(std::string why, TSNode node);
  ValueId add(Value value, TSNode node);
  ValueId phi(ValueId condition, ValueId a, ValueId b, TSNode node);
  struct Argument {
    std::string keyword;
    ValueId value;
    int stars = 0;
    TSNode node{};
    size_t parameter = SIZE_MAX;  // set when bound
  };
  // Who is called: the value before the parentheses, the operation that it is, and for a method of
  // a tensor the object before the dot.
  struct Callee {
    ValueId value = kNone;
    const Operation* op = nullptr;
    ValueId receiver = kNone;
  };
  Callee callee_of(TSNode node);
  // The arguments as they are written; a literal dictionary behind `**` is `unpacked` for a known
  // callee.
  std::vector<Argument> arguments_of(TSNode node, bool known, bool* unpacked);
  // The value of a call that fits the operation's signature; else nullopt, and `v` says why.
  std::optional<ValueId> known_call(const Callee& target, std::vector<Argument>& arguments,
                                    Value& v, TSNode node);
  // Operands by parameter; `why` says what did not fit.
  std::optional<std::vector<ValueId>> bind_arguments(const std::vector<Parameter>& parameters,
                                                     ValueId receiver,
                                                     std::vector<Argument>& arguments,
                                                     std::string* why);
  // Writes the pattern of a regrouping (einops) as one that names its lengths in one way.
  void one_spelling(Value& regrouping, const std::vector<Argument>& arguments);
  bool unpack_literal(TSNode splat, std::vector<Argument>& arguments);
  size_t reads_of(std::string_view name);  // in this function's text
  std::optional<std::string> symbol_of(std::string_view name, std::string* why);
  std::optional<std::string> symbol_of_module(std::string_view name, std::string* why) const;
  std::optional<std::string> one_operation(const std::vector<Binding>& bindings) const;
  const Names& names_of(Scope& scope) const;
  void parameter(TSNode node);
  // The class that an annotation names, alone or beside None.
  std::optional<std::string> declared_class(TSNode annotation);
  // The values whose storage a value may share: what it is a view, a part or a container of.
  struct Roots {
    bool known = false;
    bool forgotten = false;  // seen through a name that a store made uncertain
    bool unbounded = false;  // more than are kept
    std::shared_ptr<const std::vector<ValueId>> ids;  // ascending
  };
  bool sharing(ValueId id, std::vector<ValueId>& out) const;
  // Storage: what a value may share it with, whether two may share some, whether it is new and
  // whether something outside the function may hold it.
  const Roots& roots(ValueId id);
  bool may_alias(ValueId a, ValueId b);
  bool fresh(ValueId id);
  bool escaped(ValueId id);
  bool keeps_items(ValueId sequence);
  void note_binding(uint32_t name);
  // A statement consumes a value, whichever statement is being lowered.
  void use_in(StatementId statement, ValueId id);
  void mark_seen(ValueId id);
  void take_back(size_t values, size_t marks);
  std::vector<std::string> candidates(std::string_view name);
  std::vector<const Operation*> declared_layers(ValueId callee, size_t operands);
  bool moves_axes();
  // Notes that `self.scale` is a number, where its class and its kin store nothing else there.
  void note_number(ValueId id);
  // Whether `self.cache` is, by its class and its kin, what `fact` says, and nobody stores
  // something else there.
  bool own_attribute_is(ValueId id, bool (ClassFacts::*fact)(const std::string&, std::string_view));
  // Notes which attributes hold tensors of their own, where something is written in place.
  void note_own_storage();
  void note_project_call(ValueId value, ValueId callee);
  // The class whose object's attribute `self.NAME` a value reads, where this file assigns it.
  const std::string* own_attribute(ValueId id) const;
  TSNode definition_of(ValueId callee, ValueId* object) const;
  bool overridden_elsewhere(ValueId callee) const;
  bool reads_only(ValueId callee);
  bool may_write(ValueId callee);
  bool forward_writes(ValueId callee);
  bool may_be_layer(ValueId callee);
  BodyWrites& body_writes();
  bool gives_number(ValueId callee, const std::vector<Argument>& arguments) const;
  bool keeps_size(ValueId callee, const std::vector<Argument>& arguments) const;
  bool in_any_order(const std::vector<Argument>& arguments) const;
  bool reads_all(ValueId result, size_t first, const std::vector<Argument>& arguments) const;
  // The value that a call of a short pure function of this file gives, seen through.
  std::vector<Argument> without_stars(const std::vector<Argument>& arguments);
  std::vector<Argument> with_defaults(const std::vector<Argument>& arguments, TSNode definition);
  // What each parameter is given; nullopt where one is given nothing, or there are other arguments.
  static std::optional<std::map<std::string, ValueId, std::less<>>> bound_by_name(
      const std::vector<std::string>& parameters, const std::vector<Argument>& arguments);
  bool of_a_product(ValueId id) const;
  std::optional<ValueId> see_through_other(ValueId callee, const std::vector<Argument>& arguments,
                                           TSNode node);
  std::optional<ValueId> see_through(ValueId callee, const std::vector<Argument>& arguments,
                                     TSNode node);
  bool see_statements(TSNode body, ValueId* result);
  void capture(std::string_view name);
  // An imported name is followed to its definition when it is first read.
  void settle(ValueId id);

  std::string_view text(TSNode node) const { return text_of(unit_.text(), node); }
  Graph& g() { return unit_.functions[index_].graph; }
  const Graph& g() const { return unit_.functions[index_].graph; }
  uint32_t name_id(std::string_view name);

  UnitLowering& shared_;
  PythonUnit& unit_;
  const LoweringContext& context_;
  uint32_t index_;
  std::shared_ptr<Scope> scope_;
  uint32_t clock_ = 0;
  struct Loop {
    const std::set<std::string, std::less<>>* names;  // that it binds
    std::map<std::string, std::set<ValueId>> left;    // what a round may leave in them
  };
  std::vector<Loop> loops_;  // around the statement being lowered
  int depth_ = 0;
  int catching_ = 0;  // blocks around it whose errors may be caught
  int lambdas_ = 0;   // how many of them stand around what is read
  StatementId current_ = kNone;
  uint32_t block_number_ = 0;
  bool own_statements_ = true;      // else only the definitions among them
  std::vector<uint32_t> seeing_;    // definitions that are being seen through, by place
  std::optional<bool> moves_axes_;  // whether its text names an operation that moves axes
  bool impure_ = false;             // the statement being lowered has an effect
  int trials_ = 0;                  // helpers being looked through
  std::vector<DefinitionId> env_;   // by name
  std::unordered_map<std::string, uint32_t, NameHash, std::equal_to<>> name_ids_;
  std::set<ValueId> unsettled_;
  std::vector<Roots> roots_;                                       // by value
  std::unordered_map<ValueId, std::set<uint32_t>> names_of_root_;  // maybe out of date
  bool aliases_noted_ = false;                                     // since the first store
  std::set<uint32_t> names_of_many_;                               // names of unbounded values
  std::vector<bool> seen_;         // by value: consumed by a statement, a call, a container, a view
  size_t seen_up_to_ = 0;          // values whose operands are marked
  std::vector<ValueId> seen_log_;  // marks in the order in which they were made
  std::optional<std::unordered_map<std::string_view, size_t>> reads_;
  std::vector<Changes> frames_;
  // Names of enclosing scopes, one value each.
  std::unordered_map<std::string, ValueId, NameHash, std::equal_to<>> outer_;
  std::vector<std::map<std::string, ValueId, std::less<>>> overlays_;  // comprehensions, lambdas
};

}  // namespace refit::python
