// What `f` gives and whether `.view` reads it: result_reads.hpp.
#include <gtest/gtest.h>

#include <string>

#include "rewriter/python/names/result_reads.hpp"

namespace refit::python {
namespace {

bool viewed(const std::string& text) { return ResultReads(text).viewed("f"); }

TEST(ResultReads, BehindACall) {
  EXPECT_TRUE(viewed("def g(x):\n    return f(x).view(2, 3)\n"));
  EXPECT_TRUE(viewed("y = self.f(\n    x,  # )\n)\\\n    .float().to('a)').view_as(z)\n"));
  EXPECT_FALSE(viewed("y = f(x).transpose(1, 2).view(2, 3)\n"));
  EXPECT_FALSE(viewed("y = f(x).contiguous().view(2, 3)\n"));
  EXPECT_FALSE(viewed("# f(x).view(2)\ny = g(x).view(2)\ndef f(x): ...\n"));
  EXPECT_FALSE(viewed("f (x"));
}

TEST(ResultReads, InsideALargerExpression) {
  EXPECT_FALSE(viewed("y = f(x).transpose(1, 2).contiguous()\ny.view(2)\n"));
  EXPECT_FALSE(viewed("y = f(x).mean()\ny.view(2)\n"));
  EXPECT_FALSE(viewed("y = f(x) @ w\ny.view(2)\n"));
  EXPECT_FALSE(viewed("def g(x):\n    return f(x).contiguous()\ng(x).view(2)\n"));
  EXPECT_FALSE(viewed(">>> f(x).view(2)\n>>> y = f(x)\n>>> y.view(2)\n"));
}

TEST(ResultReads, UnderAName) {
  EXPECT_TRUE(viewed("q, k = f(q), f(k)\nq = q + 1\nz = k.view(2)\n"));
  EXPECT_TRUE(viewed("y: Tensor = f(x)\nz = y.view(2)\n"));
  EXPECT_FALSE(viewed("y = f(x)\ny, w = g(y)\ny.view(2)\n"));
  EXPECT_FALSE(viewed("y = f(x)\nwith g() as y:\n    y.view(2)\n"));
  EXPECT_TRUE(viewed("y = f(x)\nz = y.half().view(2)\n"));
  EXPECT_TRUE(viewed("y = f(x)\ny = y.view(2)\n"));
  EXPECT_FALSE(viewed("y = f(x)\ny = y.transpose(1, 2).contiguous()\ny.view(2)\n"));
  EXPECT_FALSE(viewed("def a(x):\n    y = f(x)\n    return y[0]\ndef b(y):\n    y.view(2)\n"));
}

TEST(ResultReads, GivenOn) {
  const std::string names =
      "def f(x): ...\nclass A:\n  def g(self, x):\n    y = f(x)\n    return y\n";
  EXPECT_TRUE(viewed(names + "  def h(self, x):\n    return self.g(x)\na.h(1).view(2)\n"));
  EXPECT_FALSE(viewed(names + "a.g(1).reshape(2)\n"));
  EXPECT_FALSE(viewed("def f(x):\n    return f(x - 1)\n"));  // itself
}

TEST(ResultReads, TooFarAwayToTell) {
  const std::string far(1 << 17, ' ');
  EXPECT_TRUE(viewed("y = f(x)\n#" + far + "\n"));
  EXPECT_FALSE(viewed("y = f(x)\ny = 1\n#" + far + "\n"));
  EXPECT_FALSE(viewed("y = f(x)\ndef g(): ...\n#" + far + "\n"));
}

}  // namespace
}  // namespace refit::python
