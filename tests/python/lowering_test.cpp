// Python functions to the values that they return: one table, source to dump.
#include <gtest/gtest.h>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* source;
  const char* returned;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Lowering : public testing::TestWithParam<Row> {};

TEST_P(Lowering, GivesTheDump) {
  const Lowered lowered(GetParam().source);
  EXPECT_EQ(lowered.returned(), GetParam().returned);
}

const Row kAssignments[] = {
    {"parameter", "def f(a):\n  return a\n", "a"},
    {"nothing_returned", "def f(a):\n  return\n", ""},
    {"temporary", "def f(a):\n  b = a + 1\n  return b\n", "operator.add(a, 1)"},
    {"rebound", "def f(a):\n  a = a + 1\n  a = a * 2\n  return a\n",
     "operator.mul(operator.add(a, 1), 2)"},
    {"chained", "def f(a):\n  b = c = a + 1\n  return b, c\n",
     "(operator.add(a, 1), operator.add(a, 1))"},
    {"swapped", "def f(a, b):\n  a, b = b, a\n  return a - b\n", "operator.sub(b, a)"},
    {"unpacked", "def f(t):\n  a, b = t\n  return b\n", "t#1/2"},
    {"unpacked_list", "def f(t):\n  [a, b] = t\n  return a\n", "t#0/2"},
    {"unpacked_in_depth", "def f(t):\n  a, (b, c) = t\n  return c\n", "t#1/2#1/2"},
    {"starred", "def f(t):\n  a, *b = t\n  return a\n", "opaque:unpacked(t)"},
    {"annotated", "def f(a):\n  b: int = a + 1\n  return b\n", "operator.add(a, 1)"},
    {"walrus", "def f(a):\n  return (b := a + 1) * b\n",
     "operator.mul(opaque:walrus(operator.add(a, 1)), operator.add(a, 1))"},
    {"of_a_tuple", "def f(a, b):\n  t = (a, b)\n  return t[1]\n", "b"},
    {"from_behind", "def f(a, b):\n  t = (a, b)\n  return t[-1]\n", "b"},
    {"literals", "def f():\n  return (1, 2.5, 'x', True, None, -3)\n",
     "(1, 2.5, \"x\", True, None, -3)"},
    {"default_does_not_matter", "def f(a=3):\n  return a\n", "a"},
    {"unreached", "def f(a):\n  return a\n  a = a + 1\n  return a\n", "a"},
    {"unbound", "def f(a):\n  b = c\n  c = a\n  return b\n", "?c"},
    {"deleted", "def f(a):\n  del a\n  return a\n", "?deleted a"},
    {"raise_ends", "def f(a):\n  if a:\n    raise ValueError\n  return a\n", "a"},
};

const Row kBranches[] = {
    {"both_sides", "def f(a, c):\n  if c:\n    b = a + 1\n  else:\n    b = a - 1\n  return b\n",
     "phi(c, operator.add(a, 1), operator.sub(a, 1))"},
    {"one_side", "def f(a, c):\n  if c:\n    a = a + 1\n  return a\n",
     "phi(c, operator.add(a, 1), a)"},
    {"same_on_both", "def f(a, b, c):\n  if c:\n    x = a\n  else:\n    x = a\n  return x\n", "a"},
    {"one_side_unbound", "def f(a, c):\n  if c:\n    b = a\n  return b\n", "phi(c, a, ?unbound b)"},
    {"elif",
     "def f(a, c, d):\n  if c:\n    x = 1\n  elif d:\n    x = 2\n  else:\n    x = 3\n  return x\n",
     "phi(c, 1, phi(d, 2, 3))"},
    {"early_return", "def f(a, c):\n  if c:\n    return a\n  a = a + 1\n  return a\n",
     "a | operator.add(a, 1)"},
    {"raise_in_else",
     "def f(a, c):\n  if c:\n    x = a\n  else:\n    raise ValueError(c)\n  return x\n", "a"},
    {"nested", "def f(a, c, d):\n  x = a\n  if c:\n    if d:\n      x = 1\n  return x\n",
     "phi(c, phi(d, 1, a), a)"},
    {"conditional_expression", "def f(a, c):\n  return a if c else 0\n", "phi(c, a, 0)"},
};

const Row kOpaque[] = {
    {"for_changes_what_it_binds", "def f(a, n):\n  for i in range(n):\n    a = a + i\n  return a\n",
     "opaque:after the loop a(operator.add(opaque:loop a(call ?range(n), a), opaque:item(call "
     "?range(n))), opaque:loop a(call ?range(n), a))"},
    {"for_leaves_the_rest", "def f(a, n):\n  b = a + 1\n  for i in n:\n    a = i\n  return b\n",
     "operator.add(a, 1)"},
    {"while", "def f(a):\n  while a:\n    a = a - 1\n  return a\n",
     "opaque:after the loop a(operator.sub(opaque:loop a(a, a), 1), opaque:loop a(a, a))"},
    {"comprehension", "def f(x):\n  return [y + 1 for y in x]\n",
     "opaque:comprehension(x, operator.add(opaque:item(x), 1))"},
    {"comprehension_shadows", "def f(x, y):\n  z = [y for y in x]\n  return y\n", "y"},
    {"lambda_shadows", "def f(x, y):\n  g = lambda y: y\n  return y\n", "y"},
    {"dictionary", "def f(a):\n  return {'a': a}['a']\n", "opaque:dictionary(\"a\", a)[\"a\"]"},
    {"await_is_a_call", "async def f(a):\n  return await a\n", "opaque:await(a)"},
};

const Row kCalls[] = {
    {"unknown_callee", "def f(a, g):\n  return g(a)\n", "call g(a)"},
    {"method_of_unknown", "def f(a):\n  return a.frobnicate(1)\n", "call a.frobnicate(1)"},
    {"attribute_chain", "def f(self):\n  return self.a.b\n", "self.a.b"},
    {"known_function", "import torch\ndef f(a):\n  return torch.rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"known_method", "def f(a):\n  return a.rsqrt()\n", "torch.rsqrt(a, -)"},
    {"keyword_argument",
     "import torch\ndef f(a):\n  return torch.transpose(dim1=2, input=a, dim0=1)\n",
     "torch.transpose(a, 1, 2)"},
    {"alternative_name", "import torch\ndef f(a):\n  return torch.softmax(a, axis=-1)\n",
     "torch.softmax(a, -1, -, -)"},
    {"argument_missing", "import torch\ndef f(a):\n  return torch.transpose(a, 1)\n",
     "call torch.transpose(a, 1)"},
    {"argument_too_many", "import torch\ndef f(a):\n  return torch.rsqrt(a, 1, 2, 3)\n",
     "call torch.rsqrt(a, 1, 2, 3)"},
    {"splatted", "import torch\ndef f(a, o):\n  return torch.rsqrt(a, **o)\n",
     "call torch.rsqrt(a, o)"},
    {"variadic", "def f(a):\n  return a.view(2, -1, 3)\n", "torch.Tensor.view(a, (2, -1, 3))"},
    {"variadic_in_a_tuple", "def f(a):\n  return a.view((2, -1, 3))\n",
     "torch.Tensor.view(a, (2, -1, 3))"},
    {"overload", "def f(a):\n  return a.max(-1, keepdim=True)\n", "torch.max(a, -1, True, -)"},
    {"first_overload", "def f(a):\n  return a.max()\n", "torch.max(a, -)"},
};

const Row kStores[] = {
    {"slices_of_a_fresh_tensor",
     "import torch\ndef f(x):\n  out = torch.empty_like(x)\n  out[..., 0::2] = x\n  return out\n",
     "update(torch.empty_like(x, -, -, -, -, -, -), (..., slice(-, -, 2)), x)"},
    {"two_stores",
     "import torch\ndef f(x, y):\n  out = torch.empty_like(x)\n  out[0] = x\n  out[1] = y\n"
     "  return out\n",
     "update(update(torch.empty_like(x, -, -, -, -, -, -), 0, x), 1, y)"},
    {"attribute_store_is_no_name", "def f(self, a):\n  self.a = a\n  return self.a\n", "self.a"},
    {"augmented", "def f(a):\n  b = a + 0\n  b += 1\n  return b\n",
     "operator.add(operator.add(a, 0), 1)"},
};

TEST(Decorators, ADecoratorOfAClassIsNoneOfTheNextFunction) {
  const Lowered lowered(
      "import torch\n@torch.jit.script\nclass A:\n  pass\ndef f(a):\n  return a\n");
  EXPECT_TRUE(lowered.function().decorators.empty());
}

INSTANTIATE_TEST_SUITE_P(Assignments, Lowering, testing::ValuesIn(kAssignments), RowName());
INSTANTIATE_TEST_SUITE_P(Branches, Lowering, testing::ValuesIn(kBranches), RowName());
INSTANTIATE_TEST_SUITE_P(Opaque, Lowering, testing::ValuesIn(kOpaque), RowName());
INSTANTIATE_TEST_SUITE_P(Calls, Lowering, testing::ValuesIn(kCalls), RowName());
INSTANTIATE_TEST_SUITE_P(Stores, Lowering, testing::ValuesIn(kStores), RowName());

}  // namespace
}  // namespace refit
