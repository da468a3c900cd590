// What the index of names answers about patches over small sets of files, and that the mentions by
// which it chooses files miss nothing that a file's tree holds.
#include "rewriter/python/names/index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/python/indexed.hpp"
#include "tests/python/row_name.hpp"

namespace refit::python {
namespace {

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
    return indexed(files, GetParam().test)->patched("pkg.attention", "F", imported);
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
    {"in_a_layer", "import attention\nself.attention.layer.F = x\n", false, false},
    {"annotated_there", "import attention\nx: attention.F = y\n", false, false},
    {"in_a_header", "import attention\nif a: attention.F = g\n", true, true},
    {"in_a_case", "import attention\nmatch v:\n  case 1: attention.F = g\n", true, true},
    {"behind_a_field_with_quotes", "import attention\ny = f'{\"a\"}'; attention.F = x\n", true,
     true},
    {"behind_a_comment", "import attention\n# don't\nattention.F = x\n", true, true},
    {"patched_in_a_test", "with patch('pkg.attention.F', x): pass\n", false, false, true},
    {"in_a_test", "import attention\nmonkeypatch.setattr(attention, 'F', x)\n", false, false, true},
};

INSTANTIATE_TEST_SUITE_P(Names, Patched, testing::ValuesIn(kRows), RowName());

TEST(PatchedOutside, OperationsAndTheModulesThatTheyAreIn) {
  const std::vector<std::string> files{
      "import torch\nimport torch.nn.functional as F\nF.gelu = mine\ntorch.Tensor.chunk = x\n",
      "import sys\nsys.modules['flash_attn'] = mine\n"};
  const auto index = indexed(files);
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
  EXPECT_EQ(indexed(files)->replaced("pkg.helpers").has_value(), GetParam().replaced);
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

// Whatever the tree of a text holds, each word of it that is meant is mentioned so.
void expect_nothing_missed(const std::string& text, const std::string& what) {
  KnownNames known;
  std::vector<std::string> words;
  visit_words(text, [&](uint64_t hash, size_t begin, size_t end) {
    words.push_back(text.substr(begin, end - begin));
    known.modules.insert(hash);
    known.classes.insert(hash);
  });
  const std::vector<Mention> mentions = read_mentions(text, "pkg.helpers", false, known).all;
  ASSERT_TRUE(std::ranges::is_sorted(mentions));
  const auto said = [&](Use use, std::string_view word, std::string_view second = {}) {
    return std::ranges::binary_search(mentions, mention(use, word, second));
  };
  const FileFacts facts = facts_of(text);
  for (const Write& write : facts.writes) {
    const std::string_view owner = last_name(write.owner), name = write.name;
    const std::string place =
        what + ": " + write.owner + "." + write.name + " in line " + std::to_string(write.line);
    if (said(Use::quoted, name.empty() ? owner : name)) continue;
    EXPECT_TRUE(said(Use::stored, name)) << place;
    if (!write.module) continue;
    EXPECT_TRUE(owner.empty() || said(Use::patched, name) || said(Use::patched, name, owner))
        << place;
    EXPECT_TRUE(write.certain || said(Use::loose, name)) << place;
  }
  for (const std::string& word : words) {
    const uint64_t hash = hash_of(word);
    const bool title = word.front() >= 'A' && word.front() <= 'Z';
    EXPECT_TRUE(!title || !holds(facts.asked, hash) || said(Use::asked, word)) << what << word;
    EXPECT_TRUE(!title || !holds(facts.exchanged, hash) || said(Use::exchanged, word))
        << what << word;
    EXPECT_TRUE(!holds(facts.scripted, hash) || said(Use::scripted, word)) << what << word;
    EXPECT_TRUE(!holds(facts.compilers, hash) || said(Use::compiler, word)) << what << word;
    for (const ClassFact& fact : facts.classes) {
      for (const ClassFact::Base& base : fact.bases) {
        EXPECT_TRUE(base.name != hash || said(Use::base, word)) << what << word;
      }
    }
    for (const std::string& name : facts.module.inner_imports) {
      EXPECT_TRUE(last_name(name) != word || said(Use::imported, word)) << what << word;
    }
  }
}

TEST(Mentions, MissNothingThatATreeHolds) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(REFIT_CORPUS_DIR)) {
    if (entry.path().extension() != ".py") continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << in.rdbuf();
    expect_nothing_missed(bytes.str(), entry.path().string());
    ++files;
  }
  EXPECT_GT(files, 500u);
  for (const Row& row : kRows) expect_nothing_missed(row.text, row.name);
  for (const TableRow& row : kTableRows) expect_nothing_missed(row.text, row.name);
}

TEST(Mentions, PassOverAnnotations) {
  for (const char* text :
       {"def f(\n    x: str | torch.device = None,\n): pass\n", "x: torch.Tensor = 1\n",
        "def f(a, x: torch.Tensor = None): pass\n", "self.x: torch.Tensor = None\n",
        "class A:\n    x: Dict[str, int] | np.ndarray = None\n"}) {
    EXPECT_TRUE(read_mentions(text, "pkg", false, {}).all.empty()) << text;
  }
}

struct NameRow {
  const char* name;
  const char* text;
  std::vector<OtherName> names;
};

class OtherNames : public testing::TestWithParam<NameRow> {};

TEST_P(OtherNames, OfWhatIsKnown) {
  KnownNames known;
  known.operations = {hash_of("sdpa"), hash_of("flash")};
  known.modules = {hash_of("attention")};
  EXPECT_EQ(read_mentions(GetParam().text, "pkg", false, known).other_names, GetParam().names);
}

const NameRow kNameRows[] = {
    {"import_as", "from a import sdpa as attend\n", {{"sdpa", "attend"}}},
    {"in_a_list", "from a import (\n    x,\n    sdpa  as  attend,\n)\n", {{"sdpa", "attend"}}},
    {"under_its_own_name", "from a import sdpa\nfrom a import sdpa as sdpa\n", {}},
    {"module", "import pkg.attention as at, other as o\n", {{"attention", "at"}}},
    {"of_a_module", "from .attention import f as g\n", {{"f", "g"}}},
    {"assigned", "attend = a.b.sdpa\n", {{"sdpa", "attend"}}},
    {"assigned_with_a_comment", "attend = sdpa  # ours\n", {{"sdpa", "attend"}}},
    {"assigned_at_the_end_of_the_file", "attend = a.sdpa", {{"sdpa", "attend"}}},
    {"called", "attend = a.sdpa(q)\n", {}},
    {"assigned_in_a_function", "def f():\n    attend = a.sdpa\n", {}},
    {"compared", "attend == a.sdpa\n", {}},
    {"part_of_a_word", "from a import my_sdpa as x, sdpa2 as y\n", {}},
    {"two", "from a import flash as f\ng = sdpa\n", {{"flash", "f"}, {"sdpa", "g"}}},
};

INSTANTIATE_TEST_SUITE_P(Names, OtherNames, testing::ValuesIn(kNameRows), RowName());

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
