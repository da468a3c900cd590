// What a change leaves without a reader: the statements that only served what it replaces, and
// whether a value is needed without them. A graph's reads are counted once; a change takes some
// away, and what it costs to follow those does not depend on the size of the function. Entry
// points: Reads::dead_statements, Reads::without.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "rewriter/graph/graph.hpp"

namespace refit {

// What is rewritten: `root` is replaced and reads only `kept`; `gone` values are replaced by text
// and read nothing; the effects of `accounted` values are part of what is replaced.
struct Supplanted {
  ValueId root = kNone;
  std::vector<ValueId> kept;
  std::set<ValueId> gone;
  std::set<ValueId> accounted;
  // Other values that are replaced with it, and what the new text of each reads.
  std::map<ValueId, std::vector<ValueId>> along;

  // What the new text in a value's place reads; null where the value stays.
  const std::vector<ValueId>* new_reads(ValueId id) const {
    if (id == root) return &kept;
    auto found = along.find(id);
    return found == along.end() ? nullptr : &found->second;
  }
};

class Reads {
 public:
  explicit Reads(const Graph& graph);

  // The statements that only serve values which a change no longer needs, ascending.
  std::vector<StatementId> dead_statements(const Supplanted& change) const;

  // The values of a statement that have an effect, in the order in which they are evaluated.
  using Effect = std::pair<StatementId, ValueId>;
  std::span<const Effect> effects_of(StatementId statement) const;

  // Whether one of some values is made of `id`, or is it.
  bool reach(const std::vector<ValueId>& values, ValueId id) const;

  // What is still needed once a change is made and statements are gone.
  class Rest {
   public:
    bool needs(ValueId id) const;

   private:
    friend class Reads;
    explicit Rest(const Reads& reads) : reads_(reads) {}
    void make(const Supplanted& change);
    void add_read(ValueId id);
    void take_read(ValueId id);
    void take_statement(StatementId id);
    void settle();

    const Reads& reads_;
    const Supplanted* change_ = nullptr;
    std::unordered_map<ValueId, uint32_t> added_, taken_;
    std::unordered_set<ValueId> ended_;  // needed before, and no more
    std::vector<ValueId> ending_, just_ended_;
  };
  Rest without(const Supplanted& change, const std::set<StatementId>& dead) const;

 private:
  bool kept_by_statement(DefinitionId id) const;
  // As dead_statements, with values that are read besides.
  std::set<StatementId> dying(const Supplanted& change, const std::vector<ValueId>& kept) const;
  std::vector<DefinitionId> bindings_before(StatementId unbinding) const;
  enum class Bound : uint8_t { yes, no, unclear };
  Bound bound_without(DefinitionId binding, const std::set<StatementId>& dead) const;

  const Graph& g_;
  std::vector<bool> needed_;
  std::vector<uint32_t> reads_;            // of a value, by what is needed
  std::vector<uint32_t> statement_reads_;  // by statements
  std::vector<Effect> effects_;            // ascending
  std::vector<uint32_t> height_;           // of a value: above that of all its operands
};

}  // namespace refit
