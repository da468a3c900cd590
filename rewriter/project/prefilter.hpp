// The prefilter: which rules can match in a file at all, decided by one pass over its bytes for the
// literals of every rule. Entry point: Prefilter::scan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter/project/literals.hpp"

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

  std::size_t literal_count() const { return literals_.size(); }

 private:
  // A rule's clauses by literal number.
  using Clauses = std::vector<std::vector<uint32_t>>;

  bool met(const Clauses& clauses, const LiteralBits& seen) const;

  std::vector<Clauses> rules_;
  Literals literals_;
};

}  // namespace refit
