// The Aho-Corasick automaton behind Prefilter, built breadth first into one dense transition table.
// Entry point: Prefilter::scan.
#include "rewriter/project/prefilter.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace refit {

Prefilter::Prefilter(const std::vector<Triggers>& per_rule) {
  std::map<std::string, uint32_t> number;
  std::vector<std::string> literals;
  for (const Triggers& triggers : per_rule) {
    Clauses& clauses = rules_.emplace_back();
    for (const std::vector<std::string>& any_of : triggers) {
      // The empty string stands in every text, so its clause asks for nothing.
      if (std::find(any_of.begin(), any_of.end(), std::string()) != any_of.end()) continue;
      std::vector<uint32_t>& clause = clauses.emplace_back();
      for (const std::string& literal : any_of) {
        const auto [at, fresh] = number.emplace(literal, static_cast<uint32_t>(literals.size()));
        if (fresh) literals.push_back(literal);
        clause.push_back(at->second);
      }
    }
  }
  literal_count_ = literals.size();
  build(literals);
}

void Prefilter::build(const std::vector<std::string>& literals) {
  for (const std::string& literal : literals) {
    for (const char c : literal) {
      uint16_t& column = column_[static_cast<unsigned char>(c)];
      if (column == 0) column = static_cast<uint16_t>(columns_++);
    }
  }

  // The trie; 0 is both the root and "no child", since no edge leads to the root.
  transitions_.assign(columns_, 0);
  std::vector<std::vector<uint32_t>> ends(1);
  for (uint32_t id = 0; id < literals.size(); ++id) {
    uint32_t state = 0;
    for (const char c : literals[id]) {
      const uint32_t edge = state + column_[static_cast<unsigned char>(c)];
      if (transitions_[edge] == 0) {
        transitions_[edge] = static_cast<uint32_t>(transitions_.size());
        transitions_.resize(transitions_.size() + columns_, 0);
        ends.emplace_back();
      }
      state = transitions_[edge];
    }
    ends[state / columns_].push_back(id);
  }

  // Failure links, breadth first; missing edges take the failure state's, which is complete by
  // then.
  std::vector<uint32_t> fail(ends.size(), 0);
  std::vector<uint32_t> queue;
  for (uint32_t column = 1; column < columns_; ++column) {
    if (transitions_[column] != 0) queue.push_back(transitions_[column]);
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const uint32_t state = queue[next];
    const uint32_t row = state / columns_;
    const std::vector<uint32_t>& inherited = ends[fail[row] / columns_];
    ends[row].insert(ends[row].end(), inherited.begin(), inherited.end());
    for (uint32_t column = 1; column < columns_; ++column) {
      uint32_t& child = transitions_[state + column];
      const uint32_t otherwise = transitions_[fail[row] + column];
      if (child == 0) {
        child = otherwise;
      } else {
        fail[child / columns_] = otherwise;
        queue.push_back(child);
      }
    }
  }

  output_begin_.assign(1, 0);
  for (const std::vector<uint32_t>& list : ends) {
    outputs_.insert(outputs_.end(), list.begin(), list.end());
    output_begin_.push_back(static_cast<uint32_t>(outputs_.size()));
  }
}

bool Prefilter::met(const Clauses& clauses, const std::vector<bool>& seen) const {
  return std::all_of(clauses.begin(), clauses.end(), [&](const std::vector<uint32_t>& any_of) {
    return std::any_of(any_of.begin(), any_of.end(), [&](uint32_t id) { return seen[id]; });
  });
}

std::vector<bool> Prefilter::scan(std::string_view bytes) const {
  std::vector<bool> seen(literal_count_, false);
  // One flag a row: whether ending there can still teach something, so that a literal met a
  // million times costs one visit to its list.
  std::vector<uint8_t> unvisited(output_begin_.size() - 1, 0);
  for (std::size_t row = 0; row < unvisited.size(); ++row) {
    unvisited[row] = output_begin_[row] != output_begin_[row + 1];
  }
  std::size_t missing = literal_count_;
  uint32_t state = 0;
  for (const char c : bytes) {
    state = transitions_[state + column_[static_cast<unsigned char>(c)]];
    if (state == 0) continue;
    const uint32_t row = state / columns_;
    if (!unvisited[row]) continue;
    unvisited[row] = 0;
    for (uint32_t at = output_begin_[row]; at < output_begin_[row + 1]; ++at) {
      if (!seen[outputs_[at]]) {
        seen[outputs_[at]] = true;
        --missing;
      }
    }
    if (missing == 0) break;
  }

  std::vector<bool> rules(rules_.size());
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) rules[rule] = met(rules_[rule], seen);
  return rules;
}

bool Prefilter::any(const std::vector<bool>& rules) {
  return std::find(rules.begin(), rules.end(), true) != rules.end();
}

}  // namespace refit
