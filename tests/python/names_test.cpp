// What names mean: scopes, shadowing, imports in every form, re-exports of a project on disk.
#include <gtest/gtest.h>

#include <deque>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"
#include "tests/rule/scratch_folder.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* source;
  const char* returned;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class OneFile : public testing::TestWithParam<Row> {};

TEST_P(OneFile, GivesTheDump) {
  const Lowered lowered(GetParam().source);
  EXPECT_EQ(lowered.returned(), GetParam().returned);
}

const Row kImports[] = {
    {"module", "import torch\ndef f(a):\n  return torch.rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"alias", "import torch as t\ndef f(a):\n  return t.rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"submodule", "import torch.nn.functional\ndef f(a):\n  return torch.rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"name", "from torch import rsqrt\ndef f(a):\n  return rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"name_alias", "from torch import rsqrt as r\ndef f(a):\n  return r(a)\n", "torch.rsqrt(a, -)"},
    {"star", "from torch import *\ndef f(a):\n  return rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"inside", "def f(a):\n  from torch import rsqrt\n  return rsqrt(a)\n", "torch.rsqrt(a, -)"},
    {"of_the_enclosing",
     "def g():\n  from torch import rsqrt\n  def f(a):\n    return rsqrt(a)\n  return f\n",
     "torch.rsqrt(a, -)"},
    {"under_try",
     "try:\n  from torch import rsqrt\nexcept ImportError:\n  rsqrt = None\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"fallback_in_a_chain",
     "a = rsqrt = b = None\ntry:\n  from torch import rsqrt\nexcept ImportError:\n  pass\ndef "
     "f(a):\n"
     "  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"module_alias", "import torch\nr = torch.rsqrt\ndef f(a):\n  return r(a)\n",
     "torch.rsqrt(a, -)"},
    {"local_alias", "import torch\ndef f(a):\n  r = torch.rsqrt\n  return r(a)\n",
     "torch.rsqrt(a, -)"},
    {"from_two_places",
     "import os\nif os.name:\n  from torch import rsqrt\nelse:\n  from other import rsqrt\n"
     "def f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"unknown_star", "from other import *\ndef f(a):\n  return rsqrt(a)\n", "call ?rsqrt(a)"},
};

const Row kShadowing[] = {
    {"parameter", "from torch import rsqrt\ndef f(a, rsqrt):\n  return rsqrt(a)\n",
     "call rsqrt(a)"},
    {"local", "from torch import rsqrt\ndef f(a, t):\n  rsqrt = t['r']\n  return rsqrt(a)\n",
     "call t[\"r\"](a)"},
    {"local_later", "from torch import rsqrt\ndef f(a):\n  b = rsqrt(a)\n  rsqrt = a\n  return b\n",
     "call ?rsqrt(a)"},
    {"local_in_a_loop",
     "from torch import rsqrt\ndef f(a, x):\n  for rsqrt in x:\n    pass\n  return rsqrt(a)\n",
     "call opaque:after the loop rsqrt(opaque:item(x), opaque:loop rsqrt(x))(a)"},
    {"own_function", "def rsqrt(a):\n  return a\ndef f(a):\n  return rsqrt(a)\n",
     "call m.rsqrt(a)"},
    {"redefined",
     "from torch import rsqrt\ndef rsqrt(a):\n  return a\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"class_scope_is_not_seen",
     "from torch import rsqrt\nclass C:\n  rsqrt = None\n  def f(self, a):\n    return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"global", "import torch\ndef f(a):\n  global torch\n  torch = a\n  return torch.rsqrt(a)\n",
     "call ?torch.rsqrt(a)"},
    {"global_before_a_tab",
     "import torch\ndef g(a):\n  global\ttorch\n  torch = a\ndef f(a):\n  return torch.rsqrt(a)\n",
     "call ?torch.rsqrt(a)"},
    {"global_on_two_lines",
     "import torch\ndef g(a):\n  x = 1; global\\\n    torch\n  torch = a\n"
     "def f(a):\n  return torch.rsqrt(a)\n",
     "call ?torch.rsqrt(a)"},
    {"type_alias", "from torch import rsqrt\ntype rsqrt = int\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"type_alias_inside",
     "from torch import rsqrt\ndef f(a):\n  type rsqrt[T] = T\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"splat_of_the_module",
     "from torch import rsqrt\n*rsqrt, b = c\ndef f(a):\n  return rsqrt(a)\n", "call ?rsqrt(a)"},
    {"with_of_the_module",
     "from torch import rsqrt\nwith open('a') as rsqrt:\n  pass\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"with_of_several",
     "from torch import rsqrt\nwith (open('a') as b, open('b') as (c, rsqrt)):\n  pass\n"
     "def f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"with_merely_reads",
     "from torch import rsqrt\nwith rsqrt(a) as b:\n  pass\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"except_of_the_module",
     "from torch import rsqrt\ntry:\n  pass\nexcept (OSError, ValueError) as rsqrt:\n  pass\n"
     "def f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"walrus_of_the_module",
     "from torch import rsqrt\nif (rsqrt := a) > 1:\n  pass\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"walrus_in_a_block",
     "from torch import rsqrt\nif a:\n  print(rsqrt := a)\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"with_in_a_block",
     "from torch import rsqrt\nif a:\n  with b as rsqrt: pass\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"case_of_the_module",
     "from torch import rsqrt\nmatch a:\n  case [1, *rsqrt]:\n    pass\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"case_of_a_class",
     "from torch import rsqrt\nmatch a:\n  case C(b=rsqrt) | {'a': rsqrt}:\n    pass\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"case_under_a_guard",
     "from torch import rsqrt\nmatch a:\n  case [b] if rsqrt(b):\n    pass\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"with_of_a_part",
     "from torch import rsqrt\nwith open('a') as b[rsqrt(0)]:\n  pass\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"with_of_two",
     "from torch import rsqrt\nwith open('a') as b, rsqrt(b) as c:\n  pass\ndef f(a):\n"
     "  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"case_merely_reads",
     "import torch\nmatch a:\n  case torch.rsqrt:\n    pass\ndef f(a):\n  return torch.rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"comprehension", "from torch import rsqrt\ndef f(x):\n  return [rsqrt(1) for rsqrt in x]\n",
     "opaque:comprehension(x, call opaque:item(x)(1))"},
    {"enclosing_function_hides_the_module",
     "from torch import rsqrt\ndef g(rsqrt):\n  def f(a):\n    return rsqrt(a)\n  return f\n",
     "call ?rsqrt(a)"},
};

INSTANTIATE_TEST_SUITE_P(Imports, OneFile, testing::ValuesIn(kImports), RowName());
INSTANTIATE_TEST_SUITE_P(Shadowing, OneFile, testing::ValuesIn(kShadowing), RowName());

// A project of several files; `main` is lowered.
struct Tree {
  const char* name;
  std::vector<std::pair<std::string, std::string>> files;
  const char* main;
  const char* source;
  const char* returned;
};

void PrintTo(const Tree& tree, std::ostream* out) { *out << tree.name; }

class OverFiles : public testing::TestWithParam<Tree> {};

TEST_P(OverFiles, GivesTheDump) {
  const Tree& tree = GetParam();
  const ScratchFolder folder;
  std::deque<std::string> paths;
  std::vector<python::Project::File> files;
  auto put = [&](std::string_view name, const std::string& text) {
    folder.put(std::string(name), text);
    files.push_back({paths.emplace_back(folder.path(std::string(name))), name});
  };
  for (const auto& [name, text] : tree.files) put(name, text);
  put(tree.main, tree.source);
  const Lowered lowered(tree.source, tree.main, folder.path(), files);
  EXPECT_EQ(lowered.returned(), tree.returned);
}

const Tree kTrees[] = {
    {"other_file",
     {{"ops.py", "from torch import rsqrt\n"}},
     "m.py",
     "from ops import rsqrt\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"renamed_on_the_way",
     {{"ops.py", "from torch import rsqrt as r\n"}},
     "m.py",
     "import ops\ndef f(a):\n  return ops.r(a)\n",
     "torch.rsqrt(a, -)"},
    {"through_a_package",
     {{"p/__init__.py", "from .ops import *\n"}, {"p/ops.py", "from torch import rsqrt\n"}},
     "p/m.py",
     "from . import rsqrt\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"relative_module",
     {{"p/__init__.py", ""}, {"p/ops.py", "from torch import rsqrt as r\n"}},
     "p/q/m.py",
     "from ..ops import r\ndef f(a):\n  return r(a)\n",
     "torch.rsqrt(a, -)"},
    {"own_definition",
     {{"ops.py", "def rsqrt(a):\n  return a\n"}},
     "m.py",
     "from ops import rsqrt\ndef f(a):\n  return rsqrt(a)\n",
     "call ops.rsqrt(a)"},
    {"import_in_a_circle",
     {{"a.py", "from b import x\n"}, {"b.py", "from a import x\n"}},
     "m.py",
     "from a import x\ndef f(a):\n  return x(a)\n",
     "call ?x(a)"},
    {"star_of_a_compiled_module",
     {{"p/__init__.py", "from . import c\nfrom .c import *\n"}},
     "m.py",
     "from p import x\ndef f(a):\n  return x(a)\n",
     "call p.x(a)"},
    {"module_that_is_not_there",
     {{"p/__init__.py", "from .version import version\n"}},
     "m.py",
     "import p\ndef f(a):\n  return p.version(a)\n",
     "call p.version(a)"},
    {"names_that_grow",
     {{"a/__init__.py", "from b.x import x\n"}, {"b/__init__.py", "from a.x import x\n"}},
     "m.py",
     "from a import x\ndef f(a):\n  return x(a)\n",
     "call ?x(a)"},
    {"stars_of_one_meaning",
     {{"a.py", "from torch import rsqrt\n"}, {"b.py", "import torch\nfrom a import *\n"}},
     "m.py",
     "from a import *\nfrom b import *\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"stars_of_two_meanings",
     {{"a.py", "from torch import rsqrt\n"}, {"b.py", "def rsqrt(a):\n  return a\n"}},
     "m.py",
     "from a import *\nfrom b import *\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"stars_in_a_circle",
     {{"a.py", "from torch import rsqrt\nfrom b import *\n"}, {"b.py", "from a import *\n"}},
     "m.py",
     "from b import *\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"global_elsewhere",
     {{"a.py", "from torch import rsqrt\ndef g():\n  global x, rsqrt\n  rsqrt = x\n"}},
     "m.py",
     "from a import rsqrt\ndef f(a):\n  return rsqrt(a)\n",
     "call ?rsqrt(a)"},
    {"global_in_prose",
     {{"a.py", "\"\"\"The\nglobal inverse rsqrt.\n\"\"\"\nfrom torch import rsqrt\n"}},
     "m.py",
     "from a import rsqrt\ndef f(a):\n  return rsqrt(a)\n",
     "torch.rsqrt(a, -)"},
    {"own_module_named_like_the_library",
     {{"torch/__init__.py", "def rsqrt(a):\n  return a\n"}},
     "m.py",
     "import torch\ndef f(a):\n  return torch.rsqrt(a)\n",
     "call ?rsqrt(a)"},
};

// Each asks in two ways what the next one gives; followed to the end that would double 60 times.
TEST(OverManyFiles, ChainsOfStarsEnd) {
  const ScratchFolder folder;
  std::deque<std::string> paths, names;
  std::vector<python::Project::File> files;
  auto put = [&](const std::string& name, const std::string& text) {
    folder.put(name, text);
    files.push_back({paths.emplace_back(folder.path(name)), names.emplace_back(name)});
  };
  constexpr int kModules = 60;
  for (int i = 0; i < kModules; ++i) {
    const std::string next = "m" + std::to_string(i + 1);
    put("m" + std::to_string(i) + ".py",
        "from " + next + " import *\nfrom " + next + " import x\n");
  }
  put("m" + std::to_string(kModules) + ".py", "from torch import rsqrt as x\n");
  const char* source = "from m0 import x\ndef f(a):\n  return x(a)\n";
  put("main.py", source);
  EXPECT_EQ(Lowered(source, "main.py", folder.path(), files).returned(), "call ?x(a)");
}

INSTANTIATE_TEST_SUITE_P(Projects, OverFiles, testing::ValuesIn(kTrees), RowName());

}  // namespace
}  // namespace refit
