// The part in which a value differs from a pattern, and values as text.
#include "rewriter/graph/compare.hpp"

#include <gtest/gtest.h>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

constexpr const char* kPattern =
    "h = $x.float()\nreturn $w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + $eps))";

struct Row {
  const char* name;
  const char* body;    // of f(self, x), ending in a return
  const char* wanted;  // "" where all agrees
  const char* instead;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Compare : public testing::TestWithParam<Row> {};

TEST_P(Compare, NamesThePartThatDiffers) {
  const Lowered lowered(std::string("import torch\ndef f(self, x):\n  h = x.float()\n") +
                        GetParam().body);
  python::PythonFrontend patterns(".", {}, {}, Shipped::get().catalogue,
                                  &Shipped::get().isomorphisms);
  const Graph pattern = must(patterns.pattern(kPattern));
  const Graph& g = lowered.graph();
  const Comparison c = compare(pattern, pattern.results.front(), g, g.results.back());
  if (*GetParam().wanted == '\0') {
    EXPECT_EQ(c.wanted, kNone);
    EXPECT_EQ(c.agreeing, c.parts);
    return;
  }
  ASSERT_NE(c.wanted, kNone);
  EXPECT_EQ(spelt_out(pattern, c.wanted), GetParam().wanted);
  EXPECT_EQ(spelt_out(g, c.instead), GetParam().instead);
  EXPECT_LT(c.agreeing, c.parts);
}

const Row kRows[] = {
    {"nothing", "  return self.w * (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps))\n",
     "", ""},
    {"crossed", "  return h * torch.rsqrt(self.eps + h.pow(2).mean(-1, keepdim=True)) * self.w\n",
     "", ""},
    {"an_axis", "  return self.w * (h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + self.eps))\n",
     "-1", "1"},
    {"an_operation",
     "  return self.w * (h * torch.rsqrt(h.pow(2).sum(-1, keepdim=True) + self.eps))\n",
     "($x.to(torch.float32) * $x.to(torch.float32)).mean(-1, keepdim=True)",
     "(x.to(torch.float32) * x.to(torch.float32)).sum(-1, keepdim=True)"},
    {"a_keyword", "  return self.w * (h * torch.rsqrt(h.pow(2).mean(-1) + self.eps))\n",
     "($x.to(torch.float32) * $x.to(torch.float32)).mean(-1, keepdim=True)",
     "(x.to(torch.float32) * x.to(torch.float32)).mean(-1)"},
};

INSTANTIATE_TEST_SUITE_P(Graph, Compare, testing::ValuesIn(kRows), RowName());

}  // namespace
}  // namespace refit
