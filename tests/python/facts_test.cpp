// What the trees of files say of attributes, classes, TorchScript and the names of modules.
#include "rewriter/python/names/facts.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/python/indexed.hpp"
#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

struct Row {
  const char* name;
  std::string text;
  bool expected;
};

// The attribute `norm` of an object that is not the file's own.
class Stored : public testing::TestWithParam<Row> {};

TEST_P(Stored, FromOutside) {
  const std::vector<std::string> files{GetParam().text};
  EXPECT_EQ(indexed(files)->stored("norm").has_value(), GetParam().expected) << GetParam().text;
}

const Row kStored[] = {
    {"assigned", "model.attn.norm = Other()\n", true},
    {"annotated", "attn.norm: nn.Module = Other()\n", true},
    {"of_an_element", "model.layers[i].norm = Other()\n", true},
    {"of_a_call", "model.get_submodule('a').norm = Other()\n", true},
    {"in_a_tuple", "a.norm, b.other = One(), Two()\n", true},
    {"in_parentheses", "(a.other, b.norm) = One(), Two()\n", true},
    {"over_lines", "(\n    a.other,\n    b.norm,\n) = One(), Two()\n", true},
    {"of_an_own_part", "self.attn.norm = Other()\n", true},
    {"own", "self.norm = Other()\n", false},
    {"own_in_a_tuple", "self.norm, self.other = One(), Two()\n", false},
    {"compared", "if attn.norm == None or attn.norm != other: pass\n", false},
    {"read", "x = attn.norm\nf(norm=attn.norm, y=1)\n", false},
    {"another", "attn.norm_k = Other()\n", false},
    {"in_prose", "'''attn.norm = Other()'''\n", false},
    {"by_text", "setattr(\n    attn,\n    'norm',\n    Other())\n", true},
    {"by_text_of_the_object", "attn.__setattr__('norm', Other())\n", true},
    {"by_text_of_an_object", "object.__setattr__(attn, 'norm', Other())\n", true},
    {"by_text_own", "setattr(self, 'norm', Other())\n", false},
    {"added", "attn.add_module(\"norm\", Other())\n", true},
    {"added_own", "self.add_module(\"norm\", Other())\n", false},
    {"in_the_table", "attn._modules['norm'] = Other()\n", true},
    {"hooked", "attn.norm.register_forward_hook(hook)\n", true},
    {"forward", "attn.norm.forward = other\n", true},
};

INSTANTIATE_TEST_SUITE_P(Facts, Stored, testing::ValuesIn(kStored), RowName());

TEST(Exchanged, ClassesThatAreSearchedWhereNamesAreComputed) {
  const std::vector<std::string> files{
      "if isinstance(child, (nn.LayerNorm,\n    RMSNorm)):\n    setattr(parent, name, new)\n",
      "if type(child) is Linear: setattr(parent, 'conv', new)\n",
      "TABLE = {nn.Conv: Other}\nparent._modules[name] = TABLE[type(child)]()\n",
      "if type(child) is Own: setattr(self, name, new)\n",
      "def f():\n  if type(child) == m.Named:\n    parent.add_module(f'{name}', new)\n"};
  const auto index = indexed(files);
  for (const char* name : {"LayerNorm", "RMSNorm", "Conv", "Named"}) {
    EXPECT_TRUE(index->exchanged(name)) << name;
  }
  for (const char* name : {"Linear", "Own", "Other"}) EXPECT_FALSE(index->exchanged(name)) << name;
}

std::set<std::string> subclasses(const std::vector<std::string>& files, const char* name,
                                 uint32_t file) {
  const auto index = indexed(files);
  std::set<std::string> out;
  for (const auto& subclass : index->subclasses(name, file)) out.insert(subclass.fact->name);
  return out;
}

TEST(Subclasses, HeadersAreReadHoweverTheyAreWritten) {
  const std::vector<std::string> files{
      "class Block:\n    pass\n",
      "from a import Block as Base\n"
      "class One(Base): pass\n"
      "class Two(\n    nn.Module,  # (not this\n    Base,\n    metaclass=Meta,\n):\n    pass\n"
      "if True:\n    class Three(other.Block[int]):\n        pass\n"
      "class Four(One):\n    pass\n"
      "class Five[T](Block):\n    pass\n"
      "class Blocks(Blocked):\n    pass\n"
      "text = 'subclass Six(Block)'\n"};
  EXPECT_EQ(subclasses(files, "Block", 0),
            (std::set<std::string>{"One", "Two", "Three", "Four", "Five"}));
  EXPECT_EQ(subclasses(files, "Blocked", 0), std::set<std::string>{"Blocks"});
  EXPECT_EQ(subclasses(files, "Meta", 0), std::set<std::string>{});
}

TEST(Subclasses, ABaseThatTheFileDefinesIsThatOne) {
  const std::vector<std::string> files{"class Norm:\n    pass\nclass Own(Norm):\n    pass\n",
                                       "class Norm:\n    pass\nclass Other(Norm):\n    pass\n",
                                       "class Far(Norm):\n    pass\n"};
  EXPECT_EQ(subclasses(files, "Norm", 0), (std::set<std::string>{"Own", "Far"}));
  EXPECT_EQ(subclasses(files, "Norm", 1), (std::set<std::string>{"Other", "Far"}));
}

// Whether a class with that body gives its objects `norm`.
class GivesItsObjects : public testing::TestWithParam<Row> {};

TEST_P(GivesItsObjects, AnAttribute) {
  const FileFacts facts = facts_of("class A(B):\n  " + GetParam().text + "\n");
  EXPECT_EQ(holds(facts.classes.at(0).stores, hash_of("norm")), GetParam().expected);
}

const Row kGiven[] = {
    {"assigned", "def f(self):\n    self.norm = f()", true},
    {"annotated", "def f(self):\n    self.norm: Module = f()", true},
    {"second", "def f(self):\n    self.q, self.norm = f(), g()", true},
    {"first", "def f(self):\n    self.norm, self.q = f(), g()", true},
    {"deleted", "def f(self):\n    del self.norm", true},
    {"in_the_body", "norm = f()", true},
    {"declared", "norm: Module", true},
    {"method", "def norm(self): pass", true},
    {"decorated", "@property\n  def norm(self): pass", true},
    {"by_text", "def f(self):\n    setattr(self, \"norm\", f())", true},
    {"added", "def f(self):\n    self.add_module('norm', f())", true},
    {"a_buffer", "def f(self):\n    self.register_buffer('norm', f())", true},
    {"read", "def f(self):\n    x = self.norm(x)", false},
    {"compared", "def f(self):\n    if self.norm == x: pass", false},
    {"longer", "def f(self):\n    self.norm1 = f()", false},
    {"behind_another_word", "def f(self):\n    self.pre_norm = f()", false},
    {"an_argument", "def f(self):\n    x = f(self.norm, y=1)", false},
    {"in_quotes", "def f(self):\n    names = [\"norm\"]", false},
    {"a_local_name", "def f(self):\n    norm = f()", false},
    {"of_a_class_inside", "class C:\n    norm = f()", false},
};

INSTANTIATE_TEST_SUITE_P(Facts, GivesItsObjects, testing::ValuesIn(kGiven), RowName());

TEST(Asked, ByQuestionsAndTables) {
  const std::vector<std::string> files{
      "from m import Norm as N\n"
      "class Own: pass\n"
      "a = isinstance(x, N), isinstance(x, (nn.Linear, Own))\n"
      "b = issubclass(\n    type(x),\n    Conv,\n)\n",
      "from t import Keyed, Other as O\n"
      "class Owned:\n  pass\n"
      "maps = {\"transformers.models.q.Dotted\": 1, Keyed: 2,\n  O: 3, Owned: 4, t.Last : 5}\n"
      "def f(a, b: Annotated, c=\"Word\"):\n  return 'a.b.lower', x[1:Part]\n"};
  const auto index = indexed(files);
  for (const char* name : {"Norm", "Linear", "Conv", "Dotted", "Keyed", "Other", "Last"}) {
    EXPECT_TRUE(index->asked(name)) << name;
  }
  for (const char* name : {"Own", "x", "N", "Owned", "Annotated", "Word", "lower", "Part"}) {
    EXPECT_FALSE(index->asked(name)) << name;
  }
}

// Whether TorchScript compiles `gelu`.
class Scripted : public testing::TestWithParam<Row> {};

TEST_P(Scripted, ByItsName) {
  const std::vector<std::string> files{GetParam().text};
  EXPECT_EQ(indexed(files)->scripted("gelu"), GetParam().expected) << GetParam().text;
}

const Row kScripted[] = {
    {"by_name", "import torch\ngelu = torch.jit.script(gelu)\n", true},
    {"under_another_name", "fast = torch.jit.script( gelu )\n", true},
    {"of_a_module", "from torch import jit\nfast = jit.script(ops.gelu)\n", true},
    {"of_a_renamed_module", "import torch.jit as j\nfast = j.script(gelu)\n", true},
    {"by_keyword", "fast = torch.jit.script(obj=gelu)\n", true},
    {"imported", "from torch.jit import script\nfast = script(gelu)\n", true},
    {"while_tracing", "fast = torch.jit.script_if_tracing(gelu)\n", true},
    {"an_object", "model = torch.jit.script(gelu(8).eval())\n", true},
    {"called_by_one", "@torch.jit.script\ndef f(x):\n    y = x\n\n    return gelu(y)\n", true},
    {"called_by_one_that_is_called",
     "def g(x):\n    return gelu(x)\n\n\ndef f(x):\n    return g(x)\n\n\nh = torch.jit.script(f)\n",
     true},
    {"on_several_lines", "@torch.jit.script\ndef f(\n    x,\n):\n    return gelu(x)\n", true},
    {"decorated_by_an_import",
     "from torch.jit import script\n@script\ndef f(x):\n    return gelu(x)\n", true},
    {"called_behind_one", "@torch.jit.script\ndef f(x):\n    return x\n\n\ndef g(x):\n  gelu(x)\n",
     false},
    {"of_a_library", "@torch.jit.script\ndef f(x):\n    return F.gelu(x)\n", false},
    {"another", "fast = torch.jit.script(silu)\n", false},
    {"another_script", "import torch.jit\nself.script(gelu)\nscript = 1\n", false},
    {"no_torch", "script(gelu)\n", false},
    {"asked", "if torch.jit.is_scripting():\n    gelu(x)\n", false},
    {"cut_off", "import torch.jit\nx = torch.jit.script(", false},
    {"cut_off_in_a_name", "@torch.jit.script\ndef f(x", false},
};

INSTANTIATE_TEST_SUITE_P(Facts, Scripted, testing::ValuesIn(kScripted), RowName());

TEST(Compilers, NamesAndFunctionsAroundTheCompiler) {
  const std::vector<std::string> files{
      "fuser = torch.jit.script\n"
      "def make(f):\n  if fast:\n    return torch.jit.script(f)\n  return f\n"
      "def other(f): return f\n"};
  const auto index = indexed(files);
  EXPECT_TRUE(index->compiler("fuser"));
  EXPECT_TRUE(index->compiler("make"));
  EXPECT_FALSE(index->compiler("other"));
}

TEST(ScriptedInATest, DoesNotCount) {
  EXPECT_TRUE(facts_of("gelu = torch.jit.script(gelu)\n", true).scripted.empty());
}

// Whether `F` of a module `m` is read.
class Reads : public testing::TestWithParam<Row> {};

TEST_P(Reads, OfAModule) {
  const FileFacts facts = facts_of(GetParam().text);
  EXPECT_EQ(holds(facts.reads, read_of("m", "F")) || holds(facts.reads, read_of("", "F")),
            GetParam().expected)
      << GetParam().text;
}

const Row kReads[] = {
    {"imported", "import m\nm.F.gelu(x)\n", true},
    {"through_a_package", "import pkg\npkg.m.F.gelu(x)\n", true},
    {"under_another_name", "from pkg import m as n\nn.F\n", true},
    {"over_lines", "import m\nm \\\n . F\n", true},
    {"found", "import_module('pkg.m').F\n", true},
    {"looked_up", "import m\ngetattr(m, 'F')\n", true},
    {"held", "import sys\nheld = sys.modules['m']\nheld.F\n", true},
    {"held_among_others", "held = [n, m][-1]\nheld.F\n", true},
    {"of_another", "import m, other\nother.F\n", false},
    {"another", "import m\n# m.F\nm.G\n", false},
    {"longer_names", "import m, mm\nm.Form, mm.F\n{'Form': 1}\n", false},
    {"in_quotes", "import m\nvars(m)['F']\n", true},
    {"with_its_module_in_quotes", "setattr('pkg.m.F', x)\n", true},
    {"of_an_expression", "import m\n[m][0].F\n", true},
    {"of_a_part", "import m\nself.m.F\n", true},
    {"own", "self.F\n", false},
};

INSTANTIATE_TEST_SUITE_P(Facts, Reads, testing::ValuesIn(kReads), RowName());

}  // namespace
}  // namespace refit::python
