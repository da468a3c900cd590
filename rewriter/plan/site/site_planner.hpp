// Internal to plan/: the sites of one function. planner.cpp finds them and says which of several
// wins, call_site.cpp plans calls, region_site.cpp and region_checks.cpp plan recognised
// computations, layout.cpp decides about transposes, unresolved.cpp, anchors.cpp and
// near_misses.cpp say why something that looks like a site is none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "rewriter/graph/compare.hpp"
#include "rewriter/graph/unify.hpp"
#include "rewriter/match/constraint.hpp"
#include "rewriter/plan/dead.hpp"
#include "rewriter/plan/layout/layout.hpp"
#include "rewriter/plan/planner.hpp"

namespace refit {

// What an alternative of a rule gives a name: text with holes. Where the alternative is a choice
// between two values, the text is written where that was decided, and holds under the branch.
struct SetText {
  std::string text;
  Branch branch;
};
using SetTexts = std::map<std::string, SetText>;

class SitePlanner {
 public:
  SitePlanner(const Planner& planner, const Unit& unit, const Frontend& frontend, uint32_t function,
              const FileSettings& settings)
      : planner_(planner),
        unit_(unit),
        frontend_(frontend),
        function_(function),
        settings_(settings),
        catalogue_(*planner.catalogue_),
        g_(unit.functions[function].graph) {}
  void run(const std::vector<bool>& enabled, std::vector<PlannedSite>& out);

 private:
  // Of sites that explain the same values the largest stays; `taken` gets what the winners explain.
  // Values that several may ask for at no cost keep none of them apart.
  std::vector<PlannedSite> largest(std::vector<PlannedSite> regions,
                                   std::set<ValueId>& taken) const;
  // A site with its place and text, before anything is decided about it.
  PlannedSite new_site(const CompiledRule& rule, ValueId id);
  // A call by a rule's name whose callee the code does not show.
  void unresolved(ValueId id, const std::vector<bool>& enabled, std::vector<PlannedSite>& out);
  void unresolved_at(ValueId id, const CompiledRule& rule, const std::string& name, std::string why,
                     std::vector<PlannedSite>& out);
  // A known function that is handed on as a value instead of called: `partial(sdpa, scale=s)`.
  void handed_on(ValueId id, const std::vector<bool>& enabled, std::vector<PlannedSite>& out);
  const CompiledRule* rule_of(const Operation* op, const std::vector<bool>& enabled) const;

  // Marks a site as refused: with a code and a reason, or with those of a clause.
  static void refuse(PlannedSite& site, std::string code, std::string why);
  static void refuse(PlannedSite& site, const Where& clause, const SiteView& view);

  // The pattern of a rule that one of `roots` comes nearest to.
  struct Near {
    const CompiledRule* rule;
    const CompiledPattern* pattern;
    ValueId root;
    Comparison comparison;
    std::string unmet;  // the clause that does not hold, where every part agrees
  };
  friend class Planner;
  std::optional<Near> near_miss(const CompiledRule& rule, const std::vector<ValueId>& roots) const;
  std::optional<Near> nearer(const std::optional<Near>& so_far, const CompiledRule& rule,
                             const CompiledPattern& pattern, ValueId root, int least,
                             std::vector<Near>& open) const;
  // How the pattern differs from the value, for a message.
  std::string difference(const Near& near) const;
  // Whether one of the patterns fits a value, with what its holes may be; else how much of it is
  // explained at most, the value that nothing explains, and the pattern whose clause fails there,
  // if one fits it but for that.
  struct Unmet {
    bool fits;
    const CompiledPattern* pattern;
    size_t parts;
    ValueId value;
    std::string clause;
  };
  Unmet unmet(const CompiledRule& rule, const std::vector<CompiledPattern>& patterns, ValueId value,
              const Bindings& outer, int depth) const;
  // A value and what is computed from it within a few steps.
  std::vector<ValueId> readers(ValueId id) const;
  // A value's text and line, or how the graph has it.
  std::string text_of_value(ValueId id) const;
  // Whether a clause lets the site through, by evidence or by a stated assumption.
  bool may_assume(const std::string& assumption) const;
  bool allowed(const Where& clause, const SiteView& view, std::vector<std::string>& assumes) const;

  // The first rewrite for the target whose clauses all hold; says why when there is none.
  const CompiledRewrite* choose(const CompiledRule& rule, const SiteView& view,
                                std::vector<std::string>& assumes, PlannedSite& site) const;

  // A rule for callers outside a library does not look at the library itself: there the calls go
  // through the definition.
  bool defined_here(const CompiledRule& rule) const;

  // A rank that is shown, and is another one, is a reason of its own.
  void other_rank(const Where& clause, const SiteView& view, std::string& code,
                  std::string& why) const;

  bool simple_value(ValueId id) const;
  // What clauses may ask about the site at `root`, but for its arguments.
  SiteView view_of(ValueId root, const Operation* constructed) const;
  // Whether the file, or for `isinstance` any, hands this class to a function of that name.
  bool passed_to(const Operation* type, const std::string& function) const;
  // Whether the readers of a result take it for one tensor, or take only its part `except`; those
  // parts go into `parts`.
  bool only_part(ValueId id, int except, std::vector<ValueId>* parts) const;
  // Whether a `del` takes the name away that this value was given.
  bool unbound(ValueId id) const;
  // Where the pattern gives one of the values that an unpacking takes from a call, and nobody reads
  // the others, the new call stands in the old one's place and gives that value alone.
  void take_alone(ValueId id, Change& change) const;
  // With a reason in `keep_layout` no transpose is absorbed.
  PlannedSite call_site(const CompiledRule& rule, ValueId id, const std::string& keep_layout = "");
  // What clauses may ask about a call, its arguments included.
  SiteView call_view(ValueId id) const;
  // Where the old callee takes a parameter, SIZE_MAX for nowhere, and what a call passes there.
  size_t parameter_place(ValueId id, const std::string& name) const;
  ValueId passed_at(ValueId id, size_t place) const;
  // A parameter whose argument the new call drops, although evaluating it may do something.
  const Parameter* effect_lost(const CompiledRewrite& rewrite, ValueId id) const;
  // The arguments of the new call in the template's order; false where one cannot be written.
  bool call_arguments(const CompiledRewrite& rewrite, ValueId id, Change& change) const;
  // An argument that is the old callee's `parameter`; false where it need not be said because the
  // new callee takes `wanted` anyway.
  bool passed_on(ValueId id, const std::string& parameter, const std::optional<Literal>& wanted,
                 NewArgument& argument) const;
  // An argument that the template computes from old ones: `float($scale)`.
  bool computed(ValueId id, const std::string& text, NewArgument& argument) const;
  // Writes out what was to stay where it stands, for a call that is written anew.
  bool write_kept(ValueId id, Change& change) const;
  // Adds keywords with what a rule's YAML says for each.
  void add_arguments(Change& change, const std::map<std::string, std::string>& literals) const;
  // The operand of a call that is not shown to have the rank of its layout; "" for none.
  std::string rank_not_shown(ValueId call, const Layout& layout) const;
  const LayoutRegion* region_at(ValueId value) const;
  LayoutContext layout_context() const;
  // What an attention call or computation keeps or loses around it. The keywords of the fallback
  // go into `otherwise`.
  void set_layout(PlannedSite& site, Change& change, const Layout& layout,
                  const std::string& keep_layout, std::map<std::string, std::string>& otherwise);
  // Recognised computations whose calls take a layout; known before their layouts are settled.
  void note_regions(const std::vector<PlannedSite>& regions);
  void set_region_layout(PlannedSite& site, const std::string& keep_layout = "");
  void keep_together(std::vector<PlannedSite>& out);
  std::string place_of(ValueId id) const;  // "line 12", for messages
  // Whether the site stands inside `with NAME(…):` or a function that NAME decorates.
  bool within(ValueId id, const std::string& name) const;

  bool textually_simple(ValueId root, ValueId value) const;
  // The name of the new callee's parameter at a position.
  static std::string target_name(const Operation* target, size_t position);

  // Whether evaluating an operand of `root` does nothing but give a value.
  bool without_effect(ValueId id, ValueId root) const;

  static std::optional<Literal> target_default(const Operation* target, const std::string& keyword,
                                               size_t position);

  // What a rule's YAML says (`true`, `null`, `-1`), as the source language writes it.
  std::string spell_scalar(const std::string& scalar) const;

  // The alternative of a rule that explains most; one that can be rewritten before one that cannot.
  std::optional<PlannedSite> region_site(const CompiledRule& rule, ValueId id);

  // Holes whose value is one of several alternatives, by branch perhaps.
  bool one_spelling(const CompiledRule& rule, const std::string& hole, const Bindings& bindings,
                    ValueId join) const;
  bool choices(const CompiledRule& rule, Bindings& bindings, SetTexts& set, Change& change,
               PlannedSite& site);
  // The alternative of each leaf, and what these give to the call, which must be one thing on all
  // branches.
  bool settle_leaves(const CompiledRule& rule, const std::vector<CompiledPattern>& alternatives,
                     const std::vector<ValueId>& leaves, Bindings& bindings, SetTexts& set,
                     Change& change);
  bool restate(const CompiledPattern& alternative, ValueId leaf, const std::string& name,
               const std::string& text, Change& change) const;
  // Whether some alternatives fit what a pattern leaves to choices, as far as no branch decides it.
  bool plausible(const CompiledRule& rule, const Bindings& before, const Bindings& bindings) const;

  // Whether a private method that is part of it may be another one in a class of another file.
  bool overridden(const PlannedSite& site) const;
  // Whether the clauses of a pattern hold for what it bound. Those with a code of their own refuse
  // the site later; `with_code` asks for them as well.
  bool clauses_hold(const CompiledPattern& alternative, const Bindings& bindings, ValueId root,
                    bool with_code) const;

  void finish_region(const CompiledRule& rule, const CompiledPattern& pattern,
                     const Bindings& bindings, const SetTexts& set, Change& change,
                     PlannedSite& site);
  // The holes of patterns that a hole of a rewrite stands for: itself, or those of what it is set
  // to.
  static std::vector<std::string> parts_of(const std::string& hole, const SetTexts& set);
  // The values that the new call of a computation reads.
  static std::vector<ValueId> kept_by(const CompiledRewrite& rewrite, const Bindings& bindings,
                                      const SetTexts& set);
  // Refuses a computation whose result, effects or casts would differ.
  bool loses_meaning(const CompiledRule& rule, const Bindings& bindings, ValueId root,
                     const std::vector<ValueId>& kept, PlannedSite& site) const;
  // The statements that nobody needs once the new call stands; false, and refused, where a part is
  // read elsewhere.
  bool remove_parts(const CompiledRule& rule, const std::vector<ValueId>& kept, Change& change,
                    std::set<StatementId>& dead, PlannedSite& site);
  // False where an argument of the new call cannot be written at its place.
  bool region_arguments(const CompiledRewrite& rewrite, const Bindings& bindings,
                        const SetTexts& set, const std::set<StatementId>& dead,
                        Change& change) const;

  // Adds what tells the new call which strides its result has, where a reader could tell them from
  // those that it gives anyway. False, and refused, where it cannot be told.
  bool tell_strides(const CompiledRewrite& rewrite, const Bindings& bindings, const SetTexts& set,
                    Change& change, PlannedSite& site);
  // The same for a call that gives several values: those that it gives dense can be told to lie as
  // what orders another one.
  bool keeps_strides(const Operation& target, const std::multimap<std::string, ValueId>& read,
                     Change& change, PlannedSite& site) const;
  static bool refuse_strides(PlannedSite& site);
  // The same for attention that is written out, once its layout is settled.
  void tell_attention_strides(PlannedSite& site);
  void add_strides(Change& change, std::string_view strides) const;
  std::multimap<std::string, ValueId> read_by_parameter(const CompiledRewrite& rewrite,
                                                        const Bindings& bindings,
                                                        const SetTexts& set) const;

  // Notes the computations that a rule's new call takes over, with the condition under which it
  // does. False, and refused, where their text serves other readers, too.
  bool take_over(const CompiledRule& rule, const Bindings& bindings,
                 const std::vector<ValueId>& kept, Change& change, PlannedSite& site) const;
  // The bindings, those to such a computation being to its operand where only the site reads it and
  // the operand has a name where the new call stands: then its statement just goes.
  Bindings without_carriers(const CompiledRule& rule, const Bindings& matched,
                            const PlannedSite& site) const;
  // Why one of them cannot be; "" where it can.
  std::string why_not_bypassed(const PlannedSite& site, Change::Bypass& bypass) const;
  // The value whose being None decides between two others, and which of the two stands for None.
  struct NoneTest {
    ValueId of = kNone;
    bool if_none = false;
  };
  std::optional<NoneTest> none_test(ValueId condition) const;
  // The tests of such values around a statement: `if_none` says that it runs only where the value
  // is None, and else only where it is not.
  std::vector<NoneTest> tests_around(StatementId statement) const;
  // What keeps a reader apart from where the root runs, as the root has it; nullopt where nothing
  // does. Of a join only the side counts on which it reads the value.
  std::optional<NoneTest> apart(ValueId read, ValueId reader, ValueId root) const;
  std::optional<NoneTest> apart(StatementId reader, ValueId root) const;
  // Whether a reader belongs to a site that is planned along with this one, takes the part over as
  // well and never runs where this one does.
  bool taken_beside(ValueId part, ValueId reader, ValueId root) const;
  // Whether two statements stand in different blocks of one `if`.
  bool exclude_each_other(StatementId one, StatementId other) const;
  // Whether the part runs whenever the root does and the computation's own choices take it, and no
  // loop runs the root more often.
  bool runs_with(ValueId part, const PlannedSite& site) const;
  // Whether a join of the computation chooses by the condition of this branch.
  bool decided_by(StatementId branch, const std::set<ValueId>& interior) const;
  // Whether a value concatenates the items of a list.
  bool joins_list(ValueId id) const;
  // Whether the part is written where its operand's text can take its place.
  bool has_operand_text(const Change::Bypass& bypass) const;
  // Whether what a concatenation gives is read by one name alone up to the root, so that a list can
  // have that name.
  bool carries_list(ValueId part, const std::set<ValueId>& carriers, ValueId root) const;

  // Values with an effect that are part of the site: a dropout that does nothing at inference.
  std::set<ValueId> accounted(const CompiledRule& rule, const PlannedSite& site) const;
  // A call whose helper was seen through: what else its arguments do would be lost.
  bool loses_effects(ValueId root, const PlannedSite& site, const std::vector<ValueId>& kept) const;

  // Whether what arguments of the new call do would happen in another order than today.
  bool reorders_effects(ValueId root, const std::vector<ValueId>& kept) const;

  // Whether a part that costs something is needed beside the values that the new call gives.
  bool still_read(const PlannedSite& site, const Supplanted& replaced, const Change& change,
                  const std::set<StatementId>& dead) const;
  // Why a part stays: a loop keeps it.
  std::optional<std::string> carried(const PlannedSite& site,
                                     const std::set<StatementId>& dead) const;
  // Notes which values a rule's new call gives beside the root.
  static void name_results(const CompiledRule& rule, const Bindings& bindings, Change& change);
  // Whether each of them has a reader beside the site: else there is nothing to give.
  bool read_beyond(const PlannedSite& site, const Change& change) const;
  // Refuses a site whose results cannot all be given by one statement at the root's place.
  // Sets their names and the statements that go, and, where the call stands in the place of another
  // one than the root, the root.
  bool can_give_results(const CompiledRule& rule, const std::vector<ValueId>& kept, Change& change,
                        std::set<StatementId>& dead, PlannedSite& site) const;
  bool give_at_first(const std::vector<ValueId>& kept, Change& change,
                     std::set<StatementId>& dead) const;
  bool only_pure_between(const Statement& from, const Statement& to) const;
  // Why one of them cannot be; "" where it can.
  std::string why_not_given(ValueId result, const std::vector<ValueId>& kept,
                            const PlannedSite& site) const;
  // The statements that give a value a name; empty where one of them does more.
  std::set<StatementId> naming(ValueId id) const;
  // The name by which what follows the root's statement reads a value.
  std::optional<std::string> name_at_root(ValueId result, ValueId root) const;
  const Reads& reads() const;

  // The text of an argument of the new call, holes filled; `missing` is set where this alternative
  // of the pattern has no such part.
  std::optional<std::string> argument_text(const std::string& text, const Bindings& bindings,
                                           const SetTexts& set, ValueId root,
                                           const std::set<StatementId>& dead, bool* missing,
                                           std::optional<ByteRange>* copied,
                                           const Branch& branch = {}) const;
  // The same of a text that an alternative gives a name.
  std::optional<std::string> set_text(const SetText& given, const Bindings& bindings,
                                      const SetTexts& set, ValueId root,
                                      const std::set<StatementId>& dead, bool* missing,
                                      std::optional<ByteRange>* copied, const Branch& branch) const;

  // Whether a part whose type depends on autocast stands in another region of it than `root`.
  bool cast_elsewhere(ValueId root, const PlannedSite& site) const;
  // Refuses a site between whose parts something may change what they read, or reads a part.
  bool disturbed(const CompiledRule& rule, PlannedSite& site,
                 const std::vector<ValueId>& kept) const;

  // Refuses a site whose operands a write in place may change between their reads and `root`.
  bool written_between(ValueId root, PlannedSite& site) const;

  // Sites of one rule that each read a part of another are planned again as one group, in which no
  // such part is computed any more.
  void join_sharing(std::vector<PlannedSite>& regions);
  void join(const std::vector<PlannedSite*>& group);
  const CompiledRule& rule_named(const std::string& id) const;

  SiteView region_view(ValueId root, const Bindings& bindings) const;
  // Whether a value meets an anchor by parts that nothing else explains; `interior` is set to them.
  bool meets(const CompiledAnchor& anchor, ValueId id, const std::set<ValueId>& taken,
             std::set<ValueId>& interior) const;
  bool fed(const CompiledAnchor& anchor, ValueId id, const std::set<ValueId>& taken) const;
  // Reports values that meet an anchor of a rule and that no site explains.
  void anchors(const std::vector<bool>& enabled, const std::set<ValueId>& taken,
               std::vector<PlannedSite>& out);

  const Planner& planner_;
  const Unit& unit_;
  const Frontend& frontend_;
  uint32_t function_;
  const FileSettings& settings_;
  const Catalogue& catalogue_;
  const std::vector<bool>* enabled_ = nullptr;      // rules, while sites are planned
  std::map<ValueId, LayoutRegion> layout_regions_;  // by root
  std::map<ValueId, ValueId> layout_parts_;         // of which root a value is a part
  std::set<ValueId> rank_unknown_;                  // roots whose operands may have other axes
  // What is replaced along with the site in hand, by sites that share a part of it.
  std::map<ValueId, std::vector<ValueId>> along_;
  std::map<ValueId, std::set<ValueId>>
      beside_;  // the values that such a site accounts for, by root
  const Graph& g_;
  mutable std::unique_ptr<Reads> reads_;  // made for the first recognised computation
};

}  // namespace refit
