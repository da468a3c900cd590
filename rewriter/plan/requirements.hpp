// What a text must contain for a rule to find anything in it, derived from the rule: the names of
// the operations and attributes of its patterns, whatever spelling brings them about. Entry points:
// Requirements::file, Requirements::wanted.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/frontend/frontend.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/plan/compiled.hpp"
#include "rewriter/project/literals.hpp"

namespace refit {

// What a file that exports by itself calls.
inline constexpr std::string_view kExporter = "onnx.export(";

class Requirements {
 public:
  Requirements(const CompiledRules& rules, const Catalogue& catalogue,
               const Isomorphisms& isomorphisms, const Frontend& frontend);

  // `noted`: the places of what the front end notes.
  LiteralBits seen(std::string_view text, WordSet* words, Literals::Places* noted) const {
    return literals_.scan(text, words, noted);
  }
  const Literals& literals() const { return literals_; }
  // By rule: whether a file with these literals may hold a site of it. What is derived from
  // patterns is asked for where the file is in the language that `frontend` reads. Triggers are
  // looked for in the text of the few files that meet it; a comment's words do not count there.
  std::vector<bool> file(const LiteralBits& seen, std::string_view text, bool derived) const;
  // What functions are asked for some rules: each alternative once.
  struct Asked {
    bool nothing = false;  // any function may hold a site
    std::vector<const std::vector<AnyLiteral>*> alternatives;
  };
  Asked asked(const std::vector<bool>& rules) const;
  // Whether a function that can see these literals may hold a site of one of the rules, or call a
  // definition that a rule knows by name.
  bool wanted(const LiteralBits& seen, const Asked& asked) const;
  // What a text may have to show with the help of its file, for the rules that are enabled.
  const std::vector<Shown>* shown(const std::vector<bool>& rules) const;
  // A name by which some rule's anchor knows a definition; in the language that `frontend` reads,
  // where it is called.
  bool named(const LiteralBits& seen) const { return seen.intersects(called_); }
  bool named(const LiteralBits& seen, std::string_view text, bool derived) const {
    Seen here(*this, seen, text, derived);
    return derived ? named(seen) : here.any(named_);
  }
  // A call of the runtime.
  bool migrated(const LiteralBits& seen) const { return seen.intersects(runtime_); }
  // The texts that clauses of the rules ask of the whole run, and which of them are here.
  const std::vector<std::string>& tree_words() const { return tree_words_; }
  std::vector<bool> words(const LiteralBits& seen) const;
  bool trains(const LiteralBits& seen, std::string_view text) const {
    Seen here(*this, seen, text, false);
    return met(trains_, here);
  }
  bool exports(const LiteralBits& seen, std::string_view text) const {
    Seen here(*this, seen, text, false);
    return met(exports_, here);
  }
  // Which of these names of rules' functions may stand at the end of a word, be it in a string:
  // `setattr(F, "NAME", mine)`.
  std::set<std::string> mentioned(const LiteralBits& seen,
                                  const std::set<std::string>& names) const;

 private:
  using Clause = LiteralBits;           // one of them
  using Clauses = std::vector<Clause>;  // all of them
  // One of these texts has to stand somewhere; nullopt where there is a spelling without any. A
  // text with a condition is followed by kCondition and that.
  using Texts = std::optional<std::vector<std::string>>;
  static constexpr char kCondition = '\x1f';
  static constexpr char kShown = '\x1e';  // how a text begins that only a front end sees
  // A spelling that an isomorphism brings to another form.
  struct Way {
    const graph::Graph *from = nullptr, *to = nullptr;
    graph::ValueId told_by = graph::kNone;  // the most telling operation of it, if any
    std::string read;                       // where it is no operation but an attribute
    // Of that operation, once it was asked for: its texts, and the ways that make it.
    bool followed = false;
    Texts texts{};
    std::vector<size_t> further{};
  };
  struct Rule {
    Clauses triggers;
    std::vector<Clauses> alternatives;  // empty: anything may match
    std::vector<size_t> asked;          // those, as places in asked_
    bool asks_shown = false;            // for something of Requirements::shown
  };
  using Draft = std::vector<std::vector<std::string>>;
  // The same of patterns: each of those lists by its number.
  using Numbered = std::vector<uint32_t>;

  // What is seen in a text, and what is looked for later, once each.
  class Seen {
   public:
    // `read`: it is in the language that `frontend` reads, whose comments do not count.
    Seen(const Requirements& of, const LiteralBits& scanned, std::string_view text, bool read)
        : of_(of), seen_(scanned), looked_for_(of.literals_.none()), text_(text), read_(read) {}
    bool any(const Clause& clause);

   private:
    const Requirements& of_;
    LiteralBits seen_, looked_for_;
    std::string_view text_;
    bool read_;
  };
  static bool met(const Clauses& clauses, const LiteralBits& seen);
  static bool met(const Clauses& clauses, Seen& seen);
  void derive(const Isomorphisms& isomorphisms);
  // By which texts an operation of a graph, or an attribute of that name, can come about.
  Texts own(const graph::Graph& graph, graph::ValueId id);
  Texts needed(const graph::Graph& graph, graph::ValueId id);
  Texts any_of(const std::vector<Literal>& names);
  Texts needed(const Operation& operation);
  Texts needed(const std::string& attribute);
  Texts with_ways(Texts texts, const std::vector<size_t>& ways);
  // The ways that make this operation of a graph, with what is known of its arguments.
  std::vector<size_t> ways_to(const graph::Graph& graph, graph::ValueId id) const;
  Numbered of_graph(const graph::Graph& graph, graph::ValueId root);
  std::vector<Numbered> of_rule(const CompiledRule& rule);
  using Choices = decltype(CompiledRule::choices)::const_iterator;
  std::vector<Numbered> of_pattern(const CompiledRule& rule, const CompiledPattern& pattern,
                                   Choices first);
  const std::vector<Numbered>& of_choice(const CompiledRule& rule, Choices choice);
  uint32_t numbered(std::vector<std::string> any_of);
  // The values that a match of `root` accounts for.
  static std::vector<graph::ValueId> reachable(const graph::Graph& graph, graph::ValueId root);
  // The last components of all names of an operation.
  static void add_names(const Operation& operation, std::set<std::string>& out);
  // The text that stands for something of Requirements::shown.
  std::string text_of(Shown shown);
  // For objects of the classes which a clause asks a callee to be one of.
  Texts object_of(const Where& clause, const graph::Graph& graph);
  // For a sum with a number that only some operations take.
  Texts addition_of(const graph::Graph& graph, graph::ValueId root, graph::ValueId sum,
                    const Literal& number);
  // The functions and methods that can take what becomes an operand of an operation.
  void add_functions(const Operation& operation, std::set<std::string>& out) const;
  std::vector<std::string> noted(std::vector<Telling> tellings,
                                 Literals::Stands stands = Literals::Stands::alone);
  // How texts are looked for: in the pass over a file, as words where they are one, at the ends of
  // words, or later.
  enum class Sought : uint8_t { words, ends, plain, later };
  uint32_t literal(const std::string& text, Sought sought);
  Clauses clauses(const Draft& draft, Sought sought);
  std::optional<Clause> clause(const std::vector<std::string>& any_of, Sought sought);
  void number_alternatives();
  static void tidy(std::vector<Numbered>& drafts);

  const Frontend& frontend_;
  const Catalogue& catalogue_;
  Literals literals_;
  struct Checked {
    Literals::Check check;
    Literals::Stands stands = Literals::Stands::alone;
  };
  std::map<std::string, Checked, std::less<>> checks_;  // by text and condition
  std::vector<Way> ways_;
  std::map<const Operation*, std::vector<size_t>> ways_to_;
  std::map<std::string, std::vector<size_t>, std::less<>> ways_to_attribute_;
  std::map<std::vector<std::string>, uint32_t> numbers_;    // what `numbered` said
  std::vector<const std::vector<std::string>*> by_number_;  // those lists
  std::map<const CompiledPattern*, Numbered> by_pattern_;   // what `of_graph` said
  std::map<const std::vector<CompiledPattern>*, std::vector<Numbered>> by_choice_;
  std::map<std::string, Texts> known_;        // what `needed` said, by operation and arguments
  std::map<std::string, bool> made_symbols_;  // by isomorphisms; whether only out of stepped slices
  // Operands that isomorphisms give to operations.
  std::vector<std::pair<const Operation*, Literal>> made_numbers_;
  std::vector<size_t> ways_to_step_;
  // By operation, the names of what an isomorphism takes an operand of it from.
  std::map<const Operation*, std::set<std::string>> takers_;
  std::vector<Rule> rules_;
  // The different alternatives of all rules; in each those clauses come first that the fewest texts
  // meet.
  std::vector<std::vector<AnyLiteral>> asked_;
  std::map<std::string, Shown> shown_by_text_;
  std::vector<Shown> shown_;
  LiteralBits asked_later_;  // literals that are asked for where functions are chosen
  LiteralBits named_, called_, runtime_, later_;
  std::map<std::string, uint32_t, std::less<>> callees_;
  Clauses trains_, exports_;
  std::set<uint32_t> later_ids_, common_ids_;
  std::vector<std::string> tree_words_;
  std::vector<uint32_t> tree_word_ids_;
};

}  // namespace refit
