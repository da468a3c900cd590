// What the index of names answers over small sets of files, and that the words by which it chooses
// files miss none of a name that a file's tree patches.
#include "rewriter/python/names/index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

FileFacts facts_of(const std::string& text, bool test = false) {
  return file_facts(Tree(text).root(), text, "pkg.helpers", false, test);
}

std::unique_ptr<NamesIndex> index_of(const std::vector<std::string>& files, bool test = false) {
  auto index = std::make_unique<NamesIndex>(
      files.size(), [&files, test](uint32_t file) { return facts_of(files[file], test); });
  for (uint32_t file = 0; file < files.size(); ++file) {
    index->note(file, files[file], "pkg.helpers");
  }
  return index;
}

struct Row {
  const char* name;
  std::string text;
  bool imported, defined;  // whether `F` of the module pkg.attention is patched, both ways
  bool test = false;
};

class Patched : public testing::TestWithParam<Row> {};

TEST_P(Patched, NameOfAModule) {
  const std::vector<std::string> files{"x = 1\n", GetParam().text};
  const auto at = [&](bool imported) {
    return index_of(files, GetParam().test)->patched("pkg.attention", "F", imported);
  };
  EXPECT_EQ(at(true).has_value(), GetParam().imported) << GetParam().text;
  EXPECT_EQ(at(false).has_value(), GetParam().defined) << GetParam().text;
  if (at(true)) {
    EXPECT_EQ(at(true)->file, 1u);
  }
}

const Row kRows[] = {
    {"assigned", "import attention\nattention.F = x\n", true, true},
    {"assigned_twice", "import attention\na = attention.F = x\n", true, true},
    {"among_several", "import attention\na, attention.F = x, y\n", true, true},
    {"in_a_tuple", "import attention\n(attention.F, b) = x, y\n", true, true},
    {"changed", "import attention\nattention.F += x\n", true, true},
    {"beside_a_case_with_a_name",
     "import attention\nmatch x:\n  case [1, 2] as y:\n    attention.F = y\n", true, true},
    {"by_for", "import attention\nfor attention.F in x: pass\n", true, true},
    {"by_with", "import attention\nwith x as attention.F: pass\n", true, true},
    {"under_an_alias", "from pkg import attention as a\na.F = x\n", true, true},
    {"relative", "from . import attention as a\na.F = x\n", true, true},
    {"in_a_package", "import pkg\npkg.attention.F = x\n", true, true},
    {"imported_behind", "def f():\n    a.F = x\nimport attention as a\n", true, true},
    {"of_another_module", "import rotary\nrotary.F = x\n", false, false},
    {"of_what_is_not_known", "def f(m):\n    m.F = x\n", true, false},
    {"of_some_module", "for module in modules:\n    module.F = x\n", true, true},
    {"own", "self.F = x\nself.attention.F = x\n", false, false},
    {"read", "import attention\nif attention.F == x: pass\n", false, false},
    {"an_argument", "import attention\nf(\n    attention.F, b=x)\n", false, false},
    {"an_annotation", "import attention\ny: attention.F = x\n", false, false},
    {"by_text", "import attention\nsetattr(attention, 'F', x)\n", true, true},
    {"by_name_of_module", "import sys\nsys.modules['attention'].F = x\n", true, true},
    {"by_import_module", "import_module('pkg.attention').F = x\n", true, true},
    {"of_a_computed_module", "import_module(name).F = x\n", true, true},
    {"by_its_table", "import attention\nattention.__dict__['F'] = x\n", true, true},
    {"by_vars", "import attention\nvars(attention)['F'] = x\n", true, true},
    {"by_a_computed_name", "import attention\nsetattr(attention, name, x)\n", false, false},
    {"by_a_computed_entry", "import attention\nattention.__dict__[name] = x\n", false, false},
    {"behind_another_statement", "import attention\ny = 1; attention.F = x\n", true, true},
    {"in_a_comment", "import attention\n# setattr(attention, 'F', x)\n", false, false},
    {"in_prose", "import attention\n'''such as attention.F = x'''\n", false, false},
    {"in_a_chain", "import attention\ny = attention.F = x\n", true, true},
    {"over_lines_joined", "import attention\nattention \\\n    .F \\\n  = x\n", true, true},
    {"compared", "import attention\ny = attention.F <= x\n", false, false},
    {"of_an_expression", "import attention\n(attention if a else b).F = x\n", true, false},
    {"of_a_local_name", "import attention; m = attention; m.F = x\n", true, false},
    {"patched", "with patch('pkg.attention.F', x): pass\n", true, true},
    {"patched_as_decorator", "@mock.patch(\"pkg.attention.F\")\ndef f(): pass\n", true, true},
    {"patched_object", "import attention\nwith patch.object(attention, 'F'): pass\n", true, true},
    {"patched_in_a_test", "with patch('pkg.attention.F', x): pass\n", false, false, true},
    {"in_a_test", "import attention\nmonkeypatch.setattr(attention, 'F', x)\n", false, false, true},
};

INSTANTIATE_TEST_SUITE_P(Names, Patched, testing::ValuesIn(kRows), RowName());

TEST(PatchedOutside, OperationsAndTheModulesThatTheyAreIn) {
  const std::vector<std::string> files{
      "import torch\nimport torch.nn.functional as F\nF.gelu = mine\ntorch.Tensor.chunk = x\n",
      "import sys\nsys.modules['flash_attn'] = mine\n"};
  const auto index = index_of(files);
  EXPECT_TRUE(index->patched_outside("torch.nn.functional.gelu"));
  EXPECT_TRUE(index->patched_outside("Tensor.chunk"));
  EXPECT_TRUE(index->patched_outside("flash_attn.flash_attn_func"));
  EXPECT_FALSE(index->patched_outside("torch.nn.functional.silu"));
  EXPECT_FALSE(index->patched_outside("torch.chunk"));
  EXPECT_EQ(index->patched_outside("torch.nn.functional.gelu")->line, 3u);
}

struct TableRow {
  const char* name;
  std::string text;
  bool replaced;  // whether the module pkg.helpers is
};

class Table : public testing::TestWithParam<TableRow> {};

TEST_P(Table, OfModules) {
  const std::vector<std::string> files{GetParam().text};
  EXPECT_EQ(index_of(files)->replaced("pkg.helpers").has_value(), GetParam().replaced);
}

const TableRow kTableRows[] = {
    {"assigned", "import sys\nsys.modules['pkg.helpers'] = x\n", true},
    {"with_blanks", "import sys\nsys . modules [ 'pkg.helpers' ] = x\n", true},
    {"from_sys", "from sys import modules\nmodules['pkg.helpers'] = x\n", true},
    {"from_sys_renamed", "from sys import modules as ms\nms['pkg.helpers'] = x\n", true},
    {"of_no_sys", "from pkg import modules\nmodules['pkg.helpers'] = x\n", false},
    {"sys_renamed", "import sys as s\ns.modules['pkg.helpers'] = x\n", true},
    {"of_another", "import s\ns.modules['pkg.helpers'] = x\n", false},
    {"of_another_module", "import sys\nsys.modules['other.helpers'] = x\n", false},
    {"by_a_computed_name", "import sys\nsys.modules[name] = x\n", false},
    {"by_itself", "import sys\nsys.modules[__name__] = Mine()\n", true},
    {"by_what_loads_it", "import sys\nsys.modules[__name__] = Lazy(__name__)\n", false},
    {"read", "import sys\ny = sys.modules['pkg.helpers']\n", false},
    {"compared", "import sys\nif sys.modules['pkg.helpers'] == x: pass\n", false},
    {"an_argument", "import sys\nf(sys.modules['pkg.helpers'], b=x)\n", false},
    {"deleted", "import sys\ndel sys.modules['pkg.helpers']\n", false},
    {"in_a_comment", "import sys\n# sys.modules['pkg.helpers'] = x\n", false},
};

INSTANTIATE_TEST_SUITE_P(Names, Table, testing::ValuesIn(kTableRows), RowName());

void expect_no_name_missed(const std::string& text, const std::string& what) {
  const std::vector<PatchedWord> words = patched_words(text, "pkg.helpers");
  ASSERT_TRUE(std::is_sorted(words.begin(), words.end()));
  for (const Patch& patch : facts_of(text).patches) {
    const std::string_view name =
        patch.name.empty() ? last_name(patch.owner) : std::string_view(patch.name);
    const auto holds = [&](uint32_t owner) {
      return std::any_of(words.begin(), words.end(), [&](const PatchedWord& word) {
        return word.name == patch_hash(name) && word.owner == owner;
      });
    };
    const auto quoted = [&](const PatchedWord& word) {
      return word.quoted && word.name == patch_hash(name);
    };
    EXPECT_TRUE(patch.name.empty() ? std::any_of(words.begin(), words.end(), quoted)
                                   : holds(0) || holds(patch_hash(last_name(patch.owner))))
        << what << ": " << patch.owner << "." << patch.name << " in line " << patch.line;
  }
}

TEST(PatchedWords, MissNoNameThatATreeHolds) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(REFIT_CORPUS_DIR)) {
    if (entry.path().extension() != ".py") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    expect_no_name_missed(bytes.str(), entry.path().string());
    ++files;
  }
  EXPECT_GT(files, 500u);
  for (const Row& row : kRows) expect_no_name_missed(row.text, row.name);
  for (const TableRow& row : kTableRows) expect_no_name_missed(row.text, row.name);
}

TEST(PatchedWords, PassOverAnnotations) {
  for (const char* text : {"def f(\n    x: str | torch.device = None,\n): pass\n",
                           "x: torch.Tensor = 1\n", "def f(a, x: torch.Tensor = None): pass\n",
                           "class A:\n    x: Dict[str, int] | np.ndarray = None\n"}) {
    EXPECT_TRUE(patched_words(text, "pkg").empty()) << text;
  }
  for (const char* text : {"match v:\n  case 1: m.F = g\n", "if a: m.F = g\n", "x: int; m.F = g\n",
                           "x: int = m.F = g\n", "else: m.F = g\n"}) {
    EXPECT_EQ(patched_words(text, "pkg").size(), 1U) << text;
  }
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

}  // namespace
}  // namespace refit::python
