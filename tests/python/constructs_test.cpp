// Every construct of Python 3.11 to 3.13 that could stumble a reader: the file parses, and the site
// after the construct is lowered like any other.
#include <gtest/gtest.h>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* text;  // of the module, before the function with the site
  const char* body;  // of that function, before the site
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Construct : public testing::TestWithParam<Row> {};

TEST_P(Construct, IsReadPast) {
  const std::string text = std::string("import torch.nn.functional as F\n") + GetParam().text +
                           "def site(q, k, v, *args, **kwargs):\n" + GetParam().body +
                           "    return F.scaled_dot_product_attention(q, k, v)\n";
  const Lowered lowered(text);
  EXPECT_TRUE(lowered.unit->syntax_errors.empty());
  const Graph& g = lowered.graph("site");
  ASSERT_FALSE(g.results.empty());
  const Value& result = g[g.results.back()];
  ASSERT_EQ(result.kind, Kind::op) << lowered.returned("site");
  EXPECT_EQ(result.op->id, "torch.nn.functional.scaled_dot_product_attention");
}

const Row kRows[] = {
    {"match_statement", "",
     "    match args:\n        case []:\n            pass\n        case [a, *rest] if a:\n"
     "            pass\n        case {'k': x, **others}:\n            pass\n"
     "        case Point(x=0, y=z) | None:\n            pass\n        case (1 | 2) as n:\n"
     "            pass\n        case _:\n            pass\n"},
    {"soft_keywords", "match = case = type = _ = 1\nmatch[0:1]\n", "    match(case)\n"},
    {"walrus", "", "    if (n := len(args)) > 1 and (m := n):\n        print(n, m)\n"},
    {"type_parameters", "def g[T: int, *Ts, **P](x: T) -> T: ...\nclass C[T](list[T]):\n    pass\n",
     ""},
    {"type_alias", "type Pair[T] = tuple[T, T]\n", ""},
    {"nested_f_strings", "a = f\"{f'{1 + 1!r:>{10}}'} {{}} {args if (args := 1) else 2}\"\n",
     "    x = f\"{q[\"a\"]:{k}}\"\n"},
    {"f_string_of_lines", "a = f'''{\n    1\n    # a comment\n}'''\n", ""},
    {"decorators", "@(lambda f: f)\n@a.b[0](1)\ndef g(): pass\n", ""},
    {"async_statements",
     "async def g():\n    async with a as b, c:\n        async for d in e:\n"
     "            await f(x async for x in y)\n",
     ""},
    {"global_and_nonlocal", "a = 1\n",
     "    global a\n    b = 1\n    def inner():\n        nonlocal b\n        b = 2\n"},
    {"deletions", "a = b = [1]\ndel a[0], b\n", "    del args, kwargs['x']\n"},
    {"star_expressions", "a, *b = 1, 2\n*c, = b\nd = [*a, *b]\ne = {**{}}\n",
     "    for x, *y in *args, 1:\n        print(*x, *y, **kwargs)\n"},
    {"star_in_index", "def g(*args: *tuple[int]): return a[*b]\n", ""},
    {"exception_groups", "try:\n    pass\nexcept* ValueError as e:\n    pass\n", ""},
    {"try_with_everything", "",
     "    try:\n        pass\n    except (A, B) as e:\n        raise C from e\n    except:\n"
     "        pass\n    else:\n        pass\n    finally:\n        pass\n"},
    {"with_in_brackets", "with (open(a) as b, open(c) as d,):\n    pass\n", ""},
    {"positional_only", "def g(a, /, b, *, c=1, **d): pass\n", "    h = lambda x, /, *y, z=1: x\n"},
    {"comprehensions", "",
     "    a = [x for y in args if y for x in y if x]\n    b = {x: y for x, y in kwargs}\n"
     "    c = {x for x in a}\n    d = (x async for x in a)\n"},
    {"numbers", "a = 0xFF + 0o17 + 0b1 + 1_000 + 1e-3 + .5 + 1j + 1_0.0_1e+2\n", ""},
    {"strings", "a = rb'\\\\' b'x' Rb\"y\"\nb = u'x' '''y''' r\"\"\"z\\\"\"\"\"\n", ""},
    {"conditional_chain", "",
     "    a = 1 if q else 2 if k else 3\n    b = not a < 1 <= 2 != 3 is 4\n"},
    {"yield_forms", "", "    a = yield\n    b = yield from args\n    yield a, b\n"},
    {"ellipsis_and_slices", "", "    a = q[..., ::2, 1:-1:None, (1, 2)]\n    def g(): ...\n"},
    {"operators", "",
     "    a = -q @ k // v % 2 ** ~3 << 1 >> 2 & 3 | 4 ^ 5\n    a @= q\n    a //= 2\n"},
    {"semicolons_and_continuations", "a = 1; b = 2; \\\n  c = 3\n", "    if a: b = 1; c = 2\n"},
    {"classes_in_functions", "",
     "    class C(metaclass=M, **kwargs):\n        x: int = 1\n        def f(self): return "
     "super().f()\n"},
    {"assert_and_raise", "",
     "    assert q, 'x'\n    if k: raise\n    while 0: break\n    else: pass\n"},
    {"print_as_a_name", "print = 1\n", "    exec = print\n"},
    {"unicode_names", "caf\xc3\xa9 = 1\n", "    \xce\xb1 = \xce\xb2 = q\n"},
};
INSTANTIATE_TEST_SUITE_P(Python, Construct, testing::ValuesIn(kRows), RowName());

}  // namespace
}  // namespace refit
