// What a file, and a function of it, must hold for a rule to find anything there: the last name of
// a callee, or the words of the rule's `triggers` and `in_file`. Entry points: Prefilter::file,
// Prefilter::wanted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/plan/compiled.hpp"
#include "rewriter/project/vocabulary.hpp"
#include "rewriter/project/word_set.hpp"

namespace refit {

class Prefilter {
 public:
  Prefilter(const CompiledRules& rules, const Catalogue& catalogue);

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // What a file's text holds; `words`, if given, becomes the set of its words. `comments`: whether
  // those of Python do not count.
  EntrySet scan(std::string_view text, bool comments, WordSet* words) const;
  // By rule: whether a file that holds these may have a site of it.
  std::vector<bool> file(const EntrySet& held) const;
  // Whether a function that sees these may hold a site of one of the rules, or call a definition
  // that a rule knows by name.
  bool wanted(const EntrySet& seen, const std::vector<bool>& rules) const;
  // Whether a part of a file holds a word that one of the rules asks of all of it.
  bool touched(const EntrySet& held, const std::vector<bool>& rules) const;
  // A call of a function by a name that some rule's anchor knows.
  bool named(const EntrySet& held) const { return held.intersects(named_); }
  // A name of the runtime.
  bool migrated(const EntrySet& held) const { return held.intersects(runtime_); }
  bool trains(const EntrySet& held) const { return met(trains_, held); }
  bool exports(const EntrySet& held) const { return met(exports_, held); }
  // A file that exports by itself; where it does first, or npos.
  size_t exporter(std::string_view text) const;
  // The entries that `not_in_tree` clauses ask of the whole run, and which of them are here.
  const std::vector<std::string>& tree_words() const { return tree_words_; }
  std::vector<bool> words(const EntrySet& held) const;
  // Which of these last names of rules' callees stand in a text.
  std::set<std::string> mentioned(const EntrySet& held, const std::set<std::string>& names) const;

 private:
  using Clauses = std::vector<EntrySet>;  // one entry of each has to stand
  using Texts = std::vector<std::vector<std::string>>;
  struct Rule {
    Clauses triggers, in_file;
  };
  static bool met(const Clauses& clauses, const EntrySet& held);
  uint32_t number(const std::string& entry);
  Texts triggers_of(const CompiledRule& rule);
  void add_tree_words(const CompiledRules& rules);

  Vocabulary vocabulary_;
  std::vector<Rule> rules_;
  EntrySet named_, runtime_;
  Clauses trains_, exports_;
  std::map<std::string, uint32_t, std::less<>> callees_;  // last names
  std::vector<std::string> tree_words_;
  std::vector<uint32_t> tree_word_ids_;
  uint32_t exporter_ = 0;
};

}  // namespace refit
