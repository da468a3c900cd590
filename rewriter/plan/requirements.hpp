// What a text must contain for a rule to find anything in it, derived from the rule: the names of
// the operations and attributes of its patterns, whatever spelling brings them about. Entry points:
// Requirements::file, Requirements::wanted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/frontend/frontend.hpp"
#include "rewriter/graph/isomorphisms.hpp"
#include "rewriter/plan/compiled.hpp"
#include "rewriter/project/literals.hpp"

namespace refit {

class Requirements {
 public:
  Requirements(const CompiledRules& rules, const Catalogue& catalogue,
               const Isomorphisms& isomorphisms, const Frontend& frontend);

  LiteralBits seen(std::string_view text) const { return literals_.scan(text); }
  // By rule: whether a file with these literals may hold a site of it. What is derived from
  // patterns is asked for where the file is in the language that `frontend` reads.
  std::vector<bool> file(const LiteralBits& seen, bool derived) const;
  // Whether a function that can see these literals may hold a site of one of the rules, or call a
  // definition that a rule knows by name.
  bool wanted(const LiteralBits& seen, const std::vector<bool>& rules) const;
  // A name by which some rule's anchor knows a definition.
  bool named(const LiteralBits& seen) const { return seen.intersects(named_); }
  // A call of the runtime.
  bool migrated(const LiteralBits& seen) const { return seen.intersects(runtime_); }
  // The texts that clauses of the rules ask of the whole run, and which of them are here.
  const std::vector<std::string>& tree_words() const { return tree_words_; }
  std::vector<bool> words(const LiteralBits& seen) const;
  bool trains(const LiteralBits& seen) const { return met(trains_, seen); }
  bool exports(const LiteralBits& seen) const { return met(exports_, seen); }
  // The name of a rule's function, be it in a string: `setattr(F, "NAME", mine)`.
  bool mentions_callee(const LiteralBits& seen) const { return seen.intersects(callees_); }

 private:
  using Clause = LiteralBits;           // one of them
  using Clauses = std::vector<Clause>;  // all of them
  struct Need {
    bool anything = false;  // there is a spelling without any telling text
    std::vector<std::string> texts;
  };
  struct Rule {
    Clauses triggers;
    std::vector<Clauses> alternatives;  // empty: anything may match
  };
  using Draft = std::vector<std::vector<std::string>>;

  static bool met(const Clauses& clauses, const LiteralBits& seen);
  void derive(const Catalogue& catalogue, const Isomorphisms& isomorphisms,
              const Frontend& frontend);
  static Draft of_graph(const Requirements& self, const graph::Graph& graph, graph::ValueId root);
  std::vector<Draft> of_rule(const CompiledRule& rule) const;
  Clauses clauses(const Draft& draft, bool words);
  static void keep_smallest(std::vector<Draft>& drafts);

  Literals literals_;
  std::map<const Operation*, Need> operations_;
  std::map<std::string, Need, std::less<>> attributes_;
  std::set<std::string> made_literals_;  // by isomorphisms
  std::vector<Rule> rules_;
  LiteralBits named_, runtime_, callees_;
  Clauses trains_, exports_;
  std::vector<std::string> tree_words_;
  std::vector<uint32_t> tree_word_ids_;
};

}  // namespace refit
