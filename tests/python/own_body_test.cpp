// Two texts that define f have one body, or they do not.
#include "rewriter/python/names/own_body.hpp"

#include <gtest/gtest.h>

#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

struct Row {
  const char* name;
  const char* one;
  const char* other;
  bool same;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::optional<std::string> body(const char* text, const char* name = "f") {
  const Tree tree(text);
  const Module read = index_module(tree.root(), text, "m", false);
  return normal_body(tree.root(), text, read.names, name);
}

class OwnBody : public testing::TestWithParam<Row> {};

TEST_P(OwnBody, IsTold) {
  auto one = body(GetParam().one);
  auto other = body(GetParam().other);
  ASSERT_TRUE(one);
  ASSERT_TRUE(other);
  EXPECT_EQ(digest_of(*one) == digest_of(*other), GetParam().same) << *one << "\n" << *other;
}

const Row kRows[] = {
    {"remarks", "def f(x):\n  'Text.'\n  return x  # so\n", "def f(x):\n\n  return x\n", true},
    {"annotations", "def f(x: int, y: int = 1) -> int:\n  z: int = x\n  return z\n",
     "def f(x, y=1):\n  z = x\n  return z\n", true},
    {"line_breaks", "def f(x):\n  return g(\n    x,\n    1,\n  )\n",
     "def f(x):\n  return g(x, 1)\n", true},
    {"indentation", "def f(x):\n  if x:\n    x = 1\n  return x\n",
     "def f(x):\n    if x:\n        x = 1\n    return x\n", true},
    {"a_statement_elsewhere", "def f(x):\n  if x:\n    x = 1\n  return x\n",
     "def f(x):\n  if x:\n    x = 1\n    return x\n", false},
    {"a_number", "def f(x):\n  return x * 2\n", "def f(x):\n  return x * 3\n", false},
    {"a_default", "def f(x, y=1):\n  return x\n", "def f(x, y=2):\n  return x\n", false},
    {"one_more_tuple", "def f(x):\n  return (x,)\n", "def f(x):\n  return (x)\n", false},
    {"a_helper", "def g(x):\n  return x\ndef f(x):\n  return g(x)\n",
     "def g(x):\n  return -x\ndef f(x):\n  return g(x)\n", false},
    {"a_helper_of_a_helper",
     "def h(x):\n  return x\ndef g(x):\n  return h(x)\ndef f(x):\n  return g(x)\n",
     "def h(x):\n  return -x\ndef g(x):\n  return h(x)\ndef f(x):\n  return g(x)\n", false},
    {"a_value_of_the_module", "EPS = 1\ndef f(x):\n  return x + EPS\n",
     "EPS = 2\ndef f(x):\n  return x + EPS\n", false},
    {"what_it_does_not_name", "EPS = 1\ndef f(x):\n  return x\n",
     "EPS = 2\ndef f(x):\n  return x\n", true},
    {"an_import", "from a import g\ndef f(x):\n  return g(x)\n",
     "from b import g\ndef f(x):\n  return g(x)\n", false},
    {"a_decorator", "def f(x):\n  return x\n", "@g\ndef f(x):\n  return x\n", false},
    {"a_base", "class f(A):\n  def g(self): pass\n", "class f(B):\n  def g(self): pass\n", false},
    {"a_method", "class f(A):\n  def g(self): return 1\n", "class f(A):\n  def g(self): return 2\n",
     false},
    {"a_base_of_the_file", "class A:\n  x = 1\nclass f(A):\n  y = 1\n",
     "class A:\n  x = 2\nclass f(A):\n  y = 1\n", false},
};

INSTANTIATE_TEST_SUITE_P(Rows, OwnBody, testing::ValuesIn(kRows), RowName());

TEST(OwnBody, ItsOwnNameDoesNotCount) {
  EXPECT_EQ(body("class f(B):\n  x = 1\n"), body("class A(B):\n  x = 1\n", "A"));
}

TEST(OwnBody, IsNotReadWhereTheNameIsBoundTwice) {
  EXPECT_FALSE(body("def f(x):\n  return x\nf = g(f)\n"));
  EXPECT_FALSE(body("if a:\n  def f(x): return x\nelse:\n  def f(x): return -x\n"));
  EXPECT_FALSE(body("f = 1\nf = 2\n"));
}

}  // namespace
}  // namespace refit::python
