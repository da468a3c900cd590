// The outline of a file against what the parser makes of it, construct by construct, and where its
// functions stand.
#include "rewriter/python/names/outline.hpp"

#include <gtest/gtest.h>

#include "rewriter/python/syntax/syntax.hpp"
#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

std::string shown(const Names& names) {
  std::string out;
  for (const auto& [name, bindings] : names.bindings) {
    for (const Binding& b : bindings) {
      out += name + ":" + std::to_string(static_cast<int>(b.kind)) + ":" + b.qualified +
             (b.guarded ? ":guarded\n" : "\n");
    }
  }
  for (const std::string& star : names.stars) out += "* " + star + "\n";
  return out;
}

struct Row {
  const char* name;
  const char* text;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Outlined : public testing::TestWithParam<Row> {};

TEST_P(Outlined, BindsWhatTheParserFinds) {
  std::string text = GetParam().text;
  auto found = outline(text, "pkg.m", false);
  ASSERT_TRUE(found.has_value());
  Tree tree(text);
  Module parsed = index_module(tree.root(), text, "pkg.m", false);
  EXPECT_EQ(shown(found->module.names), shown(parsed.names));
}

const Row kRows[] = {
    {"imports", "import torch\nimport a.b as c, d.e\nfrom x import y as z, w\n"},
    {"in_brackets", "from x import (\n    y as z,  # note\n    w,\n)\nq = 1\n"},
    {"continued", "from x \\\n    import y\nimport a, \\\n  b\n"},
    {"relative", "from . import a\nfrom .. import b\nfrom .c import d\nfrom ..e.f import g\n"},
    {"star", "from torch import *\nfrom .a import *\n"},
    {"future", "from __future__ import annotations\nimport a\n"},
    {"probe",
     "try:\n  import a\nexcept ImportError:\n  a = None\nelse:\n  b = 1\nfinally:\n  c = 2\n"},
    {"one_line", "try: import a\nexcept ImportError: a = None\nif x: y = 1\nelse: y = 2\n"},
    {"branches", "if a:\n  import b\nelif c:\n  from d import e\nelse:\n  f = 1\n"},
    {"loops",
     "for i in range(3):\n  a = i\nelse:\n  b = 1\nwhile x:\n  c = 1\nfor j, (k, l) in z:\n  "
     "pass\n"},
    {"with", "with open(a) as f:\n  b = 1\n"},
    {"with_several",
     "with (a() as b, c(d) as (e, [f, *g])):\n  h = 1\nwith i as j.k, l as m[n]: pass\n"
     "try:\n  pass\nexcept (A, B) as o:\n  pass\nexcept* C as p: pass\n"},
    {"cases",
     "match a:\n  case [b, *c] if d(b):\n    pass\n  case C(e=f) | {'g': f, **h}: i = 1\n"
     "  case j.k | (l as m):\n    pass\n"},
    {"walrus",
     "if (a := b) > 1: c = (d := 2)\nprint(e := 'f := 3', lambda: 1)\n@(g := h)\n"
     "def i(j=(k := 1)): l = (m := 2)\nn = [o for p in q if (r := p)]\nwhile (s := t()): pass\n"},
    {"match", "match x:\n  case 1:\n    a = 1\n  case _:\n    b = 2\nmatch = 3\ncase = match\n"},
    {"assignments",
     "a = 1\nb = c = a\nd, (e, *f) = g\n[h, i] = j\nk: int = 3\nl: int\nm += 1\nn = o.p.q\n"
     "r = None\ns = t = u = None\nv = w = a.b\nx.y = 1\nz[0] = 2\n"},
    {"compared", "a == b\nassert c <= d\ne = f != g\nh = i == j\nk = (l := 3)\nm >>= 2\n"},
    {"lambda", "f = lambda x: x\nlambda y: y\ng = {1: 2}[1]\n"},
    {"semicolons", "import a; b = 1; from c import d\n"},
    {"definitions",
     "def f(a, b=1): return a\nasync def g():\n  import x\n  y = 1\nclass C(B):\n  z = 2\n  def "
     "h(self):\n    pass\n"},
    {"decorated", "@a.b(1)\n@c\ndef f():\n  pass\n@d\nclass C:\n  pass\n"},
    {"annotated_header",
     "def f(a: 'x:y' = {1: 2}, *, b=lambda: 3) -> dict[int, str]:\n  pass\nc = 1\n"},
    {"strings",
     "a = '''x\nimport no\n'''\nb = \"\\\"import no\"\nc = r'\\\\'\nd = 'e' 'f'\nimport g\n"},
    {"formatted", "a = f\"{b!r:{c}} {'d' + f'{e}'} {{\"\nf = f'{g:%H:%M}'\nimport h\n"},
    {"nested_quotes", "a = f\"{b[\"c\"]}\"\nimport d\n"},
    {"comments", "# import no\na = 1  # b = 2\n\n  # odd\nc = (  # d\n  1)\n"},
    {"crlf", "import a\r\nif b:\r\n  c = 1\r\nd = 2\r\n"},
    {"tabs", "if a:\n\tb = 1\n\tif c:\n\t\td = 2\ne = 3\n"},
    {"no_last_newline", "import a\nb = 1"},
    {"form_feed", "import a\n\f\nb = 1\n\fc = 2\n"},
    {"splats_and_brackets", "*a, b = c\n[d, *e] = f\n(g) = h\n"},
    {"type_aliases",
     "type a = int\ntype b[T] = list[T]\nif c: type d = str\ntype = e\ntype (f)\ntype \\\n g = "
     "h\n"},
    {"globals_and_deletes", "def f():\n  global a\n  nonlocal_ = 1\ndel b\n"},
    {"type_statement", "type A = int\ntype = 3\n"},
    {"unicode", "caf\xc3\xa9 = 1\nimport \xc3\xa9\n"},
};
INSTANTIATE_TEST_SUITE_P(Constructs, Outlined, testing::ValuesIn(kRows), RowName());

TEST(Outline, FindsWhatFunctionsImport) {
  auto found = outline("def f():\n  from a.b import c\n  try: from d import e\n  except X: pass\n",
                       "m", false);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->module.inner_imports, (std::set<std::string>{"a.b.c", "d.e"}));
  EXPECT_FALSE(found->module.names.bindings.contains("c"));
}

TEST(Outline, SaysWhereDefinitionsStand) {
  const std::string text =
      "@d\nclass C:\n    x = 1\n\n    async def f(self):\n        return 1  # end\n\n"
      "def g(): pass\n\n# after\n";
  auto found = outline(text, "m", false);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->definitions.size(), 3u);
  const auto& [c, f, g] =
      std::tie(found->definitions[0], found->definitions[1], found->definitions[2]);
  EXPECT_TRUE(c.is_class);
  EXPECT_EQ(text.substr(c.begin, 2), "@d");
  EXPECT_EQ(text.substr(c.header, 5), "class");
  EXPECT_EQ(f.owner, 0u);
  EXPECT_EQ(text.substr(f.header, 9), "async def");
  EXPECT_EQ(text.substr(f.body, f.end - f.body), "return 1");
  EXPECT_EQ(c.end, f.end);
  EXPECT_EQ(g.body, g.end);
}

TEST(Outline, LeavesWhatDoesNotHoldTogether) {
  for (const char* text : {"a = (1\n", "a = 'x\n", "a = 1)\n", "if a:\nb = 1\n",
                           "if a:\n    b = 1\n  c = 2\n", "a = \"\"\"x\n", "f'{a\n'\n"}) {
    EXPECT_FALSE(outline(text, "m", false).has_value()) << text;
  }
}

}  // namespace
}  // namespace refit::python
