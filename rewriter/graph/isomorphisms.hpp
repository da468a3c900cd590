// Spellings that mean the same, read from rules/isomorphisms.yaml: each brings one shape of value
// to its normal form. Applied to every value as it is made, so patterns and sources meet in one
// spelling.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriter/graph/graph.hpp"
#include "rewriter/text/expected.hpp"

namespace refit {

class Isomorphisms {
 public:
  // `pattern` makes a value graph of a one-line expression with $holes.
  using PatternMaker = std::function<Expected<Graph>(std::string_view)>;
  static Expected<Isomorphisms> load(const std::vector<std::string>& files,
                                     const Catalogue& catalogue, const PatternMaker& pattern);

  // The normal form of a value just made: `id` itself, changed in place, keeping its range and
  // statement. New inner values may be added to the graph.
  void normalise(Graph& graph, ValueId id) const;

 private:
  struct Entry {
    Graph from, to;
    ValueId from_root = kNone, to_root = kNone;
    std::vector<std::string> element_type;  // holes that must denote an element type
    std::vector<std::string> number;        // holes that must be numbers
    std::vector<std::string> tensor;        // holes that are no literal
    std::string at;
    int axes = 0;  // that `from` names one by one
  };
  // Adds the spellings of a file.
  Expected<void> read(const std::string& file, const PatternMaker& pattern);
  static int axes_named(const Graph& graph, ValueId root);
  // Whether the operands' kinds let the spelling match: most do not.
  static bool possible(const Entry& entry, const Graph& graph, ValueId id);
  // `always`: as if every hole were what the entry asks of it.
  bool apply(const Entry& entry, Graph& graph, ValueId id, bool always) const;
  // Whether the value came to a form that no spelling changes.
  bool settle(Graph& graph, ValueId id, bool always) const;
  // The first spelling that others lead back to; null where there is none.
  const Entry* cycle() const;
  std::unordered_map<const Operation*, std::vector<Entry>> by_operation_;
  std::vector<Entry> indices_, attributes_;  // whose root is a read: `x.max(d)[0]`, `x.mT`
};

// Whether a value is an element type: a dtype attribute, or a symbol that the catalogue of the
// source's libraries lists as one ("torch.float32").
bool denotes_element_type(const Graph& graph, ValueId id);

}  // namespace refit
