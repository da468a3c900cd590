// What a source language gives to the engine: units (one source file, parsed and lowered to value
// graphs) and the realisation of changes as text edits. Matching and planning see only this.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/language/focus.hpp"
#include "rewriter/rule/catalogue.hpp"
#include "rewriter/text/edit.hpp"
#include "rewriter/text/expected.hpp"
#include "rewriter/text/source.hpp"

namespace refit {

struct Function {
  std::string name;                     // "forward"; "" for the module's own statements
  std::string qualified;                // "pkg.module.Class.forward"
  uint32_t parent = kNone;              // enclosing function in the unit
  std::vector<std::string> decorators;  // qualified names
  ByteRange range;
  Graph graph;
};

// A call to something that is defined in the project, for "rewritten through", or of something
// outside it that only its name tells of.
struct ProjectCall {
  uint32_t function = 0;  // where the call stands
  ValueId value = kNone;
  std::string callee;      // qualified name of the definition
  uint32_t local = kNone;  // the function of this unit that it names, if one
  bool outside = false;    // no file of the project defines it
};

// A function that a focus did not want, or the file's own statements.
struct LeftOut {
  ByteRange range;              // kOwnStatements comes first
  std::vector<uint64_t> words;  // of its text: their hash_of, ascending, each once
};

// Text that is not compiled where the file is read, and under what it is.
struct Skipped {
  ByteRange range;
  std::string condition;  // as the language writes it
};

class Unit {
 public:
  virtual ~Unit() = default;
  const Source& source() const { return source_; }
  // Frees what planning and realising ask of; the source and its errors stay.
  virtual void release() {
    functions.clear();
    functions.shrink_to_fit();
  }
  std::deque<Function> functions;  // never moved, however many come
  std::vector<ProjectCall> project_calls;
  std::vector<ByteRange> syntax_errors;
  std::vector<std::string> errors;  // what a compiler found wrong in it, in order of the text
  std::vector<LeftOut> left_out;    // what the focus did not want: its graphs are empty
  std::vector<ByteRange> too_deep;  // what is nested more deeply than is followed
  std::vector<uint32_t> unread;     // what the grammar does not know; its functions are left out
  std::set<std::string> borrowed;   // texts of other files' functions that were put in for calls
  std::vector<Skipped> skipped;     // those inside others included, behind them
  std::string module;               // qualified name of the file's module
  bool reexports = false;           // imports of this file are part of its interface

 protected:
  explicit Unit(Source source) : source_(std::move(source)) {}
  Source source_;
};

// An error of the new text that the old one has not, or has less often.
inline std::optional<std::string> new_error(std::vector<std::string> before,
                                            std::vector<std::string> after) {
  std::ranges::sort(before);
  std::ranges::sort(after);
  std::vector<std::string> added;
  std::ranges::set_difference(after, before, std::back_inserter(added));
  return added.empty() ? std::nullopt : std::optional(added.front());
}

// One argument of the call that a change asks for.
struct NewArgument {
  std::string keyword;    // "" for a positional one
  std::string text;       // source text, already spelt for this place
  std::string kept;       // the old callee's parameter whose argument can stay where it stands
  bool fallback = false;  // what the new callee takes anyway: said only where the source says it
  // Parts of `text` that were copied from the source, by their offset in it, in order.
  struct Copy {
    size_t at;
    ByteRange from;
  };
  std::vector<Copy> copies{};
};

// An operation that is to treat two axes of a tensor as each other, because what it reads or gives
// changes from one layout to the other. It is one of: an operation with a parameter that numbers an
// axis (the number becomes the other one), a permutation or a pattern, an index or a slice store
// (their subscripts change places), a read of one size.
struct AxisSwap {
  ValueId value = kNone;
  int first = 0, second = 0;  // axes, counted from the front
  int rank = 0;               // of the tensor that they are axes of
  bool of_result = false;     // a permutation, a pattern: axes of what it gives, not of its operand
};

// What to do at one site. Every change of one site is realised together or not at all.
struct Change {
  std::string rule;  // id of the rule that asks for it
  uint32_t function = 0;
  ValueId root = kNone;  // a call to edit or an expression (or join) to replace
  std::string callee;    // qualified name of the new callee
  std::vector<NewArgument> arguments;
  std::string behind;             // methods called on what it gives: `.transpose(-2, -1)`
  bool edit_call = false;         // keep the call's shape, edit its arguments
  std::vector<StatementId> dead;  // statements that go
  std::vector<std::pair<StatementId, std::string>> restated;  // statements -> new text
  std::vector<ValueId> forwarded;  // expressions that become their first operand
  // Roots of the changes, this one's among them, that are right only together: calls that share
  // what is forwarded or swapped, which one of them asks for. Empty for a change of its own.
  std::vector<ValueId> together;
  // What the new call gives, in its order, where that is more than the root: values with the names
  // that they get. `fresh`: where a value stands inside an expression, which reads the name
  // instead, or the root has none; a number makes the name a new one.
  struct Result {
    ValueId value = kNone;
    std::string name;
    bool fresh = false;
  };
  std::vector<Result> results;
  // Computations that the new call takes over where it stands: the text of each becomes that of its
  // one operand. With `chooser`, a name, only where the call runs, which is where that name is None
  // (`call_if_none`), or where it is not; else the text stays what it is.
  struct Bypass {
    ValueId value = kNone, operand = kNone;
    std::string chooser;
    bool call_if_none = false;
  };
  std::vector<Bypass> bypassed;
  // Parts of the root's result (`out, lse = f()`, `f()[0]`) that become the result itself.
  std::vector<ValueId> parts;
  std::vector<AxisSwap> swapped;                          // operations whose axes change places
  std::vector<std::pair<ValueId, std::string>> replaced;  // expressions -> new text
};

// What the file shows of an attribute of an object whose class it defines.
// A side of a choice between two values, and what is known on it.
struct Branch {
  ValueId condition = kNone;  // of the choice
  size_t side = 0;            // which operand of the choice is that side's
  ValueId tested = kNone;     // a value that is None on the other side alone
  bool asks = false;          // what is written only asks whether that value is None
};

struct AttributeFacts {
  bool elsewhere = false;           // a class of another file that inherits from it stores it, too
  bool number = false;              // whatever is stored there is a number
  bool over_last_axis = false;      // a layer that works along the last axis alone, or elementwise
  std::optional<std::string> text;  // the one string that is stored there
  // A file and a line where something is stored under that name in an object that is not `self`, or
  // hooked there, so that nothing else is known; no file: there is none.
  std::pair<std::string, uint32_t> stored_at;
};

// Where calls of some definitions may stand.
struct Callers {
  bool anywhere = false;  // in any file of the language, not only in these
  std::vector<std::string> files;
  // By each of these a function can name one of them: it contains all the words of one entry. The
  // first of several is a member of the others, which is called or stands behind a dot.
  std::vector<std::vector<std::string>> words;
};

// A rewrite template, `callee(argument, keyword=argument, …)`, perhaps with calls of methods behind
// it: its callee and argument texts.
struct Template {
  std::string callee;
  std::vector<std::pair<std::string, std::string>> arguments;  // keyword or "", text with $holes
  std::string behind;                                          // without holes
};

// The language that rules are written in: Python with $holes, whatever language the sources have.
class RuleLanguage {
 public:
  virtual ~RuleLanguage() = default;
  // A pattern: statements with $holes that end in a `return`. The result is its value graph; the
  // root is graph.results.front().
  virtual Expected<Graph> pattern(std::string_view code) = 0;
  virtual Expected<Template> rewrite_template(std::string_view code) = 0;
};

class Frontend {
 public:
  virtual ~Frontend() = default;
  // Parses and lowers one file.
  virtual Expected<std::unique_ptr<Unit>> load(Source source, std::string_view relative) = 0;
  // The same, where a front end can, with only the functions that a focus wants and the file's own
  // statements. A null unit: the focus wants nothing of it.
  virtual Expected<std::unique_ptr<Unit>> load_for(Source source, std::string_view relative,
                                                   const Focus&) {
    return load(std::move(source), relative);
  }
  // The same file as it reads where what it leaves out (Unit::skipped) is compiled: units of which
  // each such text is part of one, at its own place.
  virtual std::vector<std::unique_ptr<Unit>> alternatives(const Unit&) { return {}; }
  // Whether a file of that name, relative to the project's root, is a test's.
  virtual bool is_test(std::string_view /*relative*/) const { return false; }
  // Takes notice of what others have to know of a file, in passing, while its bytes are at hand; by
  // any number of threads at once, before anything else is asked.
  virtual void note(std::string_view /*relative*/, std::string_view /*bytes*/) {}
  virtual Callers callers_of(const std::vector<std::string>& definitions) {
    Callers out;
    out.anywhere = true;
    for (const std::string& d : definitions) out.words.push_back({d.substr(d.rfind('.') + 1)});
    return out;
  }

  // Whether a stretch of a unit's text lies in a comment.
  virtual bool in_comment(const Unit& /*unit*/, ByteRange /*range*/) const { return false; }

  // A literal as this language writes it: `None`, `true`.
  virtual std::string literal(const Literal& literal) const = 0;
  // The text of a template's argument (`$x`, `float($scale)`, `"input"`) for a place where `spell`
  // says how a hole is written; `part` is the number in `$x[0]`, -1 without one, and `spell` sets
  // it to -2 when its answer is that part already. Nullopt where a hole cannot be written there, or
  // where this language has no such expression.
  using SpellHole = std::function<std::optional<std::string>(const std::string& hole, int* part)>;
  virtual std::optional<std::string> fill(const std::string& text,
                                          const SpellHole& spell) const = 0;
  // A statement that gives a name a value inside a branch, to be read after it; nullopt where this
  // language wants a declaration for that.
  virtual std::optional<std::string> assignment(const std::string& name,
                                                const std::string& value) const = 0;

  // How a value can be written just before a statement runs, once `dead` statements are gone;
  // nullopt where nothing that is in scope there denotes it. With `within` the text of a value
  // that is computed inside that expression may be reused.
  virtual std::optional<std::string> spell(const Unit& unit, uint32_t function, ValueId value,
                                           ValueId root,
                                           const std::set<StatementId>& dead) const = 0;
  // The same in a text that is evaluated under a condition alone: a name that a branch gave the
  // value means it there, whatever the name means elsewhere.
  virtual std::optional<std::string> spell_under(const Unit& unit, uint32_t function, ValueId value,
                                                 ValueId root, const std::set<StatementId>& dead,
                                                 const Branch&) const {
    return spell(unit, function, value, root, dead);
  }
  // Whether a class of another file inherits from this one of the unit.
  virtual bool subclassed(const Unit&, const std::string& /*qualified*/) const { return false; }
  // Whether a file of the project asks if an object is one of a class of that name.
  virtual bool compared(const Unit&, const std::string& /*class_name*/) const { return false; }
  virtual AttributeFacts attribute(const Unit&, uint32_t /*function*/, ValueId) const { return {}; }
  // Where in `root` the text that `spell` gives was copied from, if it was.
  virtual std::optional<ByteRange> copied_from(const Unit&, uint32_t /*function*/,
                                               ValueId /*value*/, ValueId /*root*/) const {
    return std::nullopt;
  }
  // Whether a change has edits at all; what stands between (comments, text that no expression owns)
  // may forbid them.
  virtual bool editable(const Unit& unit, const Change& change) const = 0;
  // Whether `realise` makes changes that name each other in `together` all or none.
  virtual bool keeps_together() const { return false; }
  // Text edits of all changes of a unit, imports included. A change inside an expression that
  // another keeps is made there; one in a text that another takes away is not accepted.
  struct Realised {
    EditSet edits;
    std::vector<bool> accepted;      // by change
    std::vector<Error> refused;      // by change: why it was not accepted
    std::vector<std::string> codes;  // by change: the reason's code
    std::vector<std::string> notes;  // imports that had to stay, and why
    std::vector<std::string> after;  // by change: the new text of the root

    // Where no change of the tree can be made.
    static Realised none(size_t changes, const std::string& code, const std::string& why) {
      Realised out;
      out.accepted.assign(changes, false);
      out.refused.assign(changes, Error{why});
      out.codes.assign(changes, code);
      out.after.resize(changes);
      return out;
    }
  };
  virtual Expected<Realised> realise(const Unit& unit,
                                     const std::vector<Change>& changes) const = 0;
  // Errors in `after` that `before` did not have.
  virtual std::optional<std::string> verify(const Unit& before, std::string_view after) const = 0;
};

}  // namespace refit
