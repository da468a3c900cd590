// Queries on value graphs: isomorphisms bring spellings to one form; equality; unification; users.
#include <gtest/gtest.h>

#include <algorithm>

#include "rewriter/graph/unify.hpp"
#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

// Spellings of one form: every source of a row gives the same dump.
struct Spellings {
  const char* name;
  std::vector<const char*> expressions;  // of x, y, a tensor each, and n, a number
};

void PrintTo(const Spellings& row, std::ostream* out) { *out << row.name; }

std::string form(const std::string& expression) {
  return Lowered("import torch, math\nimport torch.nn.functional as F\ndef f(x, y, n):\n  return " +
                 expression + "\n")
      .returned();
}

class Isomorphic : public testing::TestWithParam<Spellings> {};

TEST_P(Isomorphic, OneForm) {
  const Spellings& row = GetParam();
  for (const char* expression : row.expressions) {
    EXPECT_EQ(form(expression), form(row.expressions.front())) << expression;
  }
}

const Spellings kSame[] = {
    {"transpose",
     {"x.transpose(1, 2)", "torch.transpose(x, 1, 2)", "x.permute(0, 2, 1, 3)",
      "x.permute((0, 2, 1, 3))", "x.permute([0, 2, 1, 3])", "torch.permute(x, (0, 2, 1, 3))",
      "x.swapaxes(1, 2)", "x.transpose(2, 1)", "torch.swapdims(x, 1, 2)"}},
    {"transpose_of_the_last_two",
     {"x.transpose(-2, -1)", "x.transpose(-1, -2)", "x.mT", "x.swapaxes(-1, -2)",
      "x.permute(0, 1, 3, 2)", "torch.permute(x, (0, 1, 3, 2))", "x.permute(0, 2, 1)"}},
    {"product_with_a_transposed",
     {"x @ y.transpose(-2, -1)", "torch.matmul(x, y.mT)", "torch.bmm(x, y.transpose(1, 2))",
      "torch.bmm(x, y.permute(0, 2, 1))"}},
    {"scaled_product",
     {"(x @ y.mT) * n", "torch.baddbmm(torch.empty(1), x, y.transpose(-1, -2), beta=0, alpha=n)",
      "torch.baddbmm(x, x, y.transpose(1, 2), beta=0, alpha=n)"}},
    {"maximum_along_an_axis",
     {"x.amax(-1, keepdim=True)", "x.max(-1, keepdim=True)[0]",
      "x.max(dim=-1, keepdim=True).values", "torch.max(x, dim=-1, keepdim=True)[0]",
      "torch.amax(x, dim=-1, keepdim=True)"}},
    {"mean",
     {"x.mean(-1, keepdim=True)", "x.sum(-1, keepdim=True) / x.shape[-1]",
      "torch.sum(x, dim=-1, keepdim=True) / x.size(-1)", "torch.mean(x, axis=-1, keepdim=True)"}},
    {"pairs",
     {"x.unflatten(-1, (-1, 2))", "x.reshape(*x.shape[:-1], -1, 2)", "x.view(*x.shape[:-1], -1, 2)",
      "torch.reshape(x, x.shape[:-1] + (-1, 2))"}},
    {"halves",
     {"x.chunk(2, -1)", "torch.chunk(x, 2, dim=-1)", "x.split(x.shape[-1] // 2, dim=-1)"}},
    {"clamp_by_a_number_in_a_tensor",
     {"x.clamp(min=-5.0)", "torch.maximum(x, torch.tensor(-5.0))"}},
    {"float32",
     {"x.float()", "x.to(torch.float32)", "x.to(dtype=torch.float32)", "x.to(torch.float)"}},
    {"float32_twice", {"x.float()", "x.float().float()", "x.to(torch.float32).float()"}},
    {"float16", {"x.half()", "x.to(torch.float16)", "x.to(torch.half)"}},
    {"type_of_another", {"x.to(y.dtype)", "x.type_as(y)", "x.to(dtype=y.dtype)"}},
    {"square", {"x * x", "x ** 2", "x.pow(2)", "torch.square(x)", "torch.pow(x, 2)", "x.square()"}},
    {"inverse_root",
     {"y * torch.rsqrt(x)", "y * x.rsqrt()", "y / torch.sqrt(x)", "y / x.sqrt()",
      "y * (1 / torch.sqrt(x))", "y * x ** -0.5", "y * torch.pow(x, -0.5)"}},
    {"softmax",
     {"F.softmax(x, -1)", "F.softmax(x, dim=-1)", "x.softmax(-1)", "x.softmax(dim=-1)",
      "torch.softmax(x, -1)", "torch.softmax(x, axis=-1)"}},
    {"clamp_below",
     {"torch.clamp(x, min=0.5)", "x.clamp(min=0.5)", "x.clip(min=0.5)", "x.clamp_min(0.5)"}},
    {"product", {"x @ y", "torch.matmul(x, y)", "x.matmul(y)", "torch.bmm(x, y)"}},
    {"sum", {"x + y", "torch.add(x, y)", "x.add(y)"}},
};

INSTANTIATE_TEST_SUITE_P(Graph, Isomorphic, testing::ValuesIn(kSame), RowName());

// Spellings that look alike and are other computations.
struct Pair {
  const char* name;
  const char* a;
  const char* b;
};

void PrintTo(const Pair& row, std::ostream* out) { *out << row.name; }

class Different : public testing::TestWithParam<Pair> {};

TEST_P(Different, TwoForms) { EXPECT_NE(form(GetParam().a), form(GetParam().b)); }

const Pair kDifferent[] = {
    {"other_axes", "x.transpose(1, 2)", "x.transpose(1, 3)"},
    {"permute_of_three", "x.transpose(1, 2)", "x.permute(0, 2, 1)"},
    {"permute_that_moves_three", "x.transpose(1, 2)", "x.permute(0, 2, 3, 1)"},
    {"other_type", "x.float()", "x.double()"},
    {"cube", "x * x", "x ** 3"},
    {"scaled_sum", "x + y", "torch.add(x, y, alpha=2)"},
    {"rounded_quotient", "x / y", "torch.div(x, y, rounding_mode='floor')"},
    {"root", "y / torch.sqrt(x)", "y * torch.sqrt(x)"},
    {"other_dim", "x.softmax(-1)", "x.softmax(1)"},
    {"no_dim", "F.softmax(x, dim=-1)", "F.softmax(x)"},
    {"clamp_above", "x.clamp(min=0.5)", "x.clamp(max=0.5)"},
    {"difference", "x - y", "y - x"},
    {"device_is_no_type", "x.to(y.device)", "x.to(y.dtype)"},
    {"larger_of_two", "x.amax(y)", "x.max(y)[0]"},
    {"maximum_of_tensors", "x.clamp(min=y)", "torch.maximum(x, y)"},
    {"sum_over_another_size", "x.mean(-1, keepdim=True)", "x.sum(-1, keepdim=True) / x.shape[1]"},
    {"product_of_another_transposed", "torch.bmm(x, y.transpose(1, 2))", "x @ y.transpose(1, 2)"},
    {"added_product", "(x @ y) * n", "torch.baddbmm(x, x, y, alpha=n)"},
};

INSTANTIATE_TEST_SUITE_P(Graph, Different, testing::ValuesIn(kDifferent), RowName());

// f returns two values: are they the same computation?
struct Equality {
  const char* name;
  const char* body;
  bool same;
};

void PrintTo(const Equality& row, std::ostream* out) { *out << row.name; }

class Same : public testing::TestWithParam<Equality> {};

TEST_P(Same, AsAsked) {
  const Lowered lowered(std::string("import torch\ndef f(self, x, y, g):\n  ") + GetParam().body +
                        "\n");
  const Graph& g = lowered.graph();
  ASSERT_EQ(g.results.size(), 1U);
  const Value& both = g[g.results.front()];
  ASSERT_EQ(both.operands.size(), 2U);
  EXPECT_EQ(g.same(both.operands[0], both.operands[1]), GetParam().same);
}

const Equality kEqual[] = {
    {"one_value", "return x, x", true},
    {"two_parameters", "return x, y", false},
    {"pure_operations", "return x.rsqrt(), torch.rsqrt(x)", true},
    {"other_operand", "return x.rsqrt(), y.rsqrt()", false},
    {"unknown_calls", "return g(x), g(x)", false},
    {"random", "return torch.rand_like(x), torch.rand_like(x)", false},
    {"attributes", "return self.weight, self.weight", true},
    {"attributes_with_a_store_between", "a = self.weight; self.weight = x; return a, self.weight",
     false},
    {"indices", "return x[0], x[0]", true},
    {"other_indices", "return x[0], x[1]", false},
    {"literals", "return 1, 1", true},
    {"one_and_true", "return 1, True", false},
};

INSTANTIATE_TEST_SUITE_P(Graph, Same, testing::ValuesIn(kEqual), RowName());

// A pattern against the value that f returns: the dump of each hole, or "no".
struct Match {
  const char* name;
  const char* pattern;
  const char* body;
  const char* holes;
};

void PrintTo(const Match& row, std::ostream* out) { *out << row.name; }

class Unify : public testing::TestWithParam<Match> {};

TEST_P(Unify, BindsTheHoles) {
  Lowered lowered(std::string("import torch\ndef f(x, y, w, c):\n  ") + GetParam().body + "\n");
  auto pattern = lowered.frontend.pattern(GetParam().pattern);
  ASSERT_TRUE(pattern) << pattern.error().message;
  const Graph& g = lowered.graph();
  Bindings bindings;
  std::string found;
  if (match_value(*pattern, pattern->results.front(), g, g.results.front(), bindings)) {
    for (const auto& [hole, value] : bindings.holes) {
      found += (found.empty() ? "" : ", ") + hole + "=" + dump(g, value);
    }
  } else {
    found = "no";
    EXPECT_TRUE(bindings.holes.empty());
  }
  EXPECT_EQ(found, GetParam().holes);
}

const Match kMatches[] = {
    {"hole", "return torch.rsqrt($a)", "return (x + y).rsqrt()", "a=operator.add(x, y)"},
    {"hole_twice", "return $a * torch.rsqrt($a)", "return x * x.rsqrt()", "a=x"},
    {"hole_twice_with_two_values", "return $a * torch.rsqrt($a)", "return x * y.rsqrt()", "no"},
    {"hole_twice_with_equal_values", "return $a * torch.rsqrt($a)", "return x[0] * x[0].rsqrt()",
     "a=x[0]"},
    {"any_value", "return torch.clamp($a, min=$_)", "return x.clamp(min=y)", "a=x"},
    {"commuted", "return torch.rsqrt($a) * $b", "return x * y.rsqrt()", "a=y, b=x"},
    {"not_commuted", "return torch.rsqrt($a) - $b", "return x - y.rsqrt()", "no"},
    {"default_written_out", "return torch.rsqrt($a).mean(-1, keepdim=False)",
     "return x.rsqrt().mean(-1)", "a=x"},
    {"statements_in_another_order", "a = $x + 1\nb = $x - 1\nreturn a * b",
     "b = x - 1; a = x + 1; return a * b", "x=x"},
    {"number_of_another_type", "return $a + 1", "return x + 1.0", "a=x"},
    {"other_number", "return $a + 1", "return x + 2", "no"},
    {"branch", "n = $x\nif $c is not None:\n    n = n * $c\nreturn n",
     "if c is not None:\n    x = x * c\n  return x", "c=c, x=x"},
    {"branch_the_other_way_round", "n = $x\nif $c is not None:\n    n = n * $c\nreturn n",
     "if c is None:\n    x = x * c\n  return x", "no"},
    {"stores", "out = torch.empty_like($x)\nout[..., 0::2] = $a\nreturn out",
     "o = torch.empty_like(x); o[..., 0::2] = y; return o", "a=y, x=x"},
    {"other_store", "out = torch.empty_like($x)\nout[..., 0::2] = $a\nreturn out",
     "o = torch.empty_like(x); o[..., 1::2] = y; return o", "no"},
};

INSTANTIATE_TEST_SUITE_P(Graph, Unify, testing::ValuesIn(kMatches), RowName());

TEST(GraphUsers, HoldReadersThatNobodyReads) {
  const Lowered lowered("def f(x):\n  a = x + 1\n  unread = a * 2\n  return a\n");
  const Graph& g = lowered.graph();
  const ValueId a = g.results.front();
  EXPECT_EQ(g.users(a).size(), 1u);  // `a * 2` runs
  EXPECT_TRUE(g.used_by_statement(a));
  EXPECT_TRUE(g.live()[a]);
  const bool dead_product = std::any_of(g.values.begin(), g.values.end(), [&](const auto& v) {
    return v.op != nullptr && v.op->id == "operator.mul" &&
           !g.live()[static_cast<ValueId>(&v - g.values.data())];
  });
  EXPECT_TRUE(dead_product);
}

TEST(GraphReaching, FollowsTheOrderOfStatements) {
  const Lowered lowered("def f(x):\n  a = x + 1\n  b = a\n  a = x + 2\n  return a\n");
  const Graph& g = lowered.graph();
  const auto name = g.name_index("a");
  ASSERT_TRUE(name);
  ASSERT_FALSE(g.name_index("nowhere"));
  std::vector<std::string> seen;
  for (const Statement& statement : g.statements) {
    const DefinitionId d = g.reaching(*name, statement.time);
    if (statement.parent == kNone && d != kNone) {
      seen.push_back(dump(g, g.definitions[d].value));
    }
  }
  const std::vector<std::string> want = {"operator.add(x, 1)", "operator.add(x, 1)",
                                         "operator.add(x, 2)"};
  EXPECT_EQ(seen, want);
}

TEST(GraphDump, StopsAtTheDepthAsked) {
  const Lowered lowered("def f(x):\n  return x + (x + (x + 1))\n");
  EXPECT_EQ(dump(lowered.graph(), lowered.graph().results.front(), 2),
            "operator.add(x, operator.add(…, …))");
}

// Both sides of each join lead back to the one before it: no walk may follow both to their ends.
TEST(Graph, EffectiveThroughManyJoins) {
  Graph g;
  std::set<StatementId> dead;
  constexpr uint32_t kJoins = 20000;
  g.statements.resize(1 + 2 * kJoins);
  for (uint32_t i = 0; i <= 2 * kJoins; ++i) {
    Value v;
    v.kind = Kind::unknown;
    g.add(v);
  }
  Definition first;
  first.value = 0;
  first.statement = 0;
  g.definitions.push_back(first);
  for (uint32_t i = 0; i < kJoins; ++i) {
    const auto before = static_cast<DefinitionId>(g.definitions.size() - 1);
    Definition side;
    side.value = 2 * i + 1;
    side.statement = 2 * i + 1;
    side.previous = before;
    dead.insert(side.statement);
    g.definitions.push_back(side);
    Definition join;
    join.value = 2 * i + 2;
    join.statement = 2 * i + 2;
    join.previous = before;
    join.join = true;
    join.then_side = before + 1;
    join.else_side = before;
    g.definitions.push_back(join);
  }
  const auto last = static_cast<DefinitionId>(g.definitions.size() - 1);
  EXPECT_EQ(effective(g, last, dead), 0U) << "what no branch changes any more";
  EXPECT_EQ(effective(g, last, {}), last);
}

}  // namespace
}  // namespace refit
