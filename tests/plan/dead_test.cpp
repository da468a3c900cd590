// Which statements a change leaves without a reader: f's last call of `new` stands for the change;
// it keeps reading what `kept` names.
#include <gtest/gtest.h>

#include "rewriter/plan/dead.hpp"
#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* body;               // of f(x, w, c, g); the returned value is replaced
  std::vector<const char*> kept;  // parameters that the new expression reads
  std::vector<const char*> dead;  // text of the statements that go
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Dead : public testing::TestWithParam<Row> {};

TEST_P(Dead, Statements) {
  const Lowered lowered(std::string("import torch\ndef f(x, w, c, g):\n") + GetParam().body);
  const Graph& g = lowered.graph();
  std::vector<ValueId> kept;
  for (const char* name : GetParam().kept) {
    for (ValueId id = 0; id < g.values.size(); ++id) {
      if (g[id].kind == Kind::parameter && g[id].text == name) kept.push_back(id);
    }
  }
  ASSERT_EQ(kept.size(), GetParam().kept.size());
  std::vector<std::string> dead;
  for (StatementId s : Reads(g).dead_statements({g.results.back(), kept, {}, {}, {}})) {
    dead.emplace_back(lowered.unit->source().slice(g.statements[s].range));
  }
  const std::vector<std::string> want(GetParam().dead.begin(), GetParam().dead.end());
  EXPECT_EQ(dead, want);
}

const Row kRows[] = {
    {"only_the_return", "  return x + w\n", {"x"}, {}},
    {"a_temporary", "  a = x * 2\n  return a + w\n", {"x", "w"}, {"a = x * 2"}},
    {"a_chain",
     "  a = x * 2\n  b = a * 3\n  return b + w\n",
     {"x", "w"},
     {"a = x * 2", "b = a * 3"}},
    {"rebound", "  x = x * 2\n  x = x + w\n  return x\n", {"x", "w"}, {"x = x * 2"}},
    {"read_elsewhere", "  a = x * 2\n  g(a)\n  return a + w\n", {"x", "w"}, {}},
    {"returned_besides", "  a = x * 2\n  if c:\n    return a\n  return a + w\n", {"x", "w"}, {}},
    {"an_effect", "  a = g(x)\n  return a + w\n", {"x", "w"}, {}},
    {"dead_before_stays", "  unused = x * 2\n  return x + w\n", {"x"}, {}},
    {"one_of_two_targets", "  a, b = x, w\n  g(b)\n  return a + w\n", {"x", "w"}, {}},
    {"both_targets", "  a, b = x.chunk(2)\n  return a + b\n", {"x"}, {"a, b = x.chunk(2)"}},
    {"captured",
     "  a = x * 2\n  def inner():\n    return a\n  g(inner)\n  return a + w\n",
     {"x", "w"},
     {}},
    {"a_branch",
     "  if c:\n    a = x * 2\n  else:\n    a = w * 2\n  return a + w\n",
     {"x", "w"},
     {"if c:\n    a = x * 2\n  else:\n    a = w * 2", "a = x * 2", "a = w * 2"}},
    {"a_branch_with_an_effect",
     "  if c:\n    a = x * 2\n    g(x)\n  else:\n    a = w * 2\n  return a + w\n",
     {"x", "w"},
     {"a = x * 2", "a = w * 2"}},
    {"in_every_round",
     "  for _ in g:\n    a = x * 2\n    c = a + w\n    x = c\n  return x\n",
     {"x"},
     {}},
    {"bound_anew_in_every_round",
     "  for _ in c:\n    a = x * 2\n    return a + w\n",
     {"x", "w"},
     {"a = x * 2"}},
    {"read_by_the_next_round",
     "  a = w\n  for _ in c:\n    g(a)\n    a = x * 2\n    return a + w\n",
     {"x", "w"},
     {}},
    {"read_by_the_condition",
     "  a = w\n  while a > 0:\n    a = x * 2\n    return a + w\n",
     {"x", "w"},
     {}},
    {"read_behind_a_loop_that_may_not_run",
     "  a = x * 2\n  b = a + w\n  for _ in c:\n    a = w\n  g(a)\n  return a\n",
     {"w"},
     {}},
    {"left_by_break",
     "  for _ in c:\n    a = x * 2\n    if a:\n      break\n    a = w\n  g(a)\n  return a + w\n",
     {"w"},
     {}},
};

INSTANTIATE_TEST_SUITE_P(Plan, Dead, testing::ValuesIn(kRows), RowName());

}  // namespace
}  // namespace refit
