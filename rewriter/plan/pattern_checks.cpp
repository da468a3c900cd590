// Mistakes that a compiled pattern shows: see pattern_checks.hpp. A call that the catalogue knows
// is an operation of the graph; what stayed a call did not fit.
#include "rewriter/plan/pattern_checks.hpp"

#include <fmt/format.h>

#include "rewriter/rule/yaml_file.hpp"

namespace refit {

namespace {

// The dotted name that a value is written as, `tf.nn.softmax`; empty where it is none.
std::string dotted(const Graph& g, ValueId id) {
  const Value& v = g[id];
  if (v.kind == Kind::symbol || v.kind == Kind::unknown) return v.text;
  if (v.kind != Kind::attribute) return "";
  const std::string object = dotted(g, v.operands[0]);
  return object.empty() ? "" : object + "." + v.text;
}

std::string mistake_of_call(const Graph& g, ValueId callee, const Catalogue& catalogue) {
  const std::string name = dotted(g, callee);
  if (name.empty()) {
    const Value& c = g[callee];
    if (c.kind != Kind::attribute || catalogue.method(c.text) == nullptr) return "";
    return fmt::format("its arguments of `.{}()` fit no signature of `{}`, so no code fits it",
                       c.text, catalogue.method(c.text)->id);
  }
  if (const Operation* known = catalogue.find(name)) {
    return fmt::format("its arguments of `{}` fit no signature of `{}`, so no code fits it", name,
                       known->id);
  }
  const bool here = catalogue.describes(name.substr(0, name.find('.')));
  if (!here && (name.find('.') == std::string::npos || g[callee].kind == Kind::symbol)) return "";
  return fmt::format(
      "it calls `{}`, which the catalogue does not have{}; name a function or method of "
      "rules/catalogue{}",
      name, did_you_mean(catalogue.nearest(name)),
      here ? "" : ", or write the function by its last name alone");
}

}  // namespace

void check_pattern(const CompiledPattern& pattern, bool alternative, const Catalogue& catalogue,
                   std::vector<std::string>& mistakes) {
  const Graph& g = pattern.graph;
  const RuleLocation& at = pattern.source->at;
  auto add = [&](std::string_view what) {
    mistakes.push_back(
        fmt::format("{}:{}:{}: the pattern cannot be used: {}", at.file, at.line, at.column, what));
  };
  if (!alternative && g[pattern.root].kind == Kind::hole) {
    add("it is a hole alone, which any code would fit; write the operation that is rewritten");
  }
  for (ValueId id = 0; id < g.values.size(); ++id) {
    const Value& v = g[id];
    if (v.kind == Kind::starred && g[v.operands[0]].kind == Kind::hole) {
      add("a starred hole stands for any number of operands, which no rewrite can write; write one "
          "hole for each operand");
    }
    if (v.kind == Kind::op && !v.operands.empty() && v.operands[0] != kNone &&
        g[v.operands[0]].kind == Kind::attribute && !dotted(g, v.operands[0]).empty()) {
      add(fmt::format("`{}` is no module that the catalogue has a function of, and no hole",
                      dotted(g, v.operands[0])));
    }
    if (v.kind != Kind::call) continue;
    const std::string mistake = mistake_of_call(g, v.operands[0], catalogue);
    if (!mistake.empty()) add(mistake);
  }
}

}  // namespace refit
