// Internal to edit/: the making of one change's edits. realise.cpp writes new text, forward.cpp
// takes out what becomes its operand, arguments.cpp edits a call's arguments where they stand.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "rewriter/python/edit/edits.hpp"
#include "rewriter/python/lower/unroll.hpp"

namespace refit::python {

class Realiser {
 public:
  Realiser(const PythonUnit& unit, const Change& change, const Catalogue& catalogue,
           std::string callee, const EditSet& inner)
      : unit_(unit),
        change_(change),
        catalogue_(catalogue),
        callee_(std::move(callee)),
        inner_(inner),
        g_(unit.functions[change.function].graph),
        text_(unit.text()) {}
  // All edits of the change, or the reason why its text cannot be edited.
  Expected<ChangeEdits> run();

 private:
  std::string newline() const { return std::string(unit_.source().newline()); }
  // Chains of transposes and copies become what they begin with: `x.transpose(1, 2)` is `x`, and
  // `x = x.transpose(1, 2)` goes.
  Expected<void> forward_all();
  // One chain: what it begins with is kept, the rest of its text goes.
  Expected<void> forward(ValueId id, const std::map<const void*, ValueId>& nodes);
  // Takes the end off a chain of methods; comments on its lines get lines of their own.
  Expected<void> cut(ByteRange in, ByteRange outer);
  // Whether a line goes on with a comment and nothing else.
  static bool begins_with_comment(std::string_view text);
  // Calls that the new call takes over become what they are called with; see Change::Bypass.
  Expected<void> bypass_all();
  Expected<void> bypass(const Change::Bypass& bypass);
  // Of a concatenation that list.
  Expected<void> bypass_list(const Change::Bypass& bypass);
  // The new call gives what used to be one part of its result: `out, _ = f()` becomes `out = f()`
  // and `f()[0]` becomes `f()`.
  Expected<void> take_parts();
  // The text that the first operand of a method or function call has.
  TSNode inner_operand(ValueId id) const;
  // Writes the root anew: the new call, behind the name where a statement makes the value.
  Expected<void> replace_root();
  // Whether all that the root's statement does is to give the root a name.
  bool only_names_root() const;
  // The names of what the new call gives, in its order, the root being called `own`.
  std::string names_of_results(const std::string& own) const;
  // A name for a result by which nothing in the function is called.
  std::string new_name(const Change::Result& result) const;
  // Expressions that the new call gives, too, become their new names.
  Expected<void> read_by_name();
  // The new call in a statement of its own, before the root's, and a name in the root's place.
  Expected<void> write_before(const std::vector<std::string>& arguments);
  // An argument with its keyword, if it has one.
  static std::string named(const std::string& keyword, const std::string& text);
  // A range with the edits of this change and of those inside it.
  std::string edited(ByteRange range) const;
  // An argument's text, what it copies being as edited.
  std::string composed(const NewArgument& a, ByteRange site) const;
  // The new call for a range's place, one argument a line where the line would be too long.
  std::string call_text(ByteRange range, const std::string& prefix,
                        const std::vector<std::string>& arguments, bool breakable) const;
  // The new call in a range's place.
  Expected<void> write(ByteRange range, const std::string& prefix,
                       const std::vector<std::string>& arguments);
  // Whether the line that a text stands in would pass the limit that the file keeps to.
  bool too_long(ByteRange range, std::string_view text) const;
  // Whether a person would break the call: inside somebody else's brackets those are broken first.
  bool may_break() const;

  struct Slot {  // an argument of the source
    TSNode node{};
    const NewArgument* target = nullptr;
    size_t position = 0;  // of the target among the new arguments
    std::string name;     // the keyword that it gets, or has
  };
  // The arguments that the source has, each with the new argument that keeps it.
  std::vector<Slot> slots(TSNode list) const;
  // Edits the call where it stands. The steps: the callee's name, keywords of arguments that stay,
  // arguments that go, arguments that come, alignment; a line that got too long is written anew.
  Expected<void> edit_call();
  // Gives arguments that stay the keyword that they need; `keywords_only` says whether what follows
  // must have one, `kept` counts them.
  Expected<void> name_slots(std::vector<Slot>& slots, const Operation* target, size_t& kept,
                            bool& keywords_only);
  // The texts of arguments that the source has not.
  std::vector<std::string> added_arguments(const Operation* target, size_t kept,
                                           bool keywords_only) const;
  // Arguments that the source has not: behind the last that stays, in its style.
  Expected<void> add_arguments(TSNode list, const std::vector<Slot>& slots,
                               const std::vector<std::string>& added);
  // Takes out the arguments from `first` to `last`, with their comma; comments stay.
  Expected<void> remove_arguments(TSNode list, TSNode previous, TSNode first, TSNode last,
                                  TSNode next);

  const PythonUnit& unit_;
  const Change& change_;
  const Catalogue& catalogue_;
  std::string callee_;
  const EditSet& inner_;  // of the changes inside this one
  const Graph& g_;
  std::string_view text_;
  ChangeEdits out_;
  std::vector<std::string> above_;  // comments that move above the statement
  std::map<StatementId, UnpackedParts> unpacked_;
};

}  // namespace refit::python
