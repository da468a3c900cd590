// Names of modules that files give another meaning from outside, read from their text.
#include "rewriter/frontend/python/replaced.hpp"

#include <gtest/gtest.h>

#include <string>

#include "rewriter/frontend/python/stores.hpp"
#include "tests/frontend/row_name.hpp"

namespace refit::python {
namespace {

struct Row {
  const char* name;
  std::string text;
  bool imported, defined;  // whether `F` of the module pkg.attention may be another, both ways
  bool test = false;
};

class Replaced : public testing::TestWithParam<Row> {};

TEST_P(Replaced, NameOfAModule) {
  OutsideStores stores;
  stores.add(0, text_notes(GetParam().text, GetParam().test));
  const ReplacedNames& replaced = stores.replaced();
  EXPECT_EQ(replaced.of_module("pkg.attention", "F", true) != nullptr, GetParam().imported);
  EXPECT_EQ(replaced.of_module("pkg.attention", "F", false) != nullptr, GetParam().defined);
}

const Row kRows[] = {
    {"assigned", "import attention\nattention.F = x\n", true, true},
    {"under_an_alias", "from pkg import attention as a\na.F = x\n", true, true},
    {"in_a_package", "import pkg\npkg.attention.F = x\n", true, true},
    {"in_a_tuple", "import attention\nattention.F, b = x\n", true, true},
    {"of_another_module", "import rotary\nrotary.F = x\n", false, false},
    {"of_what_is_not_known", "def f(m):\n    m.F = x\n", true, false},
    {"of_some_module", "for module in modules:\n    module.F = x\n", true, true},
    {"own", "self.F = x\nself.attention.F = x\n", false, false},
    {"read", "import attention\nif attention.F == x: pass\n", false, false},
    {"an_argument", "import attention\nf(\n    attention.F, b=x)\n", false, false},
    {"an_annotation", "import attention\ny: attention.F = x\n", false, false},
    {"by_text", "setattr(attention, 'F', x)\n", true, true},
    {"by_name_of_module", "import sys\nsys.modules['attention'].F = x\n", true, true},
    {"by_its_table", "import attention\nattention.__dict__['F'] = x\n", true, true},
    {"by_its_table_at_once", "import attention\nattention.__dict__.update(x)\n", true, true},
    {"by_a_computed_name", "import attention\nsetattr(attention, name, x)\n", true, true},
    {"by_a_computed_name_of_an_object", "def f(attention):\n    setattr(attention, name, x)\n",
     false, false},
    {"behind_another_statement", "import attention\ny = 1; attention.F = x\n", true, true},
    {"in_a_comment", "import attention\n# setattr(attention, 'F', x)\n", false, false},
    {"by_vars", "import attention\nvars(attention)['F'] = x\n", true, true},
    {"by_its_own_method", "import attention\nattention.__setattr__('F', x)\n", true, true},
    {"by_its_own_method_computed", "import attention\nattention.__setattr__(n, x)\n", true, true},
    {"by_the_method_of_object", "import attention\nobject.__setattr__(attention, 'F', x)\n", true,
     true},
    {"by_a_context", "import attention\nwith x as attention.F:\n    pass\n", true, true},
    {"by_several_contexts", "import attention\nwith x as (y, attention.F), z:\n    pass\n", true,
     true},
    {"in_prose", "import attention\n'''such as attention.F, which'''\n", false, false},
    {"by_a_loop", "import attention\nfor attention.F in x:\n    pass\n", true, true},
    {"by_a_loop_over_pairs", "import attention\nfor i, attention.F in x:\n    pass\n", true, true},
    {"by_a_loop_in_one_line", "import attention\nfor attention.F in x: pass  # of it\n", true,
     true},
    {"by_a_context_behind_a_slice", "import attention\nwith f(a.b[1:]) as attention.F:\n    pass\n",
     true, true},
    {"by_a_loop_that_waits", "import attention\nasync for attention.F in x:\n    pass\n", true,
     true},
    {"with_an_operator", "import attention\nattention.F |= x\n", true, true},
    {"with_a_shift", "import attention\nattention.F >>= x\n", true, true},
    {"compared", "import attention\ny = attention.F <= x\n", false, false},
    {"looped_over", "import attention\nfor i in attention.F:\n    pass\n", false, false},
    {"in_a_chain", "import attention\ny = attention.F = x\n", true, true},
    {"with_others", "import attention\n*attention.F, y = x\n", true, true},
    {"over_lines", "import attention\n(\n    attention.F,\n    y,\n) = x\n", true, true},
    {"over_lines_joined", "import attention\nattention \\\n    .F = x\n", true, true},
    {"of_an_expression", "import attention\n(attention if a else b).F = x\n", true, false},
    {"of_a_name_behind_an_import", "import attention; m = attention; m.F = x\n", true, false},
    {"by_a_name_of_its_table", "import attention\nd = vars(attention)\nd['F'] = x\n", true, true},
    {"by_its_joined_table", "import attention\nattention.__dict__ |= x\n", true, true},
    {"by_default_in_its_table", "import attention\nattention.__dict__.setdefault('F', x)\n", true,
     true},
    {"an_entry_of_its_table_called", "import attention\ny = attention.__dict__[a['n'][0]](x)\n",
     false, false},
    {"an_entry_of_its_table_given", "import attention\nattention.__dict__[n] = f(x)\n", true, true},
    {"an_entry_of_its_table_removed", "import attention\ndel vars(attention)['F']\n", true, true},
    {"an_attribute_of_an_entry", "import attention\nattention.__dict__['F'].f = g(x)\n", true,
     true},
    {"its_table_read", "import attention\nd = dict(vars(attention))\n", false, false},
    {"patched", "with patch('pkg.attention.F', x): pass\n", true, true},
    {"patched_object", "import attention\nwith patch.object(attention, 'F'): pass\n", true, true},
    {"patched_in_a_test", "with patch('pkg.attention.F', x): pass\n", false, false, true},
    {"in_a_test", "import attention\nmonkeypatch.setattr(attention, 'F', x)\n", false, false, true},
};

INSTANTIATE_TEST_SUITE_P(Frontend, Replaced, testing::ValuesIn(kRows), RowName());

TEST(ReplacedLibrary, OperationsAndTheModulesThatTheyAreIn) {
  OutsideStores stores;
  auto add = [&](const char* text) { stores.add(0, text_notes(text, false)); };
  add("import torch\nimport torch.nn.functional as F\nF.gelu = mine\ntorch.Tensor.chunk = x\n");
  add("import sys\nsys.modules['flash_attn'] = mine\n");
  const ReplacedNames& replaced = stores.replaced();
  EXPECT_NE(replaced.of_library("torch.nn.functional.gelu"), nullptr);
  EXPECT_NE(replaced.of_library("Tensor.chunk"), nullptr);
  EXPECT_NE(replaced.of_library("flash_attn.flash_attn_func"), nullptr);
  EXPECT_EQ(replaced.of_library("torch.nn.functional.silu"), nullptr);
  EXPECT_EQ(replaced.of_library("torch.chunk"), nullptr);
}

struct TableRow {
  const char* name;
  std::string text;
  bool replaced;  // whether the module pkg.helpers is
};

class Table : public testing::TestWithParam<TableRow> {};

TEST_P(Table, OfModules) {
  OutsideStores stores;
  stores.add(0, text_notes(GetParam().text, false));
  EXPECT_EQ(stores.replaced().of_whole("pkg.helpers") != nullptr, GetParam().replaced);
}

const TableRow kTableRows[] = {
    {"assigned", "import sys\nsys.modules['pkg.helpers'] = x\n", true},
    {"with_blanks", "import sys\nsys . modules [ 'pkg.helpers' ] = x\n", true},
    {"in_a_tuple", "import sys\nsys.modules['pkg.helpers'], y = x, 1\n", true},
    {"as_target_of_a_loop", "import sys\nfor sys.modules['pkg.helpers'] in x: pass\n", true},
    {"from_sys", "from sys import modules\nmodules['pkg.helpers'] = x\n", true},
    {"from_sys_renamed", "from sys import modules as ms\nms['pkg.helpers'] = x\n", true},
    {"of_no_sys", "from pkg import modules\nmodules['pkg.helpers'] = x\n", false},
    {"sys_renamed", "import sys as s\ns.modules['pkg.helpers'] = x\n", true},
    {"of_another", "import s\ns.modules['pkg.helpers'] = x\n", false},
    {"by_another_name", "import sys\nm = sys.modules\nm['pkg.helpers'] = x\n", true},
    {"updated", "import sys\nsys.modules.update({'pkg.helpers': x})\n", true},
    {"updated_by_another", "import sys\nsys.modules.update({'pkg.others': x})\n", false},
    {"joined", "import sys\nsys.modules |= {'pkg.helpers': x}\n", true},
    {"set_by_default", "import sys\nsys.modules.setdefault('pkg.helpers', 'x')\n", true},
    {"set_to_its_name", "import sys\nsys.modules.setdefault('x', 'pkg.helpers')\n", false},
    {"set_by_method", "import sys\nsys.modules.__setitem__('pkg.helpers', x)\n", true},
    {"patched", "patch.dict(sys.modules, {'pkg.helpers': x}).start()\n", true},
    {"patched_by_name", "patch.dict('sys.modules', {'pkg.helpers': x}).start()\n", true},
    {"below_its_package", "import sys\nsys.modules[f'{__package__}.helpers'] = x\n", true},
    {"by_a_computed_name", "import sys\nsys.modules[name] = x\n", false},
    {"read", "import sys\ny = sys.modules['pkg.helpers']\n", false},
    {"compared", "import sys\nif sys.modules['pkg.helpers'] == x: pass\n", false},
    {"an_argument", "import sys\nf(sys.modules['pkg.helpers'], b=x)\n", false},
    {"deleted", "import sys\ndel sys.modules['pkg.helpers']\n", false},
    {"in_a_comment", "import sys\n# sys.modules['pkg.helpers'] = x\n", false},
};

INSTANTIATE_TEST_SUITE_P(Frontend, Table, testing::ValuesIn(kTableRows), RowName());

TEST(Table, ModulesThatReplaceThemselves) {
  OutsideStores stores;
  stores.add(0, text_notes("import sys\nsys.modules[__name__] = Lazy(__name__, x)\n", false));
  stores.add(1, text_notes("import sys\nsys.modules[__name__] = Mine()\n", false));
  const ReplacedNames& replaced = stores.replaced();
  EXPECT_EQ(replaced.by_itself(0, true), nullptr);
  EXPECT_NE(replaced.by_itself(0, false), nullptr);
  EXPECT_NE(replaced.by_itself(1, true), nullptr);
  EXPECT_EQ(replaced.by_itself(2, false), nullptr);
}

TEST(TestFile, ByItsNameOrItsFolder) {
  for (const char* file :
       {"test_a.py", "a/b_test.py", "conftest.py", "tests/a.py", "a/test/b.py"}) {
    EXPECT_TRUE(test_file(file)) << file;
  }
  for (const char* file : {"a.py", "contest.py", "latest.py", "tested/a.py"}) {
    EXPECT_FALSE(test_file(file)) << file;
  }
}

// Texts are read a block of bytes at a time.
TEST(ReplacedAnywhere, WhereverAStoreStands) {
  for (std::string store :
       {"attention.F = x\n", "(\n    attention.F,\n) = x\n", "for attention.F in x:\n    pass\n"}) {
    for (size_t before = 0; before < 130; ++before) {
      OutsideStores stores;
      stores.add(0, text_notes("import attention\n#" + std::string(before, '-') + "\n" + store +
                                   std::string(64, '\n'),
                               false));
      EXPECT_NE(stores.replaced().of_module("pkg.attention", "F", true), nullptr)
          << store << " behind " << before;
    }
  }
}

}  // namespace
}  // namespace refit::python
