// Tables: a literal's text to its canonical text, wrong texts to their messages, pairs to whether
// they are the same value.
#include <gtest/gtest.h>

#include "rewriter/rule/catalogue.hpp"

namespace refit {
namespace {

TEST(ParseLiteral, GivesTheCanonicalText) {
  const std::pair<const char*, const char*> table[] = {
      {"None", "None"},
      {"True", "True"},
      {" False ", "False"},
      {"0", "0"},
      {"-1", "-1"},
      {"+7", "7"},
      {"1_000", "1000"},
      {"9223372036854775807", "9223372036854775807"},
      {"0.5", "0.5"},
      {".5", "0.5"},
      {"2.", "2.0"},
      {"1e-06", "1e-06"},
      {"1E5", "1e+05"},
      {"-0.0", "-0.0"},
      {"1e999", "a number that fits 64 bits"},
      {"'none'", "\"none\""},
      {"\"a\\\"b\\n\"", "\"a\\\"b\\n\""},
      {"torch.float32", "torch.float32"},
      {"_x", "_x"},
      {"()", "()"},
      {"(1)", "1"},
      {"(1,)", "(1,)"},
      {"(-1, -1)", "(-1, -1)"},
      {"[1, [2, 'a'], ]", "(1, (2, \"a\"))"},
      {"[1]", "(1,)"},
  };
  for (const auto& [text, expected] : table) {
    auto literal = parse_literal(text);
    if (!literal) {
      EXPECT_NE(literal.error().message.find(expected), std::string::npos)
          << text << ": " << literal.error().message;
      continue;
    }
    EXPECT_EQ(to_string(*literal), expected) << text;
    // What is written can be read again and is the same.
    auto again = parse_literal(to_string(*literal));
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(*again, *literal) << text;
  }
}

TEST(ParseLiteral, SaysWhatItExpected) {
  const std::pair<const char*, const char*> table[] = {
      {"",
       "expected a literal (None, True, False, a number, a quoted string, a tuple or a name), "
       "found "
       "the end of the text"},
      {"*",
       "expected a literal (None, True, False, a number, a quoted string, a tuple or a name), "
       "found "
       "`*`"},
      {"1 2", "expected the end of the literal, found `2`"},
      {"(1", "expected `,` or `)`, found the end of the text"},
      {"[1 2]", "expected `,` or `]`, found `2]`"},
      {"'a", "expected a closing `'`, found the end of the text"},
      {"'\\q'", "expected one of the escapes \\n, \\t, \\\\, \\', \\\", found `q'`"},
      {"-", "expected a number that fits 64 bits, found `-`"},
      {"1.2.3", "expected a number that fits 64 bits, found `1.2.3`"},
      {"12ab", "expected a number that fits 64 bits, found `12ab`"},
      {"9223372036854775808", "expected a number that fits 64 bits, found `9223372036854775808`"},
      {"a..b", "expected a name such as torch.float32, found `a..b`"},
      {"f(1)", "expected the end of the literal, found `(1)`"},
      {"((((((((((((((((((1))))))))))))))))))", "expected at most 16 nested tuples"},
  };
  for (const auto& [text, expected] : table) {
    auto literal = parse_literal(text);
    ASSERT_FALSE(literal) << text;
    EXPECT_EQ(literal.error().message, expected);
  }
}

TEST(SameValue, ComparesAsPythonDoes) {
  struct Row {
    const char* a;
    const char* b;
    bool same;
  };
  const Row table[] = {
      {"0", "0.0", true},
      {"0", "False", true},
      {"1.0", "True", true},
      {"2", "True", false},
      {"None", "None", true},
      {"None", "False", false},
      {"None", "0", false},
      {"'a'", "\"a\"", true},
      {"'a'", "a", false},
      {"torch.float32", "torch.float32", true},
      {"torch.float32", "torch.float16", false},
      {"(-1, -1)", "[-1, -1.0]", true},
      {"(-1, -1)", "(-1,)", false},
      {"(-1, -1)", "(-1, 0)", false},
      {"()", "()", true},
      {"()", "0", false},
      // Larger than a double can tell apart.
      {"9007199254740993", "9007199254740992.0", false},
      {"9007199254740992", "9007199254740992.0", true},
      {"9223372036854775807", "9223372036854775808.0", false},
  };
  for (const Row& row : table) {
    const Literal a = parse_literal(row.a).value();
    const Literal b = parse_literal(row.b).value();
    EXPECT_EQ(same_value(a, b), row.same) << row.a << " and " << row.b;
    EXPECT_EQ(same_value(b, a), row.same) << row.b << " and " << row.a;
  }
}

}  // namespace
}  // namespace refit
