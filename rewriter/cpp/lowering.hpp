// Internal: from clang's tree of one file to value graphs. parse.cpp makes the tree, lower.cpp
// walks declarations and statements, control.cpp those that choose what runs, bindings.cpp names,
// expression.cpp, operator.cpp and call.cpp lower expressions; changes.cpp finds what changes
// unseen. Entry point: lower_file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriter/cpp/read.hpp"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>

namespace refit::cpp {

// Fills functions, texts, comments and calls of the unit from the declarations at the top of its
// text and of what it includes. `errors`: where clang found some, in the text.
void lower_file(CppUnit& unit, clang::ASTContext& context,
                const std::vector<const clang::Decl*>& decls, const std::vector<uint32_t>& errors,
                const Knowledge& knowledge);

// Where no statement of a body stands for what is at a place of its text: the statement that is
// lost, or all of the text where that may be more than an expression. Nullopt where one does.
std::optional<ByteRange> lost_at(const clang::SourceManager& sources, const clang::Stmt* body,
                                 std::string_view text, uint32_t at);

// Whether no declaration, of a text or of a namespace or class, stands for what is at a place.
bool undeclared_at(const clang::SourceManager& sources,
                   const std::vector<const clang::Decl*>& decls, uint32_t at);

// What stands inside parentheses and what only ends or holds a temporary.
const clang::Expr* bare(const clang::Expr* node);

// The variable, or part of one that was taken apart, that an expression names, parentheses and
// conversions aside; null for none.
const clang::ValueDecl* named(const clang::Expr* node);
const clang::ValueDecl* named_or_held(const clang::Expr* node);

// A reference through which what it refers to can be changed.
bool changeable_reference(clang::QualType type);

class Lowering {
 public:
  Lowering(CppUnit& unit, clang::ASTContext& context, const std::vector<uint32_t>& errors,
           const Knowledge& knowledge)
      : unit_(unit),
        context_(context),
        errors_(errors),
        knowledge_(knowledge),
        sources_(context.getSourceManager()) {}
  void declaration(const clang::Decl* decl, bool in_template);

 private:
  using Changes = std::map<uint32_t, DefinitionId>;
  using Variables = std::set<const clang::ValueDecl*>;

  void function(const clang::FunctionDecl* decl, bool in_template);

  // Statements; each returns whether control can reach what follows.
  bool statement(const clang::Stmt* node);
  bool block(const clang::CompoundStmt* node);
  bool branch(const clang::IfStmt* node);
  void loop(const clang::Stmt* node);
  void head(const clang::Stmt* node);
  bool labelled(const clang::SwitchCase* node);
  void forget_all(const Variables& variables, const std::string& why);
  void declare(const clang::DeclStmt* node);
  void variable(const clang::VarDecl* decl);
  void evaluate(const clang::Expr* node, ByteRange range);
  void lost(ByteRange where);
  bool assign(const clang::Expr* node);
  StatementId open(ByteRange range, StatementKind kind);
  void close(StatementId id);
  void use(ValueId id);
  void find_changes(const clang::Stmt* node);  // variables that change unseen
  void change_with_referred(const std::vector<const clang::VarDecl*>& references);
  void change_seen(const clang::Expr* node);
  void kept_by_object(const clang::Expr* node);
  void stored_through(const clang::Expr* node);
  void stored_by_call(const clang::CallExpr* node);
  bool leads_to_object(clang::QualType type) const;
  static void assigned_at(const clang::Stmt* node, Variables& out);
  void assigned_in(const clang::Stmt* node, Variables& out) const;
  void forget(const clang::ValueDecl* decl, const std::string& why);
  void forget_handed(const clang::Expr* part);
  void forget_tensors();
  bool writes_in_place(const clang::Stmt* node) const;

  // Names.
  uint32_t name_of(const clang::ValueDecl* decl);
  void bind(const clang::ValueDecl* decl, ValueId value);
  ValueId read(const clang::ValueDecl* decl, const clang::Expr* node);
  void begin_branch() { frames_.emplace_back(); }
  Changes end_branch();
  Changes take(const Changes& changes) const;
  void put(const Changes& values);
  std::vector<ValueId> choice(ValueId condition, ValueId a, ValueId b);
  void join(ValueId condition, const Changes& old, bool then_falls, const Changes& then_values,
            bool else_falls, const Changes& else_values);

  // Expressions.
  ValueId expression(const clang::Expr* node);
  ValueId inner(const clang::Expr* node);
  ValueId call(const clang::CallExpr* node);
  ValueId overloaded_operator(const clang::CXXOperatorCallExpr* node);
  ValueId builtin_binary(const clang::BinaryOperator* node);
  ValueId builtin_unary(const clang::UnaryOperator* node);
  ValueId construct(const clang::CXXConstructExpr* node);
  ValueId members(const clang::InitListExpr* node);
  ValueId subscript(ValueId base, ValueId index, const clang::Expr* node);
  std::optional<ValueId> part_of(const clang::CallExpr* node, std::string_view name,
                                 const clang::Expr* object);
  std::optional<ValueId> size_of(const clang::CallExpr* node, std::string_view name,
                                 const clang::Expr* object);
  bool not_negative(ValueId id, int depth = 0) const;
  bool same_size(ValueId id, ValueId base, int64_t axis) const;
  ValueId along(ValueId base, int64_t axis, ValueId what, const clang::Expr* node);

  // Tuples.
  static const clang::CallExpr* call_of(const clang::Expr* node, std::string_view qualified);
  std::vector<clang::QualType> by_value(clang::QualType type) const;
  bool holds(clang::QualType type, const std::vector<const clang::Expr*>& given) const;
  std::optional<ValueId> got(const clang::CallExpr* node);
  void note_read(const clang::Stmt* node);
  void find_ties(const clang::Stmt* body);
  bool assign_tied(const clang::CXXOperatorCallExpr* node);
  void bind_parts(const std::vector<const clang::ValueDecl*>& names, ValueId whole);
  ValueId member(const clang::MemberExpr* node);
  bool may_be_another(const clang::CallExpr* node) const;
  ValueId unknown_call(const clang::CallExpr* node, ValueId callee);
  ValueId dependent_call(const clang::CallExpr* node);
  ValueId unresolved(const clang::RecoveryExpr* node);
  struct Given {  // an argument of a call
    std::string name;
    const clang::Expr* expression;
  };
  std::optional<std::vector<Given>> given_to(const clang::CallExpr* node, bool* options);
  bool is_options(clang::QualType type) const;
  std::optional<std::vector<Given>> options_of(const clang::Expr* node, int depth);
  std::optional<std::vector<Given>> held_options(const clang::Expr* node, int depth);
  void note_text(ValueId id, const clang::CallExpr* node, const clang::Expr* receiver,
                 const std::vector<Given>& given, const std::vector<size_t>& places, bool options);
  std::optional<ValueId> known_call(const clang::CallExpr* node, const Operation* op,
                                    const clang::Expr* receiver);
  bool varies(const clang::FunctionDecl* definition);
  bool varies(const clang::FieldDecl* member);
  bool varies(const clang::CXXRecordDecl* record);
  bool named_elsewhere(const clang::ValueDecl* variable, const clang::Expr* read) const;
  struct Conditions;  // of the file that a declaration stands in
  Conditions conditions_of(const clang::Decl* decl);
  const Operation* layer_of(const clang::Expr* module, const clang::Expr*& holder);
  std::optional<ValueId> limit(const clang::CallExpr* node, std::string_view qualified);
  std::optional<ValueId> layer_call(const clang::CallExpr* node, const clang::Expr* module,
                                    const clang::Expr* operand);

  // Helpers.
  std::optional<std::vector<const clang::VarDecl*>> only_computes(
      const clang::CompoundStmt* body) const;
  bool gives_tensors(clang::QualType type) const;
  static bool from_library(const clang::CXXRecordDecl* record);
  bool bases_show(const clang::CXXRecordDecl* record) const;
  bool hidden_by_base(const clang::CallExpr* node) const;
  bool whole(const clang::CXXRecordDecl* record);
  bool is_fixed(const clang::CXXMemberCallExpr* node);
  bool is_fixed(const clang::CXXOperatorCallExpr* node);
  std::optional<ValueId> see_through(const clang::CallExpr* node,
                                     const clang::FunctionDecl* callee);

  ValueId operation(std::string_view id, std::vector<ValueId> operands, const clang::Expr* node);
  ValueId opaque(std::string why, std::vector<ValueId> operands, const clang::Expr* node);
  ValueId opaque_children(std::string why, const clang::Stmt* node);
  ValueId none(const clang::Expr* node);
  ValueId literal(Literal value, const clang::Expr* node);
  ValueId integer(int64_t value, const clang::Expr* node);
  ValueId symbol(std::string meaning, const clang::Expr* node);
  ValueId self(const clang::Expr* node);
  ValueId add(Value value, const clang::Expr* node);

  bool is_tensor(clang::QualType type) const;
  bool holds_tensor(clang::QualType type) const;  // a `std::optional` of one
  bool keeps_optional(const clang::CallExpr* node) const;
  std::optional<ValueId> of_optional(const clang::CallExpr* node);
  bool plain_value(clang::QualType type) const;
  bool holds_parts(clang::QualType type) const;
  std::string record_name(clang::QualType type) const;
  // Where it stands in the file; nothing where it does not. `locked` says why it cannot be edited.
  std::optional<ByteRange> range(clang::SourceRange where, std::string* locked = nullptr) const;
  ByteRange range_or_empty(clang::SourceRange where) const;
  ByteRange with_semicolon(ByteRange range) const;

  Graph& g() { return unit_.functions[index_].graph; }
  FunctionText& text() { return unit_.texts[index_]; }

  CppUnit& unit_;
  clang::ASTContext& context_;
  const std::vector<uint32_t>& errors_;
  const Knowledge& knowledge_;
  const clang::SourceManager& sources_;
  std::map<unsigned, std::vector<ByteRange>> bodies_;  // of conditionals, by file
  uint32_t index_ = 0;
  const clang::FunctionDecl* function_ = nullptr;  // that is lowered
  uint32_t clock_ = 0;
  int depth_ = 0;
  StatementId current_ = kNone;
  uint32_t block_number_ = 0;
  bool impure_ = false;
  bool in_template_ = false;
  bool head_ = false;  // in what stands in the parentheses of a loop or an `if`: nothing of it goes
  uint32_t loop_ = 0;  // the innermost loop, `switch` or `try` around, or 0
  uint32_t loops_ = 0;                                       // so far
  std::map<const clang::ValueDecl*, uint32_t> declared_in_;  // which of them; not found: none
  Variables labels_forget_;  // what each label of the innermost switch forgets
  ByteRange scope_;
  std::set<std::pair<uint32_t, uint32_t>> lost_;  // statements that clang lost and that are to come
  ValueId self_ = kNone;
  std::vector<DefinitionId> env_;
  std::map<const clang::ValueDecl*, uint32_t> name_ids_;
  std::map<const clang::ValueDecl*, ValueId> inlined_;  // parameters and locals seen through
  int seeing_ = 0;
  Variables changing_;
  Variables assigned_;  // by assignments anywhere in the function
  std::map<const clang::Stmt*, std::vector<const clang::ValueDecl*>> ties_;  // what each assigns
  std::set<const clang::CallExpr*> only_read_;  // references to parts that nothing changes through
  std::vector<Changes> frames_;
  std::vector<const clang::FunctionDecl*> lambdas_;  // to lower after the function around them
  std::vector<StatementId> guards_;  // statements opened by objects that hold to the block's end
};

}  // namespace refit::cpp
