// What grows: the file, the nesting, the number of rules. A run's processor time grows with it and
// not with its square, and no depth ends in a crash.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>

#include "rewriter/plan/engine.hpp"
#include "tests/catalogue/scratch_folder.hpp"

namespace refit {
namespace {

const RuleSet& shipped() {
  static const RuleSet rules =
      *RuleSet::load({REFIT_RULES_DIR}, std::string(REFIT_RULES_DIR) + "/catalogue");
  return rules;
}

struct Ran {
  RunResult result;
  double seconds = 0;
};

Ran migrate(const std::string& text) {
  const ScratchFolder folder;
  folder.put("m.py", text);
  const Input input{folder.path(), {{folder.path("m.py"), "m.py"}}, {""}};
  EngineOptions options;
  options.jobs = 1;
  options.isomorphisms = std::string(REFIT_RULES_DIR) + "/isomorphisms.yaml";
  const std::clock_t begin = std::clock();
  auto result = run(shipped(), input, options, nullptr);
  Ran out;
  out.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (result) out.result = std::move(*result);
  return out;
}

std::string times(size_t n, const std::function<std::string(size_t)>& part) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += part(i);
  return out;
}

const std::string kHead = "import torch\nimport torch.nn.functional as F\n";
const std::string kSite =
    "def site(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n";

// Four times as much takes at most eight times as long: the square would take sixteen.
void expect_linear(size_t n, const std::function<std::string(size_t)>& text, size_t sites) {
  const double start = migrate(kHead + kSite).seconds;
  const Ran small = migrate(text(n)), large = migrate(text(4 * n));
  EXPECT_EQ(small.result.findings.size(), sites == 0 ? 1 : n / sites);
  EXPECT_EQ(large.result.findings.size(), sites == 0 ? 1 : 4 * n / sites);
  EXPECT_LT(large.seconds - start, 8 * std::max(small.seconds - start, 0.05))
      << n << ": " << small.seconds << " s, " << 4 * n << ": " << large.seconds << " s";
}

TEST(Growth, FunctionsWithASiteEach) {
  expect_linear(
      250,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "def f" + s +
                        "(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)\n";
               });
      },
      1);
}

TEST(Growth, PlainFunctions) {
  expect_linear(
      4000,
      [](size_t n) {
        return kHead + kSite + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "def f" + s + "(a, b):\n    c = a + b * " + s + "\n    return c[0]\n";
               });
      },
      0);
}

TEST(Growth, EntriesOfOneDictionary) {
  expect_linear(
      20000,
      [](size_t n) {
        return kHead + kSite + "d = {\n" +
               times(n, [](size_t i) { return "    'k" + std::to_string(i) + "': 1,\n"; }) + "}\n";
      },
      0);
}

TEST(Growth, StatementsOfOneFunction) {
  expect_linear(
      3000,
      [](size_t n) {
        return kHead + "def f(q, k, v):\n" +
               times(n,
                     [](size_t i) {
                       const std::string s = std::to_string(i);
                       return "    a" + s + " = q.view(" + s + ") + k\n";
                     }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

TEST(Growth, WritesInPlaceAmongManyNames) {
  expect_linear(
      400,
      [](size_t n) {
        return kHead + "def f(x, q, k, v):\n" +
               times(n,
                     [](size_t i) {
                       const std::string s = std::to_string(i);
                       return "    a" + s + " = torch.zeros(" + s + ")\n";
                     }) +
               times(n, [](size_t i) { return "    a" + std::to_string(i) + ".add_(1)\n"; }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

TEST(Growth, StoresIntoSlices) {
  expect_linear(
      400,
      [](size_t n) {
        return kHead + "def f(x, q, k, v):\n    o = torch.empty_like(x)\n" +
               times(n, [](size_t i) { return "    o[" + std::to_string(i) + "] = x\n"; }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

// Deeper than any person writes, as deep as a generator may.
struct Nest {
  const char* name;
  const char *open, *inner, *close;
  size_t depth;
};
void PrintTo(const Nest& nest, std::ostream* out) { *out << nest.name; }

class Nesting : public testing::TestWithParam<Nest> {};

TEST_P(Nesting, IsFollowedOrSaid) {
  const Nest& nest = GetParam();
  const auto text = [&](size_t depth) {
    const auto repeat = [&](const char* part) {
      return times(depth, [&](size_t) { return std::string(part); });
    };
    return kHead + "def f(q, k, v):\n    a = " + repeat(nest.open) + nest.inner +
           repeat(nest.close) + "\n    return F.scaled_dot_product_attention(q, k, v)\n";
  };
  const double start = migrate(kHead + kSite).seconds;
  const Ran small = migrate(text(nest.depth / 4)), large = migrate(text(nest.depth));
  ASSERT_EQ(large.result.findings.size(), 1U);
  EXPECT_EQ(large.result.findings[0].outcome, Outcome::rewritten)
      << large.result.findings[0].message;
  EXPECT_LT(large.seconds - start, 10 * std::max(small.seconds - start, 0.05))
      << small.seconds << " s, then " << large.seconds << " s";
}

const Nest kNests[] = {
    {"parentheses", "(", "q", ")", 10000},
    {"lists", "[", "q", "]", 10000},
    {"calls", "abs(", "q", ")", 10000},
    {"signs", "- ", "q", "", 10000},
    {"sums", "", "q", " + k", 10000},
    {"methods", "", "q", ".abs()", 10000},
    {"attributes", "", "q", ".a", 10000},
    {"indexes", "", "q", "[0]", 10000},
    {"conditions", "k if q else ", "v", "", 10000},
    {"lambdas", "lambda: ", "q", "", 10000},
    {"negations", "not ", "q", "", 10000},
    {"powers", "q ** ", "k", "", 10000},
};
INSTANTIATE_TEST_SUITE_P(Expressions, Nesting, testing::ValuesIn(kNests),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Nesting, OfStatements) {
  std::string text = kHead + "def f(q, k, v):\n";
  for (size_t i = 1; i <= 100; ++i) text += std::string(2 * i, ' ') + "if q:\n";
  text += std::string(202, ' ') + "q = k\n  return F.scaled_dot_product_attention(q, k, v)\n";
  EXPECT_EQ(migrate(text).result.findings.size(), 1U);
}

TEST(Nesting, OfBranches) {
  expect_linear(
      500,
      [](size_t n) {
        return kHead + "def f(q, k, v, n):\n    if n == 0:\n        a = 0\n" +
               times(n,
                     [](size_t i) {
                       const std::string s = std::to_string(i);
                       return "    elif n == " + s + ":\n        a = " + s + "\n";
                     }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

}  // namespace
}  // namespace refit
