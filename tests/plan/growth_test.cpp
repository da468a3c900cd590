// What grows: the file, the nesting, the number of rules. A run's processor time grows with it and
// not with its square, and no depth ends in a crash.
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <functional>

#include "rewriter/cli/languages.hpp"
#include "tests/rule/scratch_folder.hpp"

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

Ran migrate(const std::string& text, const RuleSet& rules = shipped(),
            const std::string& beside = "") {
  const ScratchFolder folder;
  folder.put("m.py", text);
  folder.put("beside.py", beside);
  Input input{folder.path(), {{folder.path("m.py"), "m.py"}}, {""}};
  if (!beside.empty()) {
    input.files.insert(input.files.begin(), {folder.path("beside.py"), "beside.py"});
  }
  EngineOptions options;
  options.jobs = 1;
  options.rules_folder = REFIT_RULES_DIR;
  const std::clock_t begin = std::clock();
  auto result = run(rules, input, options, nullptr);
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

// Four times as much takes at most eleven times as long as `small`, both less the start: the square
// would take sixteen, and what sorts or outgrows a cache takes up to seven. A machine that does
// other work can take a run twice its time, so that the shortest of six counts.
void expect_growth(double start, double small, Ran large, const std::function<Ran()>& again) {
  const double bound = 11 * std::max(small - start, 0.05);
  for (int more = 0; more < 5 && large.seconds - start >= bound; ++more) {
    large.seconds = std::min(large.seconds, again().seconds);
  }
  EXPECT_LT(large.seconds - start, bound)
      << "start " << start << " s, small " << small << " s, large " << large.seconds << " s";
}

void expect_linear(size_t n, const std::function<std::string(size_t)>& text, size_t sites) {
  const double start = migrate(kHead + kSite).seconds;
  const Ran small = migrate(text(n)), large = migrate(text(4 * n));
  EXPECT_EQ(small.result.findings.size(), sites == 0 ? 1 : n / sites);
  EXPECT_EQ(large.result.findings.size(), sites == 0 ? 1 : 4 * n / sites);
  expect_growth(start, small.seconds, large, [&] { return migrate(text(4 * n)); });
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

TEST(Growth, EntriesOfOneLine) {
  expect_linear(
      20000,
      [](size_t n) {
        return kHead + kSite + "d = [" +
               times(n,
                     [](size_t i) {
                       const std::string s = std::to_string(i);
                       return "-" + s + ", a - b, " + s + " ** 2, norm * c, cat + 1, ";
                     }) +
               "]\n";
      },
      0);
}

TEST(Growth, BlocksOfOneFunction) {
  expect_linear(
      2000,
      [](size_t n) {
        return kHead + "def f(q, k, v):\n" +
               times(n,
                     [](size_t i) {
                       return "    with g(" + std::to_string(i) + "):\n        h()\n";
                     }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
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

std::string site_in(const std::string& name, const std::string& callee) {
  return "def " + name + "(q, k, v):\n    return " + callee + "(q, k, v)\n";
}

TEST(Growth, MethodsOfOneClass) {
  expect_linear(
      500,
      [](size_t n) {
        return kHead + "class A(torch.nn.Module):\n" + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "    def _h" + s + "(self, x):\n        return x + " + s + "\n    def f" +
                        s +
                        "(self, q, k, v):\n        return F.scaled_dot_product_attention(self._h" +
                        s + "(q), k, v)\n";
               });
      },
      1);
}

TEST(Growth, ClassesWithMethodsOfOneName) {
  expect_linear(
      400,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "class A" + s +
                        "(torch.nn.Module):\n    def _h(self, x):\n        return x + 1\n"
                        "    def forward(self, q, k, v):\n"
                        "        return F.scaled_dot_product_attention(self._h(q), k, v)\n";
               });
      },
      1);
}

TEST(Growth, FunctionsThatCallOneAnother) {
  expect_linear(
      2000,
      [](size_t n) {
        return kHead +
               times(n,
                     [](size_t i) {
                       return "def g" + std::to_string(i) + "(x):\n    return g" +
                              std::to_string(i + 1) + "(x)\n";
                     }) +
               "def f(q, k, v):\n    return F.scaled_dot_product_attention(g0(q), k, v)\n";
      },
      0);
}

TEST(Growth, ImportsThatGo) {
  expect_linear(
      300,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "from torch.nn.functional import scaled_dot_product_attention as s" + s +
                        "\n" + site_in("f" + s, "s" + s);
               });
      },
      1);
}

TEST(Growth, ImportsOfFunctions) {
  expect_linear(
      400,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 return "def f" + std::to_string(i) +
                        "(q, k, v):\n"
                        "    from torch.nn.functional import scaled_dot_product_attention as s\n"
                        "    return s(q, k, v)\n";
               });
      },
      1);
}

TEST(Growth, ImportsThatStay) {
  expect_linear(
      5000,
      [](size_t n) {
        return times(n, [](size_t i) { return "import m" + std::to_string(i) + "\n"; }) + kHead +
               kSite;
      },
      0);
}

// A file that imports the module and reads `F` of many other ones.
TEST(Growth, ReadersOfAnImportThatGoes) {
  const auto with = [](size_t n) {
    return migrate(kHead + kSite, shipped(), "import m, n\n" + times(n, [](size_t i) {
                                               const std::string s = std::to_string(i);
                                               return "x" + s + " = n.y" + s + ".F.z\n";
                                             }));
  };
  const Ran small = with(10'000), large = with(40'000);
  EXPECT_EQ(large.result.findings.size(), 1U);
  EXPECT_TRUE(large.result.notes.empty());
  expect_growth(0, small.seconds, large, [&] { return with(40'000); });
}

// Attention in methods of one name whose results are kept under names or given on.
TEST(Growth, ReadersOfResults) {
  const auto with = [](size_t n) {
    const auto each = [](size_t i) {
      const std::string s = std::to_string(i);
      return "class A" + s + ":\n  def attend(self, q, k, v):\n" +
             "    return (q @ k.transpose(-2, -1)).softmax(dim=-1) @ v\n" + "  def f" + s +
             "(self, a, q):\n    x" + s + " = a.attend(q, q, q)\n    return x" + s + "\n";
    };
    const auto calls = [](size_t i) {
      const std::string s = std::to_string(i);
      return "  if q is " + s + ":\n    y" + s + " = a.attend(q, q, q)\n    return a.f" + s +
             "(a, q)\n";
    };
    return migrate("import torch\n" + times(n, each) + "def g(a, q):\n" + times(n, calls));
  };
  const Ran small = with(500), large = with(2000);
  EXPECT_EQ(large.result.findings.size(), 2000U);
  expect_growth(0, small.seconds, large, [&] { return with(2000); });
}

TEST(Growth, SitesOfOneFunction) {
  expect_linear(
      2000,
      [](size_t n) {
        return kHead + "def f(q, k, v):\n" + times(n / 2, [](size_t) {
                 return "    q = F.scaled_dot_product_attention(q, k, v)\n    q = q + k\n";
               });
      },
      2);
}

TEST(Growth, OptionsThatAreUnpacked) {
  expect_linear(
      500,
      [](size_t n) {
        return kHead + "def f(q, k, v):\n" +
               times(n,
                     [](size_t i) {
                       const std::string s = std::to_string(i);
                       return "    p" + s + " = {'dim': -1}\n    q = torch.cat([q, k], **p" + s +
                              ")\n";
                     }) +
               "    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

TEST(Growth, RefusalsAndOverlaps) {
  expect_linear(
      300,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 return "def f" + std::to_string(i) +
                        "(q, k, v):\n"
                        "    return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)\n";
               });
      },
      1);
}

TEST(Growth, RecognisedComputations) {
  expect_linear(
      150,
      [](size_t n) {
        return kHead + times(n, [](size_t i) {
                 return "def norm" + std::to_string(i) +
                        "(x, w):\n    return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) "
                        "+ 1e-6))\n";
               });
      },
      1);
}

// Guards of one function, each recognised against all of it.
TEST(Growth, RecognisedComputationsOfOneFunction) {
  expect_linear(
      500,
      [](size_t n) {
        return kHead + "def f(x):\n" +
               times(n,
                     [](size_t) {
                       return "    s = x - x.amax(dim=-1, keepdim=True)\n"
                              "    x = x + torch.softmax(s, dim=-1)\n";
                     }) +
               "    return x\n";
      },
      1);
}

TEST(Growth, RecognisedComputationsThatStay) {
  expect_linear(
      500,
      [](size_t n) {
        return kHead + "def f(x):\n" +
               times(n,
                     [](size_t) {
                       return "    s = x - x.amax(dim=-1, keepdim=True)\n"
                              "    x = s * torch.softmax(s, dim=-1)\n";
                     }) +
               "    return x\n";
      },
      1);
}

// The shipped rules under further ids, against code that is like theirs and not quite.
TEST(Growth, RulesOfTheKindsThatShip) {
  const auto with = [](size_t n) {
    const ScratchFolder folder;
    size_t made = 0;
    for (size_t copy = 0; made < n; ++copy) {
      for (const char* name : {"norm", "rotary", "softmax", "modulation", "attention_by_hand"}) {
        std::ifstream in(std::string(REFIT_RULES_DIR) + "/" + name + ".yaml");
        std::string line, text;
        while (std::getline(in, line)) {
          if (line.starts_with("  - id: ")) {
            line += "-copy-" + std::to_string(copy);
            ++made;
          }
          text += line + "\n";
        }
        folder.put(name + std::to_string(copy) + ".yaml", text);
      }
    }
    auto rules = RuleSet::load({REFIT_RULES_DIR, folder.path()},
                               std::string(REFIT_RULES_DIR) + "/catalogue");
    EXPECT_TRUE(rules) << rules.error().message;
    return rules;
  };
  const std::string text =
      kHead + times(20, [](size_t i) {
        const std::string s = std::to_string(i);
        return "def norm" + s +
               "(x, w):\n    v = x.pow(2).mean(-1, keepdim=True)\n"
               "    return w * x / (v * torch.rsqrt(v + 1e-6))\n"
               "def turn" +
               s +
               "(x, cos, sin):\n    a, b = x.chunk(2, dim=-1)\n"
               "    return x * cos + torch.cat((b, a), dim=-1) * sin\n"
               "def weigh" +
               s +
               "(q, k, v, m):\n    w = (q @ k.transpose(-2, -1)) * 0.5 + m\n"
               "    w = torch.softmax(w.clamp(min=-5) * w, dim=-1)\n    return w @ v @ v\n"
               "def act" +
               s + "(x):\n    return x * torch.sigmoid(1.5 * x) * (1 + x) + x\n";
      });
  const auto few = with(125), many = with(500);
  ASSERT_TRUE(few && many);
  const double none = migrate(text).seconds;
  const Ran small = migrate(text, *few), large = migrate(text, *many);
  expect_growth(none, small.seconds, large, [&] { return migrate(text, *many); });
}

// Rules of their own: calls by name, and values made of the operations that every line has.
TEST(Growth, Rules) {
  const auto with = [](size_t n) {
    const ScratchFolder folder;
    folder.put("more.yaml",
               "rules:\n" + times(n, [](size_t i) {
                 const std::string s = std::to_string(i);
                 return "  - id: more-" + s +
                        "\n    summary: one of many\n    subject: activation\n    drops: [y]\n"
                        "    match:\n      patterns:\n        - code: |\n            return $x * " +
                        s + " + $y * " + s +
                        "\n    rewrites:\n"
                        "      - target: cuda\n        with: mindiesd.ext.gelu($x)\n";
               }));
    auto rules = RuleSet::load({REFIT_RULES_DIR, folder.path("more.yaml")},
                               std::string(REFIT_RULES_DIR) + "/catalogue");
    EXPECT_TRUE(rules) << rules.error().message;
    return rules;
  };
  const std::string text = kHead + kSite + "def f(a, b):\n" + times(300, [](size_t i) {
                             return "    a = a * b + " + std::to_string(i) + "\n";
                           });
  const auto few = with(100), many = with(400);
  ASSERT_TRUE(few && many);
  const double none = migrate(text).seconds;
  const Ran small = migrate(text, *few), large = migrate(text, *many);
  EXPECT_EQ(large.result.findings.size(), 1U);
  expect_growth(none, small.seconds, large, [&] { return migrate(text, *many); });
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

TEST(Nesting, OfTargets) {
  const std::string open(10000, '('), name = "a" + times(10000, [](size_t) { return ",)"; });
  const std::string text = kHead + open + name + " = 1\ndef f(q, k, v):\n    " + open + name +
                           " = q\n    return F.scaled_dot_product_attention(q, k, v)\n";
  EXPECT_EQ(migrate(text).result.findings.size(), 1U);
}

TEST(Nesting, OfCases) {
  expect_linear(
      1000,
      [](size_t n) {
        return kHead + "def f(q, k, v):\n    match q:\n        case " + std::string(n, '[') + "a" +
               std::string(n, ']') +
               ":\n            pass\n    return F.scaled_dot_product_attention(q, k, v)\n";
      },
      0);
}

TEST(Nesting, BeyondTheBoundIsSaid) {
  const std::string deep(20000, '['), end(20000, ']');
  const Ran ran = migrate(kHead + "def f(q, k, v):\n    a = " + deep +
                          "F.scaled_dot_product_attention(q, k, v)" + end +
                          "\n    return F.scaled_dot_product_attention(q, k, v)\n");
  ASSERT_EQ(ran.result.findings.size(), 1U);
  EXPECT_EQ(ran.result.findings[0].line, 5U);
  ASSERT_EQ(ran.result.notes.size(), 1U);
  EXPECT_TRUE(ran.result.notes[0].starts_with("m.py:4: ")) << ran.result.notes[0];
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
