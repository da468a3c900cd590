// What Python refuses and the grammar takes, and that a new text may not have it.
#include "rewriter/python/syntax/beyond_grammar.hpp"

#include <gtest/gtest.h>

#include "tests/python/lowered.hpp"
#include "tests/python/row_name.hpp"

namespace refit {
namespace {

struct Row {
  const char* name;
  const char* text;
  const char*
      wrong;  // what the first line that no block has begins with; empty where there is none
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class Indented : public testing::TestWithParam<Row> {};

TEST_P(Indented, AsPythonTakesIt) {
  const std::string_view text = GetParam().text, wrong = GetParam().wrong;
  const size_t at = python::unexpected_indentation(text);
  if (wrong.empty()) {
    EXPECT_EQ(at, std::string_view::npos) << text.substr(std::min(at, text.size()));
  } else {
    ASSERT_NE(at, std::string_view::npos);
    EXPECT_EQ(text.substr(at, wrong.size()), wrong);
  }
}

const Row kRows[] = {
    {"flat", "a = 1\nb = 2\n", ""},
    {"blocks", "if a:\n  b = 1\n  if c:\n      d = 2\n  e = 3\nelse:\n    f = 4\ng = 5\n", ""},
    {"first_line", "  a = 1\n", "a = 1"},
    {"further_in", "a = 1\n  b = 2\n", "b = 2"},
    {"further_in_a_block", "if a:\n  b = 1\n    c = 2\n", "c = 2"},
    {"between_blocks", "if a:\n    b = 1\n  c = 2\n", "c = 2"},
    {"behind_a_bracket", "a = (1,\n      2)\n", ""},
    {"behind_a_bracket_too_far", "a = (1,\n      2)\n      b\n", "b"},
    {"behind_a_backslash", "a = 1 + \\\n    2\nb = 3\n", ""},
    {"strings", "a = '''\n   b:\n      c\n'''\nd = 1\n", ""},
    {"comments", "if a:  # b\n  c = 1\n      # d\n# e\n  f = 2\n", ""},
    {"blank_lines", "if a:\n\n   \n  b = 1\n \n  c = 2\n", ""},
    {"tabs", "if a:\n\tb = 1\n        c = 2\n", ""},
    {"form_feed", "a = 1\n\f\nb = 2\n", ""},
    {"one_line_block", "if a: b = 1\n  c = 2\n", "c = 2"},
    {"slice_is_no_header", "a = b[1:\n2]\n  c = 3\n", "c = 3"},
    {"decorated", "@a\n  \ndef f():\n  pass\n", ""},
    {"empty_block", "with a:\ndef f():\n  pass\n", "with a"},
    {"empty_block_inside", "if a:\n  with b:\n  c = 1\n", "with b"},
    {"empty_block_at_the_end", "if a:\n  b = 1\nelse:\n", "else"},
    {"comment_is_no_block", "if a:\n  # b\nc = 1\n", "if a"},
    {"windows", "if a:\r\n  b = 1\r\nc = 2\r\n", ""},
};
INSTANTIATE_TEST_SUITE_P(Rows, Indented, testing::ValuesIn(kRows), RowName());

TEST(IndentedText, EmptyBlockBeforeALineAtTheMargin) {
  const std::string_view text = "a = 1\nwith b:\n\n\ndef f():\n  pass\n";
  EXPECT_EQ(python::unexpected_indentation(text, 0, text.find("\n\ndef")), text.find("with"));
  EXPECT_EQ(python::unexpected_indentation(text, 0, text.find("def")), text.find("with"));
}

// Of a part of a text: from a line at the margin to the first one behind what was written.
TEST(IndentedText, IsAskedOfAPart) {
  const std::string_view text =
      "def f():\n  a = 1\n    b = 2\ndef g():\n  c = 3\nd = 4\n  e = 5\nh = 6\n";
  const auto wrong = [&](std::string_view from, std::string_view until) {
    const size_t at = python::unexpected_indentation(text, text.find(from), text.find(until));
    return at == std::string_view::npos ? "" : std::string(text.substr(at, 5));
  };
  EXPECT_EQ(wrong("def f", "def f"), "b = 2");
  EXPECT_EQ(wrong("def f", "a = 1"), "b = 2");
  EXPECT_EQ(wrong("def g", "def g"), "");
  EXPECT_EQ(wrong("def g", "c = 3"), "");
  EXPECT_EQ(wrong("def g", "d = 4"), "e = 5");  // a line at the margin that was written itself
  EXPECT_EQ(wrong("d = 4", "d = 4"), "e = 5");
  EXPECT_EQ(wrong("h = 6", "h = 6"), "");
}

TEST(IndentedText, IsAskedOfWhatReplacesOne) {
  const Lowered right("def f(a):\n  b = a\n  return b\n");
  const auto said = right.frontend.verify(*right.unit, "def f(a):\n  b = a\n    return b\n");
  ASSERT_TRUE(said.has_value());
  EXPECT_NE(said->find("return b"), std::string::npos) << *said;
  EXPECT_FALSE(right.frontend.verify(*right.unit, "def f(a):\n  return a\n").has_value());
  // What the grammar took before is no fault of the change.
  const Lowered odd("def f(a):\n  b = a\n    \n  if a:\n    c = 1\n      d = 2\n  return b\n");
  EXPECT_FALSE(
      odd.frontend.verify(*odd.unit, "def f(a):\n  if a:\n    c = 1\n      d = 2\n").has_value());
}

class Arguments : public testing::TestWithParam<Row> {};

TEST_P(Arguments, AsPythonTakesThem) {
  const std::string_view text = GetParam().text, wrong = GetParam().wrong;
  const python::Tree tree(text);
  const size_t at = python::misplaced_argument(tree.root(), text);
  EXPECT_EQ(
      wrong.empty() ? std::string_view() : text.substr(std::min(at, text.size()), wrong.size()),
      wrong);
  EXPECT_EQ(at == std::string_view::npos, wrong.empty());
}

const Row kArguments[] = {
    {"none", "f()\n", ""},
    {"by_name_last", "f(a, b, c=d, e=g)\n", ""},
    {"by_position_last", "f(a=1, b2)\n", "b2"},
    {"spread_list", "f(a=1, *b)\n", ""},
    {"spread", "f(*a, b, c=d, **e, g=h)\n", ""},
    {"behind_a_spread", "f(**a, b2)\n", "b2"},
    {"list_behind_a_spread", "f(**a, *b)\n", "*b"},
    {"twice", "f(a=1, b=2, a=3)\n", "a=3"},
    {"in_an_argument", "f(g(a=1, b2), c)\n", "b2"},
    {"in_a_function", "class A(B, metaclass=C):\n  def f(self):\n    return g(a=1, b2)\n", "b2"},
    {"generator", "f(a for a in b)\n", ""},
    {"comment", "f(a=1,  # b\n  c=2)\n", ""},
};
INSTANTIATE_TEST_SUITE_P(Rows, Arguments, testing::ValuesIn(kArguments), RowName());

TEST(ArgumentsOfText, AreAskedOfWhatReplacesOnes) {
  const Lowered right("def f(a):\n  return g(a)\n");
  const auto said = right.frontend.verify(*right.unit, "def f(a):\n  return g(b=1, a2)\n");
  ASSERT_TRUE(said.has_value());
  EXPECT_NE(said->find("`a2)"), std::string::npos) << *said;
  const Lowered odd("def f(a):\n  return g(b=1, a)\n");
  EXPECT_FALSE(odd.frontend.verify(*odd.unit, "def f(a):\n  return g(b=1, a)\n").has_value());
}

class Fields : public testing::TestWithParam<Row> {};

TEST_P(Fields, AsPythonBefore312TakesThem) {
  const std::string_view text = GetParam().text, wrong = GetParam().wrong;
  const python::Tree tree(text);
  const size_t at = python::quote_in_field(tree.root(), text);
  EXPECT_EQ(
      wrong.empty() ? std::string_view() : text.substr(std::min(at, text.size()), wrong.size()),
      wrong);
  EXPECT_EQ(at == std::string_view::npos, wrong.empty());
}

const Row kFields[] = {
    {"plain", "f\"{a['b']}\" + 'c' + f'{d(\"e\")}'\n", ""},
    {"same", "a = f\"{b[\"c\"]}\"\n", "\"c\"]"},
    {"behind_a_field", "a = f'{b}{c}' 'd' f'{e(\"f\")}'\n", ""},
    {"in_a_triple", "a = f'''{b['c']}'''\n", ""},
    {"nested", "a = f\"{f'{b}'}\"\n", ""},
    {"nested_outer", "a = f\"{f'{b(\"c\")}'}\"\n", "\"c\")"},
    {"nested_inner", "a = f\"{f'{b('c')}'}\"\n", "'c')"},
    {"nested_triple", "a = f'{f\"\"\"{b(\"c\")}\"\"\"}'\n", ""},
    {"empty", "a = f''\nb = f\"{c('')}\"\n", ""},
};
INSTANTIATE_TEST_SUITE_P(Rows, Fields, testing::ValuesIn(kFields), RowName());

TEST(QuoteInAField, IsAskedOfWhatReplacesOne) {
  const Lowered right("def f(a):\n  return f'{g(a)}'\n");
  const char* wrong = "def f(a):\n  return f'{g(a, 'b')}'\n";
  const auto said = right.frontend.verify(*right.unit, wrong);
  ASSERT_TRUE(said.has_value());
  EXPECT_NE(said->find("`'b')}"), std::string::npos) << *said;
  const Lowered newer(wrong);
  EXPECT_FALSE(
      newer.frontend.verify(*newer.unit, "def f(a):\n  return f'{g(a, 'c')}'\n").has_value());
}

}  // namespace
}  // namespace refit
