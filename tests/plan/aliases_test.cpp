// Names that a file gives to known callees.
#include "rewriter/plan/aliases.hpp"

#include <gtest/gtest.h>

#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* text;
  std::vector<std::string> aliases;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Aliases : public testing::TestWithParam<Row> {};

TEST_P(Aliases, OfSdpa) {
  std::vector<std::string> found;
  for (const Alias& alias : aliases_in(GetParam().text, {"sdpa", "flash"})) {
    found.push_back(alias.name + "=" + alias.callee);
  }
  EXPECT_EQ(found, GetParam().aliases);
}

const Row kRows[] = {
    {"import_as", "from a import sdpa as attend\n", {"attend=sdpa"}},
    {"in_a_list", "from a import (\n    x,\n    sdpa  as  attend,\n)\n", {"attend=sdpa"}},
    {"under_its_own_name", "from a import sdpa\nfrom a import sdpa as sdpa\n", {}},
    {"assigned", "attend = a.b.sdpa\n", {"attend=sdpa"}},
    {"assigned_with_a_comment", "attend = sdpa  # ours\n", {"attend=sdpa"}},
    {"assigned_at_the_end_of_the_file", "attend = a.sdpa", {"attend=sdpa"}},
    {"called", "attend = a.sdpa(q)\n", {}},
    {"assigned_in_a_function", "def f():\n    attend = a.sdpa\n", {}},
    {"compared", "attend == a.sdpa\n", {}},
    {"part_of_a_word", "from a import my_sdpa as x, sdpa2 as y\n", {}},
    {"two", "from a import flash as f\ng = sdpa\n", {"f=flash", "g=sdpa"}},
};

INSTANTIATE_TEST_SUITE_P(Plan, Aliases, testing::ValuesIn(kRows), RowName());

TEST(Replacements, LastingAndForAWhile) {
  const std::vector<Replacement> found = replacements_in(
      "F.sdpa = mine\n"
      "if F.sdpa == mine: pass\n"
      "setattr(F, 'sdpa', mine)\n"
      "with mock.patch.object(F, \"sdpa\"): pass\n"
      "with patch(\"torch.nn.functional.flash\"): pass\n"
      "print(\"sdpa\")\n"
      "nn.Act.forward = mine\n"
      "x = nn.Act.forward == mine\n",
      {"sdpa", "flash", "Act"});
  std::vector<std::string> seen;
  for (const Replacement& r : found) {
    seen.push_back(r.callee + " " + std::to_string(r.line) + (r.lasting ? " lasting" : ""));
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"Act 7 lasting", "flash 5", "sdpa 1 lasting",
                                            "sdpa 3 lasting", "sdpa 4"}));
}

TEST(LastModule, OfAFile) {
  EXPECT_EQ(last_module("a/b.py"), "b");
  EXPECT_EQ(last_module("a/b/__init__.py"), "b");
  EXPECT_EQ(last_module("c.py"), "c");
}

TEST(HandsOn, PackagesAndStars) {
  EXPECT_TRUE(hands_on("a/__init__.py", ""));
  EXPECT_TRUE(hands_on("a/b.py", "from .c import *\n"));
  EXPECT_FALSE(hands_on("a/b.py", "from .c import d\n"));
}

}  // namespace
}  // namespace refit
