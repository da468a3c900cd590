// The prefilter: which rules can match in a file at all, decided by one pass over its bytes with an
// Aho-Corasick automaton (A. V. Aho, M. J. Corasick, "Efficient string matching", CACM 18(6), 1975)
// over the literals of every rule. Entry point: Prefilter::scan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refit {

// What a text must contain for a rule to match: for every inner list, at least one of its strings.
// An empty outer list asks for nothing; an empty inner list can never be met.
using Triggers = std::vector<std::vector<std::string>>;

class Prefilter {
 public:
  // One entry per rule; scan() answers in the same order.
  explicit Prefilter(const std::vector<Triggers>& per_rule);

  // For each rule, whether `bytes` meets its triggers. Literals are compared as bytes. Const and
  // without hidden state: any number of threads may scan at once.
  std::vector<bool> scan(std::string_view bytes) const;

  // Whether any rule's triggers are met; what most files are asked first.
  static bool any(const std::vector<bool>& rules);

  std::size_t literal_count() const { return literal_count_; }

 private:
  // A rule's clauses by literal number.
  using Clauses = std::vector<std::vector<uint32_t>>;

  void build(const std::vector<std::string>& literals);
  bool met(const Clauses& clauses, const std::vector<bool>& seen) const;

  std::vector<Clauses> rules_;
  std::size_t literal_count_ = 0;

  // The automaton as a dense table: transitions_[state + column_[byte]] is the next state, states
  // being numbered by their row's offset. Bytes of no literal share column 0.
  uint16_t column_[256] = {};
  uint32_t columns_ = 1;
  std::vector<uint32_t> transitions_;
  // The literals that end in a state lie in outputs_[output_begin_[row], output_begin_[row + 1]).
  std::vector<uint32_t> output_begin_;
  std::vector<uint32_t> outputs_;
};

}  // namespace refit
